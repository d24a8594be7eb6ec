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

# A test that fails by itself catches nothing: it passes without a fault before, and fails after.
measured() {
    python3 - "$here" "$work/results" "$1" <<'EOF'
import sys
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])
import measure
from results import Results

open(sys.argv[2], "w").close()
results = Results(sys.argv[2:3])
faults = [SimpleNamespace(name="seen")]
ends = iter([True, False] + 2 * [True] + [True, sys.argv[3] == "fails"])  # without a fault, with it, without it
measure.run_test = lambda *_: SimpleNamespace(failed=next(ends), seconds=1.0, row="row")
test = SimpleNamespace(name="test")
all_caught = measure.Measure(None, faults, [test], results, 1, None).run({"test": {"seen"}}, True)
caught = all_caught and results.first_catch("seen") == ("test", "row")
read_again = Results(sys.argv[2:3]).first_catch("seen") == results.first_catch("seen")
sys.exit(not read_again or (not caught if sys.argv[3] == "passes" else all_caught or bool(results.first_catch("seen"))))
EOF
}
measured passes >"$work/found" 2>&1
tap_result $? "a test that passes without the fault before and after has caught it" "$work/found"
measured fails >"$work/found" 2>&1
tap_result $? "one that fails without it afterwards has not" "$work/found"
tap_done
