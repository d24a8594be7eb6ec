#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus_sim's command line, its forms of output, and that it reproduces the published evaluation. Prints TAP.
# Environment: srcdir; TORUS_SIM: path of the program (default: torus_sim on the PATH).
set -u
srcdir=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=tests/lib.sh
. "$srcdir/tests/lib.sh"
make_work
sim=${TORUS_SIM:-torus_sim}

# simulate ARGS...: CSV without its head in $work/out
simulate() { "$sim" -o csv "$@" 2>"$work/err" | tail -n +2 >"$work/out"; }

# row WANT1 WANT2 WANT3 ARGS...: one size; each time within 2% of what was found before (-: not asked)
row() {
    local want="$1 $2 $3"
    shift 3
    simulate "$@"
    awk -F, -v want="$want" '
        { n = split(want, w, " ")
          for (k = 1; k <= n; k++) {
              if (w[k] != "-" && ($(6 + k) == "" || $(6 + k) / w[k] > 1.02 || $(6 + k) / w[k] < 0.98)) {
                  print "scheme " k ": " $(6 + k) " us, wanted " w[k]; bad++
              } } }
        END { exit NR != 1 || bad > 0 }' "$work/out"
}

# all CONDITION ARGS...: awk's CONDITION holds for each row, and there are some
all() {
    local condition=$1
    shift
    simulate "$@"
    awk -F, "!($condition) { print; bad++ } END { exit NR == 0 || bad > 0 }" "$work/out"
}

# refused WORDS ARGS...: exit status 2, and one line on stderr that has the words
refused() {
    local words=$1
    shift
    "$sim" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err"
}

# ---- the published evaluation: 16x16x16 and the rest are the defaults ----

ok "1 byte per pair" row 30.446 5.904 6.086 -m 1
ok "8 bytes" row 43.886 23.360 19.526 -m 8
ok "64 bytes" row 151.406 126.878 127.046 -m 64
ok "1024 bytes" row 1994.606 1970.078 1970.246 -m 1k
ok "1 byte, packets" row 30.446 5.592 6.086 -m 1 --model packets
in_all && ok "8 bytes, packets" row 43.886 19.352 19.526 -m 8 --model packets
in_all && ok "64 bytes, packets" row - 126.878 - -m 64 --model packets --schemes 2
in_all && ok "64 bytes, senders +-2%" row 152.5 127.8 128.2 -m 64 --uneven 0.02
in_all && ok "64 bytes, senders +-10%" row 157.1 132.2 132.8 -m 64 --uneven 0.1
ok "64 bytes, senders +-50%" row 180.8 221.5 156.5 -m 64 --uneven 0.5
in_all && ok "64 bytes, senders +-50%, packets" row - 207.3 - -m 64 --uneven 0.5 --model packets --schemes 2 --progress
in_all && ok "and such a long run says how far it is" grep -Eq '^torus_sim: 64 bytes, packets, scheme 2: [0-9]+%$' "$work/err"
in_all && ok "64 bytes, 1% of the senders x10" row 449.5 479.0 425.2 -m 64 --skewed 0.01
in_all && ok "64 bytes, senders +-2%, packets" row - 141.1 - -m 64 --uneven 0.02 --model packets --schemes 2
in_all && ok "64 bytes, senders +-10%, packets" row - 161.5 - -m 64 --uneven 0.1 --model packets --schemes 2
in_all && ok "64 bytes, 1% of the senders x10, packets" row - 523.3 - -m 64 --skewed 0.01 --model packets --schemes 2
ok "(1)-(3) is 14 syncs of 1.740 us at every size, even" all '$10 > 24.36 * 0.99 && $10 < 24.36 * 1.01' -m "$(depth 1,64k 1:64k)"
in_all && ok "(1)-(3) is 14 syncs of 1.740 us at every size, senders +-50%" all '$10 > 24.36 * 0.99 && $10 < 24.36 * 1.01' -m 1:64k --uneven 0.5
in_all && ok "(1) and (3) have no conflicts, even" all '$12 == 0 && $13 > 0 && $14 == 0' -m 1:64k
in_all && ok "(1) and (3) have no conflicts, senders +-50%" all '$12 == 0 && $13 > 0 && $14 == 0' -m 1:64k --uneven 0.5
ok "senders +-50%: (3) is 25% to 33% below (2) from 64 bytes" all '$9 / $8 > 0.67 && $9 / $8 < 0.75' -m "$(depth 64,64k 64:64k)" --uneven 0.5

