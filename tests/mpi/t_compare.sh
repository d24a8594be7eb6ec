#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/compare says what its numbers say: statistics on raw data with a known answer, runs with an Open MPI and OSU
# programs that are shell scripts, refused options, and one small real run. Prints TAP.
# In ./check --all statistics are tested twice, on the script and on a copy with one fault planted, which must be noticed.
# Environment: srcdir, the sources; builddir, where gpuring was built.

# shellcheck disable=SC2154,SC2317 # work is from lib.sh; the tests are called through ok
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
builddir=${builddir:-$srcdir/build}
compare=$srcdir/benchmarks/compare
. "$(dirname "$0")/../lib.sh"
make_work

# run STATUS ARGS...: runs it, $work/out and $work/err tell; right if it ends with that status.
run() {
    local wanted=$1 status
    shift
    timeout 900 "$compare" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" -eq "$wanted" ] || { echo "exit status $status, wanted $wanted"; false; }
}

# one FILE PATTERN: exactly one line matches.
one() {
    local n
    n=$(grep -c -e "$2" "$work/$1")
    [ "$n" -eq 1 ] || { echo "$n lines of $1 match $2"; false; }
}

# cell COLLECTIVE BYTES: its row of -o csv without the first two fields, numbers with three digits.
cell() {
    awk -F, -v c="$1" -v b="$2" '$1 == c && $2 == b {
        for (i = 3; i <= NF; i++) printf "%s%s", $i ~ /^[0-9.]+$/ ? sprintf("%.3f", $i) : $i, i < NF ? " " : "\n"
    }' "$work/out"
}

# is COLLECTIVE BYTES ROW
is() {
    [ "$(cell "$1" "$2")" = "$3" ] || { echo "$1 $2: $(cell "$1" "$2"), wanted $3"; false; }
}

# ---- statistics: raw data with a known answer ----

# head RANKS [PROGRAM]
head_lines() {
    echo "# ranks: $1"
    echo "# program: ${2:-gpuring_bench}"
    echo "round,config,run,collective,bytes,avg_us,algorithm"
}

# row ROUND CONFIG COLLECTIVE BYTES US-OF-A [US-OF-B]
row() {
    echo "$1,$2,a,$3,$4,$5,ring"
    [ -z "${6:-}" ] || echo "$1,$2,b,$3,$4,$6,stock"
}

# Each of two configurations takes 10 us in one half of the rounds and 20 in the other; gpuring always 10. Chosen from
# the other half, stock is always the one that then takes 20: 2.0. By the rounds compared it would be 1.0.
swinging() {
    head_lines 2
    for r in 1 2 3 4 5 6 7 8; do
        row "$r" x+x allreduce 8 $((r % 2 ? 10 : 20)) $((r % 2 ? 10 : 20))
        row "$r" y+y allreduce 8 $((r % 2 ? 20 : 10)) $((r % 2 ? 20 : 10))
        row "$r" gpuring allreduce 8 10
    done
}

chooses_from_other_rounds() {
    swinging >"$work/raw" && run 0 --from-csv="$work/raw" -o csv &&
        is allreduce 8 "20.000 y+y|x+x 10.000 2.000 2.000 2.000 1.000 1.000 1.000   ring holds"
}

# Stock against itself has the quartiles 0.90 and 1.05, so a spread of 0.1. With a limit of 0.95 a ratio of 0.86 holds
# and one of 0.84 does not. s+s is the fastest, but has no result of one run in a cell: there it is not counted.
spreading() {
    local r=0
    head_lines 2
    for same in 0.80 1.20 0.85 1.15 0.90 1.05 0.95 1.02 1.00; do
        r=$((r + 1))
        for c in "allreduce 8 0.86" "bcast 16 0.84" "bcast 64 2"; do
            # shellcheck disable=SC2086 # a collective, a size and a ratio
            set -- $c
            row "$r" x+x "$1" "$2" 86 "$(awk "BEGIN { print 86 / $same }")"
            row "$r" gpuring "$1" "$2" "$(awk "BEGIN { print 86 / $3 }")"
            row "$r" s+s "$1" "$2" 1 "$([ "$r$2" = 58 ] || echo 1)"
        done
    done
}

