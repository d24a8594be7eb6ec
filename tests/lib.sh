# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by test scripts: rows of TAP, and how many of them run.

tap_count=0
tap_failed=0

# Each row says how long it took, so that rows that are worth their seconds can be told from others.
# Processor time counts all that was waited for; other work on the machine does not change it.
tap_since=${EPOCHREALTIME/[.,]/}
tap_busy=0 # ticks of 10 ms
tap_seconds() {
    local now=${EPOCHREALTIME/[.,]/} stat busy
    read -r -a stat <"/proc/$$/stat"
    busy=$((stat[13] + stat[14] + stat[15] + stat[16]))
    echo "# took $(((now - tap_since) / 1000)) ms, $(((busy - tap_busy) * 10)) ms of processors"
    tap_since=$now tap_busy=$busy
}

tap_diag() { sed 's/^/# /'; } # comments of TAP, from stdin

# tap_result STATUS TEXT [FILE...]: one row, which passed if STATUS is 0; else the beginnings of the files say why.
tap_result() {
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_count - $2"
        [ $# -eq 2 ] || cat "${@:3}" 2>/dev/null | head -n 60 | tap_diag
    fi
    tap_seconds
}

tap_ok() { tap_result 0 "$*"; }
tap_not_ok() { tap_result 1 "$*"; }

tap_skip() { # TEXT REASON
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# ok TEXT COMMAND...: passed if COMMAND succeeds; else what it wrote says why, and $work/out and $work/err, if it made them.
ok() {
    local text=$1 status=0
    shift
    "$@" >"$work/why" 2>&1 || status=$?
    tap_result $status "$text" "$work/why" "$work/out" "$work/err"
}

tap_done() {
    echo "1..$tap_count"
    exit $((tap_failed > 0))
}

# Instead of all rows.
tap_skip_all() { # REASON
    echo "1..0 # SKIP $1"
    exit 0
}

# An empty folder $work, until the script ends. mpirun of Open MPI 5 has its session's folder there: in /tmp it sometimes
# fails ("listener thread failed to start") where another one's folder just goes.
make_work() {
    work=$(mktemp -d) || exit 99
    export PRTE_MCA_prte_tmpdir_base=$work
    trap 'rm -rf "$work"' EXIT
}

# in_make TARGET: what make prints for it in $builddir, also below another make
in_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$builddir" "$1"; }

# ---- how much runs: more in ./check --all, which sets GPURING_ALL, than in ./check, which a person waits for ----
# A script that uses any of these belongs to deeper_tests in tests.am.

# in_all && ROW: a row of ./check --all only
in_all() { [ -n "${GPURING_ALL:-}" ]; }
# rows_of_depth PATTERN <ROWS: all, or those that match
rows_of_depth() { if in_all; then cat; else grep -E "$1"; fi; }
# depth QUICK ALL: a number, or words for a loop
depth() { if in_all; then echo "$2"; else echo "$1"; fi; }