in_all && ok "32768 nodes: 27 ticks, 26 syncs of 31 hops saved, no conflicts" all '$10 > 93.4959 && $10 < 93.4961 && $12 == 0 && $14 == 0' -t 32x32x32 -m 64

# ---- other tori and noise ----

ok "no conflicts on any torus, dimension-ordered" all '$12 == 0 && $14 == 0' -t 6x5x7 --mesh 1 -m 1:1k --uneven 0.5
in_all && ok "no conflicts in four dimensions" all '$12 == 0 && $14 == 0' -t 8x4x8x4 -m 1:1k --uneven 0.5
ok "an Alltoall of one node takes no time" all '$7 == 0 && $8 == 0 && $9 == 0' -t 1 -m 64
ok "a sync both ways around costs 8 hops" all '$10 > 12.98 && $10 < 13.0' --sync shortest -m 64
ok "wrong estimates bring conflicts" all '$14 > 0' --latency-error 0.2 -m 1,8
ok "a guard of the skew's width takes them away" all '$14 == 0' --skew 200 --guard 400 -m 64
ok "and without it they are there" all '$14 > 0' --skew 200 -m 64
ok "jitter is paid for by all" all '$7 > 155 && $8 > 128 && $9 > 128' --jitter 100 -m 64
ok "who enters late is waited for" all '$9 > 132 && $9 < 133' --enter 5500 -m 64
same_twice() {
    simulate -m 8 --uneven 0.3 --jitter 10 --seed 9 && cut -d, -f1-14 "$work/out" >"$work/first" &&
        simulate -m 8 --uneven 0.3 --jitter 10 --seed 9 && cut -d, -f1-14 "$work/out" | diff "$work/first" - &&
        simulate -m 8 --uneven 0.3 --jitter 10 --seed 8 && ! cut -d, -f1-14 "$work/out" | diff -q "$work/first" -
}
ok "a seed gives the same again, another something else" same_twice

# ---- other schedules ----