# shellcheck disable=SC2030,SC2031
shows_spread() {
    spreading | grep -v ,s+s, >"$work/raw"
    run 0 --from-csv="$work/raw" -o csv &&
        is allreduce 8 "86.000 x+x 100.000 0.860 0.860 0.860 1.000 0.900 1.050   ring holds" &&
        is bcast 16 "86.000 x+x 102.381 0.840 0.840 0.840 1.000 0.900 1.050   ring below" &&
        run 0 --from-csv="$work/raw" && one out '^3 cells, 1 below 0.95 by more than the A/A spread: bcast 16$' &&
        one out '^ratio: geometric mean 1.13, lowest 0.84, in bcast 16; gpuring is behind in 2 of 3 cells$' &&
        one out '^ *16 .*<< below$' && one out '<<'
}

# Stock against itself is 0.7 to 1.4: no mean of ratios is worth anything.
names_noise() {
    head_lines 2 >"$work/raw"
    for r in 1 2 3 4; do
        row "$r" x+x allreduce 8 10 $((r % 2 ? 7 : 14)); row "$r" gpuring allreduce 8 5
        row "$r" x+x bcast 8 10 $((r % 2 ? 7 : 14)); row "$r" gpuring bcast 8 20
    done >>"$work/raw"
    run 0 --from-csv="$work/raw" && ! grep 'geometric mean' "$work/out" &&
        one out '^no mean ratio, .* too noisy: the median cell.s A/A spread is above 0.1; gpuring is behind in 1 of 2 cells$'
}

# The labels of a plot, and which cells are shaded.
labels_axes() {
    PYTHONPATH="$(dirname "$compare")" python3 -B - <<'EOF'
from compare_lib import plot

assert [plot.size_name(s) for s in (4, 1000, 1024, 1536, 131072, 3 << 30)] == ["4", "1000", "1K", "1.5K", "128K", "3G"]
for low, high in (0.97, 1.03), (0.5, 2), (0.9, 3), (0.3, 9), (0.999, 1.001), (1.3, 1.6), (0.01, 100):
    ticks = plot.ratio_ticks(low, high)
    assert 3 <= len(ticks) < 10 and ticks == sorted(ticks) and low <= ticks[0] and ticks[-1] <= high, (low, high, ticks)


class Axes:  # notes what is drawn
    def __init__(self):
        self.calls = {}

    def __getattr__(self, name):
        return lambda *args, **more: self.calls.setdefault(name, []).append((args, more)) or (0.5, 2)


axes = Axes()
plot.draw_panel(axes, "bcast", [(1 << k, (1, 0.9, 1.1), (1, 0.7, 1), k in (9, 17)) for k in range(2, 27)], 0.95, "noisy")
((sizes, names), _), = axes.calls["set_xticks"]
assert 4 < len(sizes) < 10 and names[-1] == "64M" and "8M" in names, names
assert [round(args[0] * args[1]) for args, _ in axes.calls["axvspan"]] == [1 << 18, 1 << 34]
EOF
}

fails_when_strict() {
    run 1 --from-csv="$work/raw" --strict && run 0 --from-csv="$work/raw" --strict --limit=0.9 &&
        one out '^3 cells, 0 below 0.9 by more than the A/A spread$'
}

drops_incomplete() {
    spreading >"$work/raw" && run 0 --from-csv="$work/raw" &&
        one out '^# not counted, no result from every run: s+s in allreduce 8$' &&
        one out '^ *8 .* x+x$' && one out '^ *64 .* s+s  << below$'
}

names_missing() {
    spreading | grep -v '^4,gpuring,a,bcast,64' >"$work/raw"
    run 1 --from-csv="$work/raw" --strict --limit=0.001 && one out '^ *64 .*<< no result$' &&
        one out '^1 cells without a result of stock or of gpuring from every round: bcast 64$'
}

steps() {
    head_lines 2 >"$work/raw"
    for r in 1 2; do
        for b in 4 8 16 32 64 128; do row "$r" x+x bcast "$b" 1 1; row "$r" gpuring bcast "$b" 1; done
    done >>"$work/raw"
    run 0 --from-csv="$work/raw" --step=4 -o csv && [ "$(cut -d, -f2 "$work/out" | xargs)" = "bytes 4 16 64 128" ]
}

