#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Nonblocking collectives: alone, many at once, in different orders on different ranks, on communicators that are
# freed meanwhile, and going on while the program does something else.
. "$(dirname "$0")/lib.sh"

for np in $(depth 5 '2 3 4 5 8'); do
    test_program "nonblocking, $np ranks" $np -- nonblocking $(depth 1 2)
    tap_check "nonblocking, $np ranks: gpuring takes each of the eight" [ "$(lines_seen ': gpuring took [1-9]')" -eq 8 ]
done
for np in $(depth 3 '2 3 4'); do
    test_program "opposite orders, $np ranks" $np -- opposite $(depth 1 3)
    test_program "freed while pending, $np ranks" $np -- pending $(depth 1 4)
done
[ -z "${GPURING_ALL:-}" ] || test_program "freed while pending, 8 ranks" 8 -- pending 2

# Small slots: a call is left and taken up again many times.
slots=(--mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512)
for algorithm in $(depth 'ring' 'auto ring chain tree flat mailbox'); do
    with=(--mca coll_gpuring_algorithm "$algorithm" "${slots[@]}")
    test_program "nonblocking, $algorithm, small slots" 4 "${with[@]}" -- nonblocking $(depth 0 1)
    test_program "opposite orders, $algorithm, small slots" 3 "${with[@]}" -- opposite 1
    test_program "freed while pending, $algorithm, small slots" 3 "${with[@]}" -- pending 1
done

test_program "going on during MPI_Test" 2 -- overlap
test_program "going on with a thread" 2 --mca coll_gpuring_progress_thread 1 -- overlap thread
test_program "everything with a thread" 3 --mca coll_gpuring_progress_thread 1 -- nonblocking $(depth 0 2)
test_program "opposite orders with a thread" 3 --mca coll_gpuring_progress_thread 1 -- opposite 1
test_program "freed while pending with a thread" 3 --mca coll_gpuring_progress_thread 1 -- pending 1

tap_done
