#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# First calls on a communicator beside other communication: overlapping communicators, pending messages and nonblocking
# collectives.
. "$(dirname "$0")/lib.sh"

for np in $(depth '5' '2 4 5 8'); do
    test_program "first calls, $np ranks" $np -- mixorder 6
done
for algorithm in $(depth 'chain' 'ring chain tree flat'); do
    test_program "first calls, $algorithm" 4 --mca coll_gpuring_algorithm $algorithm -- mixorder 3
done

tap_done
