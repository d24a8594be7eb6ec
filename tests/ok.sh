# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by the tests of the benchmarks: TAP of commands whose output explains a failure, and $tmp, an empty folder.

. "$(dirname "${BASH_SOURCE[0]}")/depth.sh"
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
count=0
failed=0

# ok NAME COMMAND...: one test, passed if COMMAND succeeds; else what it wrote is shown, and $tmp/out and $tmp/err.
ok() {
    local name=$1
    shift
    count=$((count + 1))
    if "$@" >"$tmp/why" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/# /' "$tmp/why" "$tmp/out" "$tmp/err" 2>/dev/null | head -n 60
        failed=$((failed + 1))
    fi
}

skip() { count=$((count + 1)); echo "ok $count - $1 # SKIP $2"; } # NAME REASON

done_testing() {
    echo "1..$count"
    exit $((failed > 0))
}
