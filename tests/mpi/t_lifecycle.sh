#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators that come and go with late ranks: right results, and nothing grows.
. "$(dirname "$0")/lib.sh"

for np in $(depth '3' '2 3 4 8'); do
    test_program "communicators come and go, $np ranks" $np -- lifecycle 80
done
for algorithm in $(depth 'tree' 'ring chain tree flat'); do
    test_program "communicators come and go, $algorithm" 4 --mca coll_gpuring_algorithm $algorithm \
        --mca coll_gpuring_channels 2 -- lifecycle 60
done

# A pool that is too small: calls on communicators without links fall back, on all ranks alike.
grun 4 --mca coll_gpuring_pool_mib 1 -- lifecycle 40
tap_check "a pool of 1 MiB: right results" all_good
tap_check "a pool of 1 MiB: some calls fall back" seen '^# gpuring calls [0-9]+ handovers [1-9]'
tap_check "a pool of 1 MiB: the limit is named" seen 'coll_gpuring_pool_mib'

tap_done
