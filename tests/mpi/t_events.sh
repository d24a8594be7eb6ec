#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring's events, as a tool hears them through MPI_T, and as ompi_info shows them. Skipped before Open MPI 6.0.
. "$(dirname "$0")/lib.sh"

[ "$OMPI_SERIES" -ge 6 ] || tap_skip_all "MPI_T has no events in Open MPI $OMPI_SERIES"
OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR "$OMPI_INFO" --event --level 9 --parsable >"$out" 2>&1
tap_check "ompi_info shows them" seen '^mpi_t_event:type:ompi.coll_gpuring_call:num_elements:6$'
for np in 2 3; do test_program "$np ranks" $np -- events; done
tap_done