# The best single copy moves 20000 bytes/us in blocks of 64 KiB and 10000 in blocks of 16 MiB; in between 15000 at 1 MiB
# and 16250 at 512 KiB. "double" is no single copy. 3 ranks, S = 786432: allreduce 4/3 S = 1 MiB, others 2/3 S.
floors() {
    local r c
    head_lines 3 "$1"
    for r in 1 2; do
        row "$r" floor exchange 64 0.2
        row "$r" floor direct 65536 6.5536; row "$r" floor cma 65536 3.2768; row "$r" floor double 65536 1
        row "$r" floor direct 16777216 1677.7216; row "$r" floor cma 16777216 3355.4432
        for c in "allreduce 786432" "allgather 786432" "allgather 262144" "bcast 786432" "reduce 786432" "reduce 12"; do
            # shellcheck disable=SC2086 # a collective and a size
            row "$r" x+x $c 100 100
            # shellcheck disable=SC2086
            row "$r" gpuring $c 140.21
        done
    done
}

# floor_is COLLECTIVE BYTES US
floor_is() {
    local row
    row=$(cell "$1" "$2")
    [ "$(awk '{ print $10 }' <<<"$row")" = "$3" ] || { echo "$1 $2: $row, wanted a floor of $3"; false; }
}

shows_floor() {
    floors gpuring_bench >"$work/raw" && run 0 --from-csv="$work/raw" -o csv &&
        floor_is allreduce 786432 70.105 && floor_is allgather 786432 32.464 && floor_is bcast 786432 32.397 &&
        floor_is reduce 786432 32.331 && floor_is reduce 12 0.067 &&
        [ "$(cell allreduce 786432 | awk '{ print $11 }')" = 2.000 ]
}

# OSU's allgather counts the block of one rank.
shows_floor_of_osu() {
    floors osu >"$work/raw" && run 0 --from-csv="$work/raw" -o csv && floor_is allgather 262144 32.464
}

# gpuring against its own choices: allreduce 8 takes 10, and 9 by x or 12 by y; 16 takes 10, and 20 by y alone.
choosing() {
    head_lines 2 | sed 's/^# ranks/# against: choices\n&/'
    for r in 1 2 3 4; do
        row "$r" x allreduce 8 9; row "$r" y allreduce 8 12; row "$r" gpuring allreduce 8 10 $((r % 2 ? 8 : 10))
        row "$r" y allreduce 16 20; row "$r" gpuring allreduce 16 10 10
    done
}

shows_regret() {
    choosing >"$work/raw" && run 0 --from-csv="$work/raw" -o csv &&
        is allreduce 8 "9.000 x 10.000 0.900 0.900 0.900 1.125 1.000 1.250   ring holds" &&
        is allreduce 16 "20.000 y 10.000 2.000 2.000 2.000 1.000 1.000 1.000   ring holds" &&
        run 0 --from-csv="$work/raw" &&
        one out '^regret: median 0.81, 95% of cells at most 1.08, worst 1.11, in allreduce 8$' &&
        one out '^ *bytes *best us .* best$'
}

refuses_other_files() {
    echo "hello" >"$work/raw" && run 1 --from-csv="$work/raw" && one err 'no raw data' || return 1
    { head_lines 2; echo "1,x+x,a,bcast,many,1,"; } >"$work/raw"
    run 1 --from-csv="$work/raw" && one err 'line 4 is not a row' || return 1
    { head_lines 2; row 1 x+x bcast 8 1 1; } >"$work/raw"
    run 1 --from-csv="$work/raw" && one err 'two at least' && [ "$(wc -l <"$work/err")" -eq 1 ]
}

ok "stock is chosen from other rounds" chooses_from_other_rounds
ok "ratios are judged by the A/A spread" shows_spread
ok "--strict, --limit" fails_when_strict
ok "no mean on a noisy machine" names_noise
ok "labels of plots, and noisy cells" labels_axes
ok "a configuration that lacks a run is not counted" drops_incomplete
ok "a cell without gpuring is named" names_missing
ok "--step=4" steps
ok "floors" shows_floor
ok "floors of OSU's sizes" shows_floor_of_osu
ok "regret" shows_regret
ok "refuses what is no raw data" refuses_other_files