ok "bucket: no conflicts, and (1)-(3) one sync less than ticks" all '$12 == 0 && $13 == 0 && $14 == 0 && $10 > 33.29 && $10 < 33.293' bucket -t 8x8x8 -m 1k,1M
ok "mst: no conflicts" all '$12 == 0 && $14 == 0' mst -t 4x3x5 --chunks 4 -m 1k,1M
# 9 rounds, of which the longest ways take 116 137 179 95 120 170 70 140 280 ns, and a sync of 812 ns
ok "a barrier: log2 N rounds, each as long as its longest way" row 8.616 - 2.120 dissemination -t 8x8x8
ok "a barrier of 4096 nodes" row 23.281 3.576 4.141 dissemination
ok "and of 6x5x3 nodes 7 rounds" row 3.403 - 1.333 dissemination -t 6x5x3
ok "ring along the snake: no conflicts" all '$12 == 0 && $14 == 0' ring -t 4x4x4 -m 1k,1M
ok "Swing has conflicts, the tree too" all '$14 > 0' swing -t 8x8x8 -m 1M
# projected ALGORITHM WITHIN: the projection without overhead is scheme 3 of the simulation, after its sync
projected() {
    simulate "$1" -t 8x8x8 -m 64k,1M && cut -d, -f9 "$work/out" >"$work/simulated" &&
        "$sim" --project -t 8x8x8 -m 64k,1M --overhead 0 -o csv 2>"$work/err" >"$work/out" &&
        awk -F, -v name="$1_us" -v within="$2" '
            FNR == NR { us[NR] = $1; next }
            FNR == 1 { for (k = 1; k <= NF; k++) { column = $k == name ? k : column }; next }
            { off = (us[FNR - 1] - 0.812) / $column - 1; print us[FNR - 1], $column, off; bad += off > within || off < -within }
            END { exit FNR != 3 || bad > 0 }' "$work/simulated" "$work/out"
}
ok "a bucket costs what is projected" projected bucket 1e-3
in_all && ok "a ring costs what is projected" projected ring 1e-3
ok "Swing costs what is projected, within 5%" projected swing 0.05
# congestion TORUS DIMENSIONS LEAST MOST: Swing's time for a very long vector by that of a perfect use of all links
congestion() {
    "$sim" --project -t "$1" -m 900G --overhead 0 -o csv 2>"$work/err" | awk -F, -v d="$2" -v least="$3" -v most="$4" '
        NR == 2 { f = $7 / (2 * ($1 - 1) / $1 * $3 / (2 * d * 16) / 1000); b = $6 / (2 * ($1 - 1) / $1 * $3 / (2 * d * 16) / 1000)
                  print f, b; good = f >= least && f <= most && b > 0.999 && b < 1.001 }
        END { exit !good }'
}
ok "Swing's congestion in 2 dimensions is the published 1.20 at most, a bucket's 1" congestion 64x64 2 1.17 1.2
in_all && ok "in 3 dimensions 1.037" congestion 16x16x16 3 1.03 1.0371
in_all && ok "in 4 dimensions 1.008" congestion 8x8x8x8 4 1.006 1.0081
# On a ring of 3 all goes to a neighbour, 2/3 of it there and back between two places, and all to the neighbour again
folds() {
    "$sim" --project -t 3 -m 900G --overhead 0 -o csv 2>"$work/err" | awk -F, '
        NR == 2 { f = $7 / ($3 / (2 * 16) / 1000); print f; good = f > 3.332 && f < 3.335 }
        END { exit !good }'
}
ok "Swing folds where an extent is no power of two" folds
# Phases of the three rows of 8x4x4, in shares of the vector per link: 7/8 + 7/32 + 7/128, where 127/128 is perfect
unequal() {
    "$sim" --project -t 8x4x4 -m 900G --overhead 0 -o csv 2>"$work/err" | awk -F, '
        NR == 2 { f = $6 / (2 * $3 / (6 * 16) / 1000) / (7 / 8 + 7 / 32 + 7 / 128); print f; good = f > 0.999 && f < 1.001 }
        END { exit !good }'
}
ok "a bucket on unequal extents waits where it changes dimension" unequal
fastest() {
    "$sim" --project -t 16x16x16 -m 64,64k,1G -o csv 2>"$work/err" | cut -d, -f8 | xargs >"$work/out" &&
        [ "$(cat "$work/out")" = "fastest tree swing bucket" ]
}
ok "small: tree, medium: Swing, large: bucket" fastest
project_forms() {
    "$sim" --project -t 4x3 -m 1k -o json >"$work/out" && python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
us = {name: r[0][name + "_us"] for name in ("ring", "tree", "bucket", "swing")}
assert len(r) == 1 and r[0]["nodes"] == 12 and r[0]["fastest"] == min(us, key=us.get), r' "$work/out" &&
        "$sim" --project -t 4x3 -m 1k >"$work/out" && grep -Eq '^    12 4x3 +1024( +[0-9.]+){4}  [a-z]+$' "$work/out"
}
ok "a projection as JSON and text" project_forms

# ---- output ----

sync_packets() {
    "$sim" --sync-packets -t 16x16x8 -o csv >"$work/out" &&
        printf '%s\n' dimension,packets 0,30720 1,30720 2,14336 all,75776 all-to-all,4192256 | diff - "$work/out"
}
ok "packets of a sync: N times (extent - 1) for each dimension, N(N - 1) all to all" sync_packets

