#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A Fortran program's collectives, of fortran.f90: Fortran's types and logical values, MPI_IN_PLACE, operations. Compiled
# here, without the component. Skipped where mpifort compiles no program.
# Environment besides lib.sh's: srcdir.
# shellcheck disable=SC2154 # rc is lib.sh's
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clients_lib.sh"

mpifort=$(dirname "$(command -v "$OMPI_INFO")")/mpifort
printf 'program one\n  use mpi\nend program one\n' >"$work/one.f90"
"$mpifort" -o "$work/one" "$work/one.f90" >"$out" 2>&1 || tap_skip_all "mpifort compiles no program"
"$mpifort" -O1 -J "$work" -o "$work/fortran" "${srcdir:?the sources}/tests/mpi/fortran.f90" >"$out" 2>&1
tap_result $? "it is compiled" "$out"
PROGDIR=$work

# through COLLECTIVE...
through() { all_good && [ "$(lines_seen '^ok')" -eq 18 ] && did host "$@"; }
for np in $(depth 3 '2 3 4 5'); do
    grun "$np" --mca coll gpuring --mca coll_gpuring_report summary -- fortran
    tap_check "$np ranks" through allreduce allgather reduce_scatter bcast reduce alltoall
done
grun 2 --mca coll ^gpuring -- fortran
tap_check "the same without gpuring" all_good
tap_done
