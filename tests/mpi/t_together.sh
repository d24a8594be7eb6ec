#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_bench --together under mpirun: columns, checks, exit status, error lines.
# Environment: builddir, where gpuring was built; MPIRUN and more, see tests/mpi/lib.sh.

# shellcheck disable=SC2016,SC2034,SC2154,SC2317 # awk's $; lib.sh's variables; tests are called through tap_check
builddir=${builddir:?where gpuring was built}
PROGDIR=$builddir
GR_DIR=${GR_DIR:-$builddir/component}
. "$(dirname "$0")/lib.sh"

# together NP ARGS...: runs it; $out and $rc tell.
together() {
    local np=$1
    shift
    grun "$np" -- gpuring_bench "$@"
}

# alone ARGS...: the same on one rank without mpirun, which takes a second longer.
alone() {
    rc=0
    grun_line="gpuring_bench $*"
    timeout 300 "$PROGDIR/gpuring_bench" "$@" >"$out" 2>&1 </dev/null || rc=$?
}

# Lines of CSV behind the head.
csv_rows() { sed -n '/^collective,/,$p' "$out" | grep -E '^[a-z_]+,[0-9]'; }

# rows N CONDITION: there are that many, all with eight columns, with numbers that fit together, without errors, and
# awk's CONDITION is true of each.
rows() {
    csv_rows | awk -F, -v n="$1" '
        { right = NF == 8 && $4 > 0 && $5 > 0 && ($6 - $4 / $5) ^ 2 < 1e-4 * $6 ^ 2 + 1e-4 && $8 == 0 && ('"$2"')
          if (!right) { print "not right: " $0; bad++ } }
        END { if (NR != n) { print NR " rows, wanted " n; bad++ } exit bad > 0 }'
}

five='allreduce allgather reduce_scatter_block bcast reduce'

# all_correct NP ROWS CONDITION ARGS...: every result of every call is right.
all_correct() {
    local np=$1 n=$2 condition=$3
    shift 3
    together "$np" $five -c -o csv -i 2 -x 1 "$@"
    [ "$rc" -eq 0 ] && rows "$n" "$condition"
}

# Names, sizes and numbers of calls, in order.
order() {
    alone bcast reduce_scatter -m 16:63 --together=3,1 -i 21 -o csv && [ "$rc" -eq 0 ] &&
        [ "$(csv_rows | cut -d, -f1-3 | xargs)" = "bcast,16,3 bcast,16,1 bcast,32,3 bcast,32,1 \
reduce_scatter,16,3 reduce_scatter,16,1 reduce_scatter,32,3 reduce_scatter,32,1" ] &&
        [ -z "$(csv_rows | cut -d, -f8 | tr -d '\n')" ] # errors: not known
}

# The defaults: eleven sizes; errors are not known.
table() {
    alone allreduce --together=1,4 -i 1 -x 0
    [ "$rc" -eq 0 ] && seen '^# 1 ranks, type float, nonblocking$' &&
        seen '^# collective +bytes +K +one after the other +together +ratio +algorithm +errors$' &&
        [ "$(lines_seen '^allreduce +(8|16|32|64|128|256|512|1024|2048|4096|8192) +(1|4)( +[0-9]+\.[0-9]+){3} +[a-z]+ +-$')" -eq 22 ]
}

# In both manners, before and after.
sees_corruption() {
    GPURING_BENCH_CORRUPT=1 alone $five -m 64:64 --together=2 -i 1 -c -o csv
    [ "$rc" -eq 1 ] && [ "$(csv_rows | cut -d, -f8 | xargs)" = "4 4 4 4 4" ]
}

# complains PATTERN: exit status 2 and one line of ours, which has PATTERN.
complains() { [ "$rc" -eq 2 ] && [ "$(lines_seen '^gpuring_bench: ')" -eq 1 ] && seen "^gpuring_bench: $1"; }

refuses() { # PATTERN ARGS...
    local pattern=$1
    shift
    alone "$@"
    complains "$pattern"
}

both_refuse() {
    together 2 allreduce --together=1,0
    complains "--together: '1,0' is not valid; allowed: .*1 to 1024"
}

# Each collective that there is, and the two messages of sendrecv.
every_collective() {
    together 3 all -c -o csv -i 2 -x 1 --together=3 -m 96:96 "$@"
    [ "$rc" -eq 0 ] && rows 23 1
}

to_a_file() {
    alone allreduce --together=1 -m 8:8 -i 1 -f "$work/file" && [ "$rc" -eq 0 ] && [ ! -s "$out" ] &&
        grep -q '^allreduce ' "$work/file"
}

for form in $(depth --persistent '--nonblocking --persistent'); do
    tap_check "$form, gpuring" all_correct 2 75 '$7 != "stock"' $form -m 8:128 --together=1,3,16
    tap_check "$form, 3 ranks, in place, another type and operation" \
        all_correct 3 5 '$7 != "stock"' $form -m 12k:12k --together=5 --in-place -T int16 -O max
    GR_HOST=0
    tap_check "$form, stock" all_correct 2 10 '$7 == "stock"' $form -m 8:8 --together=1,16
    unset GR_HOST
    tap_check "$form, all collectives, another root" every_collective $form -r 1
done
tap_check "collectives, sizes and K in order" order
tap_check "table of the defaults" table
tap_check "a wrong element is found" sees_corruption
tap_check "to a file" to_a_file

tap_check "refuses K, on two ranks" both_refuse
tap_check "refuses too large a K" refuses "--together: '1025'" allreduce --together=1025
tap_check "refuses a format" refuses "-o: 'json' .*table csv" allreduce --together=1 -o json
tap_check "refuses what compares with links" refuses "-B -I --ideal --fit: not with --together" allreduce --together=1 --fit

tap_done
