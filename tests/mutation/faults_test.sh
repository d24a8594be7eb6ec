#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The table of planted faults is of the present sources: each text is there, once. Prints TAP. Environment: srcdir (default:
# two folders up).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 99
. "$here/../lib.sh"
srcdir=$(cd "${srcdir:-$here/../..}" && pwd) || exit 99
python3 -c 'import tomllib' 2>/dev/null || tap_skip_all "no Python with tomllib (3.11)"
export PYTHONDONTWRITEBYTECODE=1
make_work

check() { python3 "$1/mutation.py" --check --source="$srcdir" >"$work/found"; }

check "$here"
tap_result $? "every fault applies to the sources" "$work/found"
sed 's/^/# /' "$work/found"

python3 "$here/mutation.py" report ${builddir:+--build="$builddir"} >"$work/found"
tap_result $? "the quick tests catch at least 95% of what any test catches" "$work/found"
tail -n 1 "$work/found" | tap_diag

# a stale text, a function that is gone, and a name that is there twice
cp "$here"/*.py "$work/"
cat "$here/faults.toml" - >"$work/faults.toml" <<'END'

[[fault]]
name = "stale-text"
area = "glue"
file = "coll_gpuring/link/pool.c"
what = "A text that is not there."
function = "gr_pool_open"
from = 'pool->nowhere = 1;'
to = ''
[[fault]]
name = "stale-text"
area = "glue"
file = "coll_gpuring/link/pool.c"
what = "A function that is not there."
function = "gr_pool_nowhere"
from = 'return NULL;'
to = ''
END
! check "$work"
tap_result $? "faults that do not apply are an error" "$work/found"
for line in 'stale-text: .*pool.c: gr_pool_open: not there: pool->nowhere' 'stale-text: .*: no such function' \
    'stale-text: the name is there twice'; do
    grep -q "^stale: $line" "$work/found"
    tap_result $? "    and are named: $line" "$work/found"
done
tap_done
