#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The table of planted faults is of the present sources: each text is there, once. Prints TAP. Environment: srcdir (default:
# two folders up).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 99
srcdir=$(cd "${srcdir:-$here/../..}" && pwd) || exit 99
python3 -c 'import tomllib' 2>/dev/null || { echo "1..0 # SKIP no Python with tomllib (3.11)"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "$here/../result.sh"

check() { python3 "$1/mutation.py" --check --source="$srcdir" >"$work/found"; }

check "$here"
result $? "every fault applies to the sources"
sed 's/^/# /' "$work/found"

# a stale text, a function that is gone, and a name that is there twice
cp "$here"/*.py "$work/"
cat "$here/faults.toml" - >"$work/faults.toml" <<'END'

[[fault]]
name = "stale-text"
area = "glue"
file = "coll_gpuring/exec/pool.c"
what = "A text that is not there."
function = "gr_pool_open"
from = 'pool->nowhere = 1;'
to = ''
[[fault]]
name = "stale-text"
area = "glue"
file = "coll_gpuring/exec/pool.c"
what = "A function that is not there."
function = "gr_pool_nowhere"
from = 'return NULL;'
to = ''
END
! check "$work"
result $? "faults that do not apply are an error"
for line in 'stale-text: .*pool.c: gr_pool_open: not there: pool->nowhere' 'stale-text: .*: no such function' \
    'stale-text: the name is there twice'; do
    grep -q "^stale: $line" "$work/found"
    result $? "    and are named: $line"
done
echo "1..$count"
