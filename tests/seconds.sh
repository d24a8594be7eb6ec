#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# COMMAND... TEST: runs it, and notes how long it took: a line "MILLISECONDS TEST PROCESSOR-MILLISECONDS" in tests/seconds of
# the build folder.
for test; do :; done
begin=$(date +%s%3N)
"$@"
status=$?
took=$(($(date +%s%3N) - begin))
times >"$builddir/tests/seconds.$$" # minutes and seconds of this shell, and of what it waited for
awk -v took="$took" -v test="$test" -v top="$srcdir/" '
    NR == 2 { gsub(/[ms]/, " "); busy = 60 * ($1 + $3) + $2 + $4 }
    END { sub("^" top, "", test); sub(/^\.\//, "", test); printf "%d %s %d\n", took, test, 1000 * busy }' \
    "$builddir/tests/seconds.$$" >>"$builddir/tests/seconds"
rm -f "$builddir/tests/seconds.$$"
exit $status