# noticed TITLE TEST FILE FROM TO: a row of ./check --all: in a copy of the script with that fault the test must fail.
noticed() {
    local title=$1
    shift
    ! in_all || ok "$title is noticed" notices "$@"
}
notices() {
    local compare=$work/copy/compare
    rm -rf "$work/copy"
    mkdir "$work/copy" && cp -r "$srcdir/benchmarks/compare" "$srcdir/benchmarks/compare_lib" "$work/copy" &&
        chmod -R u+w "$work/copy" || return 1 # the sources may be read-only
    sed -i "s|$3|$4|" "$work/copy/compare_lib/$2"
    ! cmp -s "$work/copy/compare_lib/$2" "$srcdir/benchmarks/compare_lib/$2" || { echo "$3 is not in $2"; return 1; }
    ! "$1" || { echo "$1 passed all the same"; false; }
}

noticed "a choice from the same rounds" chooses_from_other_rounds stats.py \
    '((even, odd), (odd, even))' '((even, even), (odd, odd))'
noticed "a choice from all rounds" chooses_from_other_rounds stats.py \
    'best_in(times, names, other)' 'best_in(times, names, rounds)'
noticed "a spread left out of the verdict" shows_spread stats.py 'limit - half_width(same)' 'limit'
noticed "a one-sided spread" shows_spread spread.py 'max(abs(1 - same.lo)' 'max(0 * abs(1 - same.lo)'
noticed "counting the incomplete" drops_incomplete stats.py 'all(round in' 'any(round in'
noticed "a control of other configurations" shows_regret stats.py 'if data.against_choices() else stock' 'if False else stock'
noticed "a mean in spite of noise" names_noise spread.py 'TOO_NOISY = 0.1' 'TOO_NOISY = 9'
noticed "shading none" labels_axes plot.py 'if is_noisy\]' 'if False]'
noticed "a forgotten exchange" shows_floor floor.py 'exchanges(ranks) \*' '0 *'
noticed "a double copy as a floor" shows_floor floor.py '("direct", "cma")' '("direct", "cma", "double")'

# ---- runs: Open MPI and OSU as shell scripts ----

. "$srcdir/tests/fakes/osu.sh"

runs_all() {
    fake 0 -n 999 -m 8:8 -i 3 -x 1 bcast reduce --gpuring-arg='--mca a b' --form=persistent &&
        calls gpuring_bench 81 && calls '--mca coll ^gpuring --mca pml ob1 .*/gpuring_bench' 36 &&
        calls '--mca coll ^gpuring --mca pml ucx --mca opal_common_ucx_tls any ' 36 &&
        calls '--mca coll_sm_priority 100 ' 36 && calls '--mca coll gpuring --mca a b ' 9 &&
        calls ' --oversubscribe --mca mpi_yield_when_idle 1 ' 81 &&
        calls 'bench bcast reduce -m 8:8 -i 3 -x 1 --persistent ' 81 &&
        one err 'left out: ob1+han, ucx+han: this Open MPI has no coll/han' && one err 'round 1 .* s to go' &&
        one err 'no floor: .*cores' && one err 'no plot: .*python3-matplotlib' && one out '^# mpi: Open MPI v9.9.9$' &&
        [ "$(grep -vc '^#' "$work/raw")" -eq 163 ] && one out '^2 cells, 0 below'
}

# Each round has each run once, and the order is drawn: not all rounds can be the same.
is_interleaved() {
    fake 0 -m 8:8 bcast --rounds=7 --seed=1 || return 1
    grep -v verbose "$work/calls" | grep bench | split -l 9 - "$work/round."
    local orders
    orders=$(md5sum "$work"/round.* | cut -d' ' -f1 | sort -u | wc -l)
    for f in "$work"/round.*; do sort "$f" | md5sum; done | sort -u >"$work/sets"
    rm "$work"/round.*
    [ "$orders" -ge 5 ] && [ "$(wc -l <"$work/sets")" -eq 1 ] && cp "$work/out" "$work/before" &&
        run 0 --from-csv="$work/raw" && cmp "$work/out" "$work/before"
}

