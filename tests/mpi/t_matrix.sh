#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The eight collectives with all types, operations and sizes, for 1 to 8 ranks, and with every algorithm, number of channels
# and size of slots. Open MPI's op/avx saturates small integers, which wrap in C.
. "$(dirname "$0")/lib.sh"

for np in $(depth '1 5' '1 2 3 4 5 6 7 8'); do
    test_program "everything, $np ranks" $np --mca op ^avx -- $(any_case every,big)
done

# ALGORITHM CHANNELS SLOTS SLOT_BYTES NP: all pairs of the first four, and every np with several of each.
settings="
auto  1 2 4096  8
auto  2 4 65536 3
auto  3 2 65536 5
ring  1 4 4096  5
ring  2 2 65536 7
ring  3 4 4096  2
chain 1 2 65536 4
chain 2 4 4096  6
chain 3 2 4096  8
tree  1 4 65536 7
tree  2 2 4096  4
tree  3 4 65536 6
flat  1 2 4096  3
flat  2 4 65536 8
flat  3 2 4096  4
ring  3 2 256   3
tree  2 2 256   5
chain 1 2 320   2
"
while read -r algorithm channels slots slot_bytes np; do
    [ -n "$algorithm" ] || continue
    test_program "algorithm $algorithm, $channels channels, $slots slots of $slot_bytes bytes, $np ranks" $np --mca op ^avx \
        --mca coll_gpuring_algorithm "$algorithm" --mca coll_gpuring_channels "$channels" \
        --mca coll_gpuring_slots "$slots" --mca coll_gpuring_slot_bytes "$slot_bytes" -- $(any_case) </dev/null
done < <(rows_of_depth '^(auto  2|ring  [12]|chain 3|tree  2 4|flat  1)' <<<"$settings")

only_in_all
# more than 2^31 elements, or bytes where counts are int
if [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 14 ]; then
    grun 2 --mca coll_gpuring_pack_mib 16384 -- large
    tap_check "large calls, 2 ranks" good_through_gpuring
    tap_check "    none falls back" seen '^# gpuring calls [0-9]+ handovers 0 '
else
    tap_skip "large calls, 2 ranks" "less than 14 GiB are free"
fi

tap_done
