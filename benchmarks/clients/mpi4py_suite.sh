#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi4py's own tests of collectives, and its versions of OSU's benchmarks, under gpuring: they know nothing of it.
#     benchmarks/clients/mpi4py_suite.sh fetch DIR
#     benchmarks/clients/mpi4py_suite.sh run DIR RANKS [MPIRUN-OPTIONS...]
# fetch puts mpi4py 4.1.2 and its sources into DIR, by pip, and nothing anywhere else.
# run takes the mpirun of PATH (. build/env.sh), adds --mca coll gpuring, and CuPy's arrays where python3 has CuPy.
# PYTHON names another python3. Exit status: that of the first program that failed.
set -eu
version=4.1.2
usage() { sed -n '/^#     bench/s/^# *//p' "$0" >&2; exit 99; }
[ $# -ge 2 ] || usage
what=$1 dir=$2
python=${PYTHON:-python3}
sources=$dir/mpi4py-$version

fetch() {
    mkdir -p "$dir"
    export PIP_ROOT_USER_ACTION=ignore
    "$python" -m pip install --quiet --no-deps --only-binary :all: --target "$dir/lib" "mpi4py==$version"
    "$python" -m pip download --quiet --no-deps --no-binary mpi4py --dest "$dir" "mpi4py==$version"
    tar -xzf "$dir/mpi4py-$version.tar.gz" -C "$dir"
    echo "mpi4py $version in $dir"
}

run() { # RANKS [OPTIONS...]
    local ranks=$1 cupy=''
    shift
    [ -d "$sources" ] || { echo "no mpi4py $version in $dir: fetch it first" >&2; exit 99; }
    export PYTHONPATH=$dir/lib PYTHONDONTWRITEBYTECODE=1
    if "$python" -c 'import cupy; cupy.zeros(1)' 2>/dev/null; then
        cupy=--cupy
    else
        echo "no CuPy for $python: arrays in host memory only"
    fi
    # shellcheck disable=SC2086 # an option or nothing
    mpirun -np "$ranks" --mca coll gpuring "$@" "$python" "$sources/test/main.py" -q -i test_cco $cupy
    for name in osu_bcast osu_allgather osu_alltoall; do
        mpirun -np "$ranks" --mca coll gpuring "$@" "$python" "$sources/demo/$name.py"
    done
}

case $what in
    fetch) [ $# = 2 ] || usage; fetch ;;
    run) [ $# -ge 3 ] || usage; run "${@:3}" ;;
    *) usage ;;
esac