names_inactive() {
    FAKE_HAN=1 fake 0 --quick -m 8:8 bcast &&
        one err 'left out: ob1+han, ucx+han: coll/han is not active: too local$' && calls han_priority 0
}

outlives_crash() {
    FAKE_CRASH=sm_priority fake 0 --quick -m 8:8 bcast reduce && one err 'ob1+sm failed .*exit status 139.*signal' &&
        one out '^# not counted, no result from every run: ob1+sm in reduce 8$' && calls 'pml ob1 .*sm_priority' 4 &&
        [ "$(grep -c ',stock.*<<' "$work/out")" -eq 0 ] && one out '^2 cells, 0 below'
}

outlives_hang() {
    FAKE_HANG="ucx" fake 0 --quick --timeout=5 -m 8:8 --configs=ob1+tuned,ucx+tuned bcast &&
        one err 'ucx+tuned failed .*no end within 5 s' && calls 'pml ucx' 1
}

stops_without_gpuring() {
    FAKE_HANG='coll gpuring' fake 1 --quick --timeout=5 -m 8:8 bcast --configs=ob1+tuned &&
        one err 'nothing is left to compare: gpuring failed'
}

# An interrupted run leaves whole rounds that can be worked out.
outlives_interrupt() {
    rm -f "$work/calls" "$work/raw"
    : >"$work/err" # the run before wrote of its round 2
    "$compare" --builddir="$work/fake" --csv="$work/raw" -m 8:8 bcast --rounds=2000 >"$work/out" 2>"$work/err" &
    local pid=$! status
    for _ in $(seq 1200); do
        ! grep -q 'round 2 of' "$work/err" || break
        sleep 0.1
    done
    kill -TERM "$pid"
    wait "$pid"
    status=$?
    [ "$status" -eq 130 ] && one err 'interrupted after [0-9]* whole rounds' && run 0 --from-csv="$work/raw"
}

# The interrupt may come inside of Popen.wait(), and leave its lock taken.
ends_commands() {
    timeout -k 5 60 env PYTHONPATH="$srcdir/benchmarks" python3 -B -c 'import subprocess; from compare_lib import machine
p = subprocess.Popen(["sleep", "300"], start_new_session=True)
p._waitpid_lock.acquire()
machine.end(p)
assert p.returncode == -15'
}

runs_osu() {
    fake 0 --quick -m 4:16M --osu="$work/osu" allreduce bcast reduce &&
        one err 'left out: bcast: there is no osu_bcast' && calls '/osu_allreduce -m 4:16777216$' 18 &&
        calls osu_reduce 18 && run 0 --from-csv="$work/raw" -o csv &&
        is allreduce 8 "0.500 ob1+sm 0.500 1.000 1.000 1.000 1.000 1.000 1.000 0.201 2.490  holds" &&
        [ "$(cell reduce 4 | cut -d' ' -f1)" = 4.250 ] && fake 1 --osu="$work/none" bcast &&
        one err "no program of OSU's"
}

# What is forced and not done in a cell does not count there; ring has no part in a bcast.
forces_choices() {
    compare=$srcdir/benchmarks/regret fake 0 --quick -m 8:8 bcast && calls 'algorithm tree --mca coll_gpuring_measure 0 ' 2 &&
        calls 'algorithm chain --mca coll_gpuring_single_copy 0 ' 2 && calls 'algorithm ring' 0 &&
        calls 'algorithm mailbox' 3 && calls 'algorithm' 13 && one err '^regret: round 2 of 2 done' &&
        one out '^regret: median 1.50, 95% of cells at most 1.50, worst 1.50, in bcast 8$' &&
        one out '^ *8 .* tree+s' && compare=$srcdir/benchmarks/regret run 2 --osu="$work/osu" bcast &&
        one err '^regret: unrecognized arguments: --osu='
}

