#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pytest.sh ARGUMENT...: pytest of a python3 that has it (Debian: python3-pytest, of /usr/bin/python3). Prints TAP.
export PYTHONDONTWRITEBYTECODE=1
for python in /usr/bin/python3 python3; do
    "$python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("pytest"))' 2>/dev/null &&
        exec "$python" -m pytest "$@"
done
echo "1..0 # SKIP no python3 has pytest (package python3-pytest)"