figure() {
    "$sim" --figure -t 8x8x8 >"$work/out" 2>"$work/err" && [ "$(grep -c '^# torus 8x8x8' "$work/out")" -eq 7 ] &&
        grep -q '^(1)-(3): 9 steps save 8 syncs of 0.812 us: 6.496 us. Farthest off in the rows above: 0.000%$' "$work/out" &&
        grep -q '^Conflicts under (3), all rows: 0$' "$work/out"
}
ok "--figure, as text" figure
figure_csv() {
    "$sim" --figure -t 8x8x8 -o csv -f "$work/figure.csv" 2>"$work/err" &&
        awk -F, 'NF != 15 { bad++ } END { exit NR != 26 || bad > 0 }' "$work/figure.csv"
}
ok "--figure, as CSV" figure_csv
json() {
    "$sim" --figure -t 4x4 -o json >"$work/out" 2>"$work/err" && "$sim" --sync-packets -o json >"$work/packets" &&
        python3 - "$work/out" "$work/packets" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))
assert len(rows) == 25 and rows[0]["bytes"] == 1 and rows[-1]["skewed"] == 0.01
assert all(r["scheme3_us"] is None for r in rows if r["model"] == "packets")
assert json.load(open(sys.argv[2]))[-1] == {"dimension": "all-to-all", "packets": 16773120}
END
}
ok "--figure and --sync-packets, as JSON" json
plot() {
    "$srcdir/benchmarks/torus/plot.py" "$work/figure.csv" "$work/even.png" &&
        "$srcdir/benchmarks/torus/plot.py" "$work/figure.csv" "$work/uneven.png" --uneven 0.5 &&
        [ "$(head -c 4 "$work/even.png" | tail -c 3)" = PNG ] && ! cmp -s "$work/even.png" "$work/uneven.png" &&
        ! "$srcdir/benchmarks/torus/plot.py" "$work/figure.csv" "$work/none.png" --uneven 0.7 2>"$work/err" &&
        grep -q 'has no rows with uneven 0.7' "$work/err" &&
        "$sim" --project -t 4x4x4 -o csv -f "$work/project.csv" && "$srcdir/benchmarks/torus/plot.py" "$work/project.csv" "$work/project.png" &&
        [ "$(head -c 4 "$work/project.png" | tail -c 3)" = PNG ]
}
if ! in_all; then
    :
elif python3 -c 'import matplotlib' 2>/dev/null || /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    ok "plots of even and uneven sizes, and of projections" plot
else
    tap_skip "plots of even and uneven sizes, and of projections" "no python3 has matplotlib"
fi

# ---- errors ----

ok "refuses another algorithm" refused "allowed: suh-shin dimension-ordered ring tree bucket swing mst dissemination" flat
in_all && ok "refuses too many messages" refused "try --project" ring -m 1k
ok "refuses uneven blocks of an allreduce" refused "are for an Alltoall" ring --uneven 0.5
ok "refuses two algorithms" refused 'one algorithm, not "x" too' suh-shin x
ok "refuses what Suh-Shin has no schedule for" refused "6x4 is for dimension-ordered" suh-shin -t 6x4
ok "refuses a torus of five dimensions" refused "allowed: 1 to 4 extents" -t 2x2x2x2x2
ok "refuses too many nodes" refused "1048576 are possible" -t 128x128x128
ok "refuses a line that is no dimension" refused "--mesh: the dimensions of 16x16x16 are 0 to 2" --mesh 3
ok "refuses bytes of zero" refused "-m: '0' is not valid" -m 0
ok "refuses half a range" refused "-m: '4:' is not valid" -m 4:
ok "refuses a scheme 4" refused "--schemes: '4' is not valid; allowed: 1 to 3" --schemes 4
ok "refuses another model" refused "allowed: fifo packets" --model wormhole
ok "refuses senders that send nothing" refused "--uneven: '1' is not valid; allowed: 0 to 0.999" --uneven 1
ok "refuses what follows a factor" refused "--skewed: '0.1:x' is not valid" --skewed 0.1:x
ok "refuses unknown options" refused "--colour: is not an option" --colour
ok "refuses options without their value" refused "needs a value" --torus
ok "refuses a file that it cannot write" refused "cannot write to /nowhere/x" -f /nowhere/x
tap_done
