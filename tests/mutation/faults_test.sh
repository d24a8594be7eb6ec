#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Planted faults are of the present sources: each text is in its function. Prints TAP. Environment:
# srcdir (default: two folders up), builddir (its make says which tests are quick).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 99
. "$here/../lib.sh"
srcdir=$(cd "${srcdir:-$here/../..}" && pwd) || exit 99
export PYTHONDONTWRITEBYTECODE=1
make_work

check() { python3 "$1/mutation.py" --check --source="$srcdir" >"$work/found"; }

check "$here"
tap_result $? "every fault applies to the sources" "$work/found"
tail -n 1 "$work/found" | tap_diag

python3 "$here/mutation.py" report ${builddir:+--build="$builddir"} >"$work/found"
tap_result $? "the quick tests catch at least 95% of what any test catches" "$work/found"
tail -n 1 "$work/found" | tap_diag

# a text that is not there, a function that is gone, a file that is gone, a fault that changes nothing, a
# part of an expression
cp "$here"/*.py "$here"/*.tsv "$work/"
pool=coll_gpuring/link/pool.c
printf '%s\tlink\t%s\t%s\tnone\t1\t%s\t%s\n' \
    stale "$pool" gr_pool_open 'pool->nowhere = 1;' ';' \
    stale "$pool" gr_pool_nowhere 'return NULL;' ';' \
    stale coll_gpuring/link/nowhere.c gr_pool_open 'return NULL;' ';' \
    stale "$pool" gr_pool_close 'return;' 'return;' \
    stale "$pool" gr_pool_open '= NULL' '= pool' >>"$work/planted.tsv"
! check "$work"
tap_result $? "faults that do not apply are an error" "$work/found"
for line in 'gr_pool_open: not there: pool->nowhere' 'gr_pool_nowhere: not there' 'nowhere.c: No such file' \
    'changes nothing' 'not an expression: = NULL'; do
    grep -q "^stale: stale: .*$line" "$work/found"
    tap_result $? "    and are named: $line" "$work/found"
done
tap_done