# Other MPIs are configurations, too: run as often, and named where they are the best.
runs_peers() {
    fake 0 --quick -m 8:8 --configs=none --peer="other=$work/fake/peer -n 2" --peer="broken=false -n 2" bcast reduce &&
        calls 'peer -n 2 bcast reduce -m 8:8 ' 4 && calls '--mca pml ' 0 && calls 'coll gpuring' 2 &&
        one err 'left out: broken: exit status 1$' && one out "^# config other: $work/fake/peer -n 2$" &&
        run 0 --from-csv="$work/raw" -o csv &&
        is bcast 8 "0.500 other 1.500 0.333 0.333 0.333 1.000 1.000 1.000 0.100 14.940 stock below" &&
        [ "$(cell reduce 8 | cut -d' ' -f2)" = other ]
}

ok "rounds, options and configurations" runs_all
ok "other MPIs" runs_peers
ok "regret forces each choice" forces_choices
ok "the order within rounds is drawn" is_interleaved
noticed "a fixed order" is_interleaved runs.py 'order.sample(jobs, len(jobs))' 'jobs'
ok "collectives that are not active are left out" names_inactive
ok "a configuration that crashes" outlives_crash
ok "a configuration that hangs" outlives_hang
in_all && ok "gpuring that hangs" stops_without_gpuring
ok "an interrupted run" outlives_interrupt
ok "    also inside of a wait for one" ends_commands
ok "OSU's programs" runs_osu

# ---- one small real run ----

real_run() {
    run 0 --builddir="$builddir" --csv="$work/real" --quick -m 64:128 -i 20 --configs=ob1+tuned allreduce bcast &&
        [ "$(grep -c '^[12],gpuring,a,\(allreduce\|bcast\),\(64\|128\),[0-9.]*,[a-z]*$' "$work/real")" -eq 8 ] &&
        [ "$(grep -c '^[12],ob1+tuned,[ab],.*,stock$' "$work/real")" -eq 16 ] &&
        ! grep -q ',gpuring,.*,stock$' "$work/real" && one out '^4 cells, '
}

floor_run() {
    "$builddir/gpuring_floor" -m 65536:131072 >"$work/out" 2>"$work/err" &&
        [ "$(grep -c '^exchange,64,\|^direct,65536,\|^double,131072,' "$work/out")" -eq 3 ] &&
        ! awk -F, 'NR > 1 && ($3 <= 0 || $4 <= 0)' "$work/out" | grep . &&
        ! "$builddir/gpuring_floor" -c 0,0 2>"$work/err" && one err '^usage: ' || return 1
    mkdir -p "$work/small/proc" && echo "MemAvailable: 1024 kB" >"$work/small/proc/meminfo" # a quarter of it is taken
    GPURING_BENCH_ROOT=$work/small "$builddir/gpuring_floor" -m 65536:16777216 >"$work/out" &&
        [ "$(grep -c '^direct,65536,\|^direct,262144,' "$work/out")" -eq 2 ] && ! grep '^direct,524288,' "$work/out"
}

draws() {
    run 0 --from-csv="$work/real" --png="$work/real.png" && [ "$(head -c 4 "$work/real.png" | tail -c 3)" = PNG ]
}

ok "a real run" real_run
if [ "$(nproc)" -lt 2 ]; then
    tap_skip "gpuring_floor" "one processor"
else
    ok "gpuring_floor" floor_run
fi

# Between hosts: each forced choice once, gpuring twice, and the head says where.
hosts_run() {
    compare=$srcdir/benchmarks/regret run 0 --builddir="$builddir" --csv="$work/far" --quick --hosts=2x1 --rate=100mbit \
        --delay=2 -m 64:64 -i 3 -x 1 bcast && one out '^# hosts: 2x1$' && one out '^# delay: 2 ms$' &&
        [ "$(grep -c '^[12],gpuring,[ab],bcast,64,[0-9.]*,[a-z]*$' "$work/far")" -eq 4 ] &&
        [ "$(awk -F, '/,chain,/ && $6 >= 500' "$work/far" | wc -l)" -eq 2 ] && one out '^regret: median'
}
if ! in_all; then
    :
elif why=$("$srcdir/tests/hosts/hosts.sh" possible) && [ -c /dev/net/tun ]; then
    ok "a real run between hosts" hosts_run
else
    tap_skip "a real run between hosts" "${why:-no /dev/net/tun}"
