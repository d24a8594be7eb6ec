# SPDX-License-Identifier: BSD-3-Clause
# gpuring_bench's CSV of checked collectives on devices: a line for each, with what was wrong. times: 1 where they mean
# something.
NR == 1 {
    for (i = 1; i <= NF; i++) col[$i] = i
    next
}
{
    name = $col["collective"]
    if (!(name in sizes)) order[++n] = name
    sizes[name]++
    wrong[name] += $col["errors"]
    if ($col["algorithm"] == "stock") stock[name]++
    last[name] = sprintf("; %d bytes in %.1f us, busbw %.2f GB/s", $col["bytes"], $col["avg_us"], $col["busbw_GBs"])
}
END {
    for (k = 1; k <= n; k++) {
        name = order[k]
        printf "%-16s %d sizes: %s%s%s\n", name, sizes[name], wrong[name] ? wrong[name] " wrong elements" : "all elements right",
               stock[name] ? ", " stock[name] " of them not by gpuring" : "", times ? last[name] : ""
    }
}
