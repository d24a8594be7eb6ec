#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_together under mpirun: columns, checks, exit status, error lines.
# Environment: builddir, where gpuring was built; TOGETHER_DIR, where gpuring_together is, if elsewhere; MPIRUN and
# more, see tests/mpi/lib.sh.

# shellcheck disable=SC2016,SC2034,SC2154,SC2317 # awk's $; lib.sh's variables; tests are called through tap_check
builddir=${builddir:?where gpuring was built}
PROGDIR=${TOGETHER_DIR:-$builddir}
GR_DIR=${GR_DIR:-$builddir/component}
. "$(dirname "$0")/lib.sh"

# together NP ARGS...: runs it; $out and $rc tell.
together() {
    local np=$1
    shift
    grun "$np" -- gpuring_together "$@"
}

# alone ARGS...: the same on one rank without mpirun, which takes a second longer.
alone() {
    rc=0
    grun_line="gpuring_together $*"
    timeout 300 "$PROGDIR/gpuring_together" "$@" >"$out" 2>&1 </dev/null || rc=$?
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

# all_correct NP ROWS CONDITION ARGS...: every result of every call is right.
all_correct() {
    local np=$1 n=$2 condition=$3
    shift 3
    together "$np" all -c -o csv -i 2 -x 1 "$@"
    [ "$rc" -eq 0 ] && rows "$n" "$condition"
}

# Names, sizes and numbers of calls, in order.
order() {
    alone bcast reduce_scatter -m 16:255 -k 3,1 -i 21 -o csv && [ "$rc" -eq 0 ] &&
        [ "$(csv_rows | cut -d, -f1-3 | xargs)" = "bcast,16,3 bcast,16,1 bcast,64,3 bcast,64,1 \
reduce_scatter,16,3 reduce_scatter,16,1 reduce_scatter,64,3 reduce_scatter,64,1" ] &&
        [ -z "$(csv_rows | cut -d, -f8 | tr -d '\n')" ] # errors: not known
}

# The defaults: allreduce, six sizes, four K; errors are not known.
table() {
    alone -i 1 -x 0
    [ "$rc" -eq 0 ] && seen '^# 1 ranks, type float, nonblocking$' &&
        seen '^# collective +bytes +K +one after the other +together +ratio +algorithm +errors$' &&
        [ "$(lines_seen '^allreduce +(8|32|128|512|2048|8192) +(1|4|16|64)( +[0-9]+\.[0-9]+){3} +[a-z]+ +-$')" -eq 24 ]
}

# In both manners, before and after.
sees_corruption() {
    GPURING_BENCH_CORRUPT=1 alone all -m 64:64 -k 2 -i 1 -c -o csv
    [ "$rc" -eq 1 ] && [ "$(csv_rows | cut -d, -f8 | xargs)" = "4 4 4 4 4" ]
}

# complains PATTERN: exit status 2 and one line of ours, which has PATTERN.
complains() { [ "$rc" -eq 2 ] && [ "$(lines_seen '^gpuring_together: ')" -eq 1 ] && seen "^gpuring_together: $1"; }

refuses() { # PATTERN ARGS...
    local pattern=$1
    shift
    alone "$@"
    complains "$pattern"
}

helps() {
    alone -h
    [ "$rc" -eq 0 ] && [ "$(lines_seen '^usage: ')" -eq 1 ]
}

both_refuse() {
    together 2 -k 1,0
    complains "-k: '1,0' is not valid; allowed: .*1 to 1024"
}

for form in $(depth persistent 'nonblocking persistent'); do
    tap_check "$form, gpuring" all_correct 2 45 '$7 != "stock"' --form=$form -m 8:128 -k 1,3,16
    tap_check "$form, 3 ranks, in place, another type and operation" \
        all_correct 3 5 '$7 != "stock"' --form=$form -m 12k:12k -k 5 --in-place -T int16 -O max
    GR_HOST=0
    tap_check "$form, stock" all_correct 2 10 '$7 == "stock"' --form=$form -m 8:8 -k 1,16
    unset GR_HOST
done
tap_check "collectives, sizes and K in order" order
tap_check "table of the defaults" table
tap_check "a wrong element is found" sees_corruption
tap_check "-h" helps

tap_check "refuses K, on two ranks" both_refuse
tap_check "refuses no K" refuses "-k: needs a value" -k
tap_check "refuses too large a K" refuses "-k: '1025'" -k1025
tap_check "refuses a form" refuses "--form: 'blocking' .*nonblocking persistent" --form=blocking
tap_check "refuses a collective" refuses "COLLECTIVE: 'alltoall' .*allreduce .* all" alltoall
tap_check "refuses too large a size" refuses "-m: '4294967296' .*2G" -m 8:4G
tap_check "refuses a format" refuses "-o: 'json' .*table csv" -o json
tap_check "refuses an option" refuses "--bogus: is not an option" --bogus
tap_check "refuses what only gpuring_bench has" refuses ".*--fit.*only gpuring_bench" --fit

tap_done
