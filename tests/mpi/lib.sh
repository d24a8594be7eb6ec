# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # variables are the scripts'
# Sourced by the test scripts of this folder: TAP lines, and which Open MPI and component there are.
#
#   MPIRUN       the launcher and its options, without -np
#   GR_DIR       the directory with mca_coll_gpuring.so
#   OMPI_INFO    ompi_info of the same Open MPI
#   OMPI_SERIES  4, 5 or 6

MPIRUN=${MPIRUN:-mpirun --oversubscribe --mca mpi_yield_when_idle 1}
GR_DIR=${GR_DIR:?the directory of mca_coll_gpuring.so}
OMPI_INFO=${OMPI_INFO:-ompi_info}
OMPI_SERIES=${OMPI_SERIES:-4}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
if [ "${OMPI_LOADS:-}" = no ]; then # PyPI's: where a test sets this for ranks, mpirun does not add its own folder
    LD_LIBRARY_PATH="$(dirname "$(in_make print-libmpi)")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
fi
make_work

# Options that load the component; PMIx of series 5 must not see the path.
component_options() {
    if [ "$OMPI_SERIES" -ge 5 ]; then
        echo "-x OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR --mca mca_base_component_show_load_errors 0"
    else
        echo "--mca mca_base_component_path SYSTEM_DEFAULT:$GR_DIR"
    fi
}
