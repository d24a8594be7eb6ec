#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a cmocka program and passes its TAP on, with its exit status. cmocka 1.1.5 writes a skipped test as
# "not ok N # SKIP NAME", which TAP counts as a failure.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" >"$out"
status=$?
sed 's/^not ok \([0-9]* # SKIP\)/ok \1/' "$out"
exit $status