fi
if python3 -c 'import matplotlib' 2>"$work/err" || /usr/bin/python3 -c 'import matplotlib' 2>"$work/err"; then
    ok "the plot of it" draws
else
    tap_skip "the plot of it" "no matplotlib"
fi

# ---- refused options ----

# refuses PATTERN ARGS...: exit status 2 and one line that has it
refuses() {
    local pattern=$1
    shift
    run 2 --builddir="$work/fake" "$@" && one err "$pattern" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        [ ! -e "$work/fake/compare" ]
}

takes_sizes() {
    fake 0 --quick -m 8 --configs=ob1+tuned bcast && calls 'bcast -m 4:8 ' 6
}

without_matplotlib() {
    PYTHONPATH=$work/nomatplotlib refuses "--png: .*python3-matplotlib" --png="$work/plot.png"
}

# What is refused | the pattern | the arguments.
refused="a number of ranks | -n: '1'.*at least 2 | -n 1
sizes | -m: '8:4'.*MIN:MAX | -m 8:4
few rounds | --rounds: '6'.*at least 7 | --rounds=6
one round | --rounds.*'1'.*at least 2 | --quick --rounds=1
hosts | --hosts: '4'.*4x2 | --hosts=4
a rate | --rate: 'fast'.*200mbit | --hosts=2x1 --rate=fast
a rate without hosts | --rate: '1gbit'.*--hosts | --rate=1gbit
a delay without hosts | --delay: '5'.*--hosts | --delay=5
a step | --step: '3'.*2 4 | --step=3
a form | --form: 'lazy'.*persistent | --form=lazy
OSU's other forms | --form: 'persistent'.*blocking | --form=persistent --osu=$work/osu
a configuration | --configs: 'ob1\+nosuch'.*ob1\+tuned | --configs=ob1+sm,ob1+nosuch
a peer without a command | --peer.*'name'.*a command | --peer=name
a peer of a name that is taken | --peer.*'gpuring=true' | --peer=gpuring=true
a peer that is not there | --peer.*'a=/no/such'.*is there | --peer=a=/no/such
a peer with OSU's programs | --peer: 'a'.*--osu | --peer=a=true --osu=$work/osu
a limit | --limit: '0' | --limit=0
a build directory | --builddir: '$work/none' | --builddir=$work/none
a file that cannot be written | --csv: '$work/no/file' | --csv=$work/no/file
a missing file | --from-csv: '$work/no' | --from-csv=$work/no
an option | unrecognized arguments: --bogus | --bogus
a missing value | -m: expected | -m"

# Each line of $refused in one Python, whose start takes longer than the rest: "STATUS what is refused", and what was said
# in $work/said.N. Status 0: exit status 2, and one line that has the pattern.
refuse_all() {
    timeout 900 env PYTHONPATH="$srcdir/benchmarks" python3 -B - "$work" <<EOF
import contextlib, io, os, re, sys
from compare_lib import main

work = sys.argv[1]
for n, row in enumerate(r"""$refused""".splitlines()):
    title, pattern, arguments = row.split(" | ")
    sys.argv = ["compare", f"--builddir={work}/fake", *arguments.split()]
    said, status = io.StringIO(), None
    with contextlib.redirect_stderr(said):
        try:
            status = main.main("compare")
        except SystemExit as end:
            status = end.code
    text = said.getvalue()
    good = status == 2 and text.count("\n") == 1 and re.search(pattern, text) and not os.path.exists(f"{work}/fake/compare")
    with open(f"{work}/said.{n}", "w") as file:
        file.write(f"exit status {status}\n{text}")
    print(int(not good), title, flush=True)
EOF
}

ok "refuses a collective" refuses "'nosuch'.*allreduce" nosuch
ok "sizes up to one" takes_sizes
rows=0
while read -r status title; do
    tap_result "$status" "refuses $title" "$work/said.$rows"
    rows=$((rows + 1))
done < <(refuse_all 2>"$work/why")
[ "$rows" -eq "$(wc -l <<<"$refused")" ] || tap_result 1 "refuses all that it should" "$work/why"
ok "refuses --png without matplotlib" without_matplotlib

tap_done
