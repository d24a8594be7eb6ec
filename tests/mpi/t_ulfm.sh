#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that die inside collectives, with ULFM: the others get an error, shrink, and go on.
. "$(dirname "$0")/lib.sh"

if ! has_ulfm; then
    echo "1..0 # SKIP ULFM comes with Open MPI 5"
    exit 0
fi
stock_segments_to_work

# FORM RANKS WHAT VICTIM OPTIONS; the boards of 12 ranks are in groups of 4, whose leaders are 0, 4 and 8
steps='--mca coll_gpuring_algorithm_barrier dissemination'
while read -r form np what victim options; do
    # the job is not waited for: MPI_Finalize of those who are left may hang in Open MPI 5.0
    # shellcheck disable=SC2086
    gstart "$np" --with-ft ulfm $options -- ulfm "$form" "$what" "$victim" </dev/null
    tap_check "$form $what, $np ranks${options:+, $options}: rank $victim dies, the others go on" wait_for 300 survived
    kill_all "$job"
    job=
done <<END
blocking 4 allreduce 3
nonblocking 4 allreduce 3
persistent 4 allreduce 3
first 4 allreduce 3
blocking 4 barrier 3
nonblocking 4 barrier 3
persistent 4 barrier 3
first 4 barrier 3
blocking 12 small 4
nonblocking 12 small 11
persistent 12 small 4
first 12 small 11
blocking 12 barrier 11
nonblocking 12 barrier 4
persistent 12 barrier 11
first 12 barrier 4
blocking 5 barrier 2 $steps
nonblocking 5 barrier 0 $steps
END

tap_done
