#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that die inside collectives, with ULFM: the others get an error, shrink, and go on.
. "$(dirname "$0")/lib.sh"

if [ "$OMPI_SERIES" -lt 5 ] || ! "$OMPI_INFO" | grep -qi 'FT Checkpoint\|ftmpi\|Fault Tolerance support: yes'; then
    echo "1..0 # SKIP ULFM comes with Open MPI 5"
    exit 0
fi
stock_segments_to_work
survived() { [ "$(lines_seen '^ok [0-9] - ')" -eq 4 ] && not_seen '^not ok'; }

for form in blocking nonblocking persistent first; do
    # the job is not waited for: MPI_Finalize of those who are left may hang in Open MPI 5.0
    gstart 4 --with-ft ulfm -- ulfm $form
    tap_check "$form: a rank dies, the others go on" wait_for 300 survived
    kill_all "$job"
    job=
done

tap_done
