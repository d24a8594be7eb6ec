# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # py and why are the scripts'
# Sourced by the scripts that run programs which know nothing of gpuring, after lib.sh.

# What was linked to one libmpi.so.40 runs with another of that name, where the loader finds that first.
prefix=$(dirname "$(dirname "$(command -v "$OMPI_INFO")")")
if [ -e "$prefix/lib/libmpi.so.40" ]; then
    export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
version=$("$OMPI_INFO" --version | sed -n 's/^Open MPI v//p')

# installed NP OPTIONS... -- PROGRAM ARGS...: grun with a program of PATH, or a path
installed() { PROGDIR='' grun "$@"; }

# did MEMORY COLLECTIVE...: gpuring carried these out on buffers there (host or cuda), by its own report
did() {
    local memory=$1 collective
    shift
    for collective in "$@"; do
        seen "^# $collective +$memory +[a-z]+ +[1-9]" && continue
        echo "# gpuring did no $collective in $memory memory"
        return 1
    done
}

# py: a python3 that has mpi4py for this Open MPI; or, in why, why there is none
find_python() {
    local python
    why="no python3 has mpi4py 3.1 or newer (package python3-mpi4py)"
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import mpi4py, numpy, sys; sys.exit(mpi4py.__version__ < "3.1")' 2>/dev/null || continue
        installed 1 -- "$python" -c 'from mpi4py import MPI; print("library", MPI.Get_library_version().rstrip("\0"))'
        if seen "^library Open MPI v${version}[, ]"; then
            py=$(command -v "$python") why=
            return
        fi
        why="mpi4py does not run on Open MPI $version"
    done
}
