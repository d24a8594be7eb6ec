#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# COMMAND... TEST: runs it, and notes how long it took: a line "MILLISECONDS TEST" in tests/seconds of the build folder.
for test; do :; done
begin=$(date +%s%3N)
"$@"
status=$?
echo "$(($(date +%s%3N) - begin)) $test" | sed "s,$srcdir/,,; s, \./, ," >>"$builddir/tests/seconds"
exit $status
