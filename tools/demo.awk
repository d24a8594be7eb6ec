# SPDX-License-Identifier: BSD-3-Clause
# Compare the medians of gpuring_bench's CSV files stock.* and gpuring.*, size by size.
FNR == 1 {
    n = split(FILENAME, part, "/")
    who = part[n] ~ /^stock/ ? "stock" : "gpuring"
    for (i = 1; i <= NF; i++) col[$i] = i
    next
}
{
    size = $col["bytes"]
    if (!(size in seen)) { seen[size] = 1; order[++sizes] = size }
    t[who, size, ++count[who, size]] = $col["avg_us"]
    if (who == "gpuring") { algo[size] = $col["algorithm"]; ideal = $col["ideal_GBs"] }
}
function median(who, size,    k, j, m, v, x) {
    m = count[who, size]
    for (k = 1; k <= m; k++) v[k] = t[who, size, k] + 0
    for (k = 2; k <= m; k++) { x = v[k]; for (j = k - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
    return m % 2 ? v[(m + 1) / 2] : (v[m / 2] + v[m / 2 + 1]) / 2
}
END {
    printf("%d ranks%s\n", np, (np + 0 > cores + 0) ? " (more than cores: they take turns, so the ideal is out of reach)" : "")
    printf "%10s %11s %11s %7s %9s %9s %9s %11s  %s\n", "bytes", "stock us", "gpuring us", "ratio", "algbw", "busbw",
           "ideal", "efficiency", "algorithm"
    for (s = 1; s <= sizes; s += s < sizes && s + 2 > sizes ? 1 : 2) {
        size = order[s]
        a = median("stock", size); b = median("gpuring", size)
        algbw = size / b / 1e3; busbw = algbw * 2 * (np - 1) / np
        printf "%10d %11.2f %11.2f %7.2f %9.3f %9.3f %9.3f %10.1f%%  %s\n", size, a, b, a / b, algbw, busbw, ideal,
               100 * busbw / ideal, algo[size]
    }
}
