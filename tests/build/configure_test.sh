#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# configure: how it finds Open MPI (ompi_info, pkg-config, mpicc, the files alone), cross compiling, and the parts that can
# be left out, with a job of the component that each builds. Environment: srcdir, builddir, OMPI_INFO, MPIRUN (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
unset MAKEFLAGS MFLAGS MAKELEVEL MPICC
mpicc=$(sed -n 's/^S\["MPICC"\]="\(.*\)"$/\1/p' "$builddir/config.status")
libdir=$("$OMPI_INFO" --path libdir --parsable | sed 's/^path:libdir://')
run=$MPIRUN
export MPIRUN=$PWD/none # not looked for
given= # --with-ompi and the like of this build
eval "set -- $("$builddir/config.status" --config)"
for arg; do
    case $arg in --with-ompi*) given="$given'$arg' " ;; esac
done

# An ompi_info that must not be run: it leaves a file.
mkdir "$work/bin"
printf '#!/bin/sh\ntouch "%s/ompi_info_ran"\nexit 126\n' "$work" >"$work/bin/ompi_info"
chmod +x "$work/bin/ompi_info"

# configured NAME OPTION...: in $work/NAME; its log in $work/out. What compilers can do is asked once.
configured() {
    local name=$1
    shift
    mkdir -p "$work/$name"
    grep -sv '_\(env\|path\|prog\|host\|build\)_\|pkg_cv\|ac_cv_\(env\|path\|build\|host\)' "$work/first/config.cache" \
        >"$work/$name/config.cache"
    (cd "$work/$name" && eval "$(printf '%q ' "$srcdir/configure" -C "$@") $([ "${alone:-}" = 1 ] || echo "$given")") \
        >"$work/out" 2>"$work/err"
}
# said NAME: what its summary says of NAME
said() { sed -n "s/^    $1  *//p" "$work/out"; }
# summary: what decides how the component is built and where it goes
summary() {
    local name
    for name in "Open MPI" interface "component to" "help text to"; do echo "$name: $(said "$name")"; done
}
same() { # TEXT: the summary is that of ompi_info
    summary | diff "$work/expected" - >"$work/why" && [ -s "$work/expected" ]
    tap_result $? "$1" "$work/why" "$work/err"
}

# ---- how Open MPI is found ----

ok "configure with ompi_info, --disable-cuda and --disable-ucx" configured first --disable-cuda --disable-ucx
summary >"$work/expected"
ok "--disable-cuda is --without-cuda" test "$(said CUDA)" = off
ok "--disable-ucx is --without-ucx" test "$(said UCX)" = off
(unset OMPI_INFO && PATH=$work/first/bin:$PATH configured first --disable-cuda --disable-ucx)
ok "after env.sh, whose scripts come first in PATH, it finds what they run" \
    eval '! grep -q "\"OMPI_INFO\"]=\"$work/first/bin" "$work/first/config.status"'
configured clash --disable-ucx --with-ucx=/usr
ok "--disable-ucx with --with-ucx=DIR is refused" grep -q 'exclude each other' "$work/err"

if [ -n "$(sed -n 's/^S\["gr_pmix"\]="\(.*\)"$/\1/p' "$builddir/config.status")" ]; then
    pc=$PKG_CONFIG_PATH
else
    pc=/nowhere # nothing else of pkg-config's is needed
fi
alone=1
found=$(dirname "$(find "$libdir" /usr/lib/*/pkgconfig -name ompi-c.pc 2>/dev/null | head -n 1)")
PKG_CONFIG_PATH=$found configured pc --without-cuda --without-ucx OMPI_INFO="$work/bin/ompi_info"
same "found by pkg-config alone"
ok "pkg-config was asked" grep -q 'by pkg-config ompi-c' "$work/out"
PKG_CONFIG_LIBDIR=$pc configured mpicc --without-cuda --without-ucx --without-hwloc OMPI_INFO="$work/bin/ompi_info" \
    MPICC="$mpicc"
same "found by mpicc alone"
ok "mpicc was asked" grep -q "by $mpicc" "$work/out"
printf '#!/bin/sh\necho "gcc (another MPI)"\n' >"$work/bin/mpicc"
chmod +x "$work/bin/mpicc"
PKG_CONFIG_LIBDIR=$pc configured other --without-cuda --without-ucx OMPI_INFO="$work/bin/ompi_info" MPICC="$work/bin/mpicc"
ok "another MPI's mpicc is refused" grep -q "mpicc is not Open MPI's" "$work/err"
OMPI_INFO='' PKG_CONFIG_LIBDIR=$pc configured none --without-cuda --without-ucx --with-ompi="$work/nowhere"
ok "where there is none, configure says what it looked for" \
    grep -q 'neither ompi_info, pkg-config (ompi-c) nor mpicc' "$work/err"

# ---- an nvcc that is too old for this g++ ----

# shellcheck disable=SC2016 # expanded by the program itself
printf '#!/bin/sh\ncase $1 in --version) echo "release 13.0, V13.0.1" ;; --list-gpu-arch) echo compute_90 ;; *) exit 1 ;; esac\n' \
    >"$work/bin/nvcc"
chmod +x "$work/bin/nvcc"
if [ -e /usr/local/cuda/include/cuda.h ]; then
    configured nvcc --without-ucx NVCC="$work/bin/nvcc" CPPFLAGS=-I/usr/local/cuda/include
    ok "without a g++ for nvcc CUDA is off" grep -q 'off: .*nvcc does not work with this g++' "$work/out"
    mkdir "$work/toolkit"
    ln -s "$work/bin" "$work/toolkit/bin"
    ln -s /usr/local/cuda/include "$work/toolkit/include"
    configured nvcc_given --without-ucx --with-cuda="$work/toolkit"
    ok "where --with-cuda asks for it, that is an error" grep -q 'compiles no kernel with this g++' "$work/err"
else
    tap_skip "without a g++ for nvcc CUDA is off" "no cuda.h"
    tap_skip "where --with-cuda asks for it, that is an error" "no cuda.h"
fi

# ---- cross compiling: for this machine, but configure does not know that ----

rm -f "$work/ompi_info_ran"
PATH=$work/bin:$PATH PKG_CONFIG_PATH=$found configured cross --without-cuda --without-ucx --build=i586-pc-linux-gnu \
    --host=x86_64-pc-linux-gnu CC=gcc CXX=g++
same "cross compiling: pkg-config tells the same"
ok "it is cross compiling" grep -q 'whether we are cross compiling... yes' "$work/out"
ok "ompi_info is not run then" test ! -e "$work/ompi_info_ran"
PKG_CONFIG_LIBDIR=/nowhere configured cross_none --without-cuda --without-ucx --build=i586-pc-linux-gnu \
    --host=x86_64-pc-linux-gnu CC=gcc CXX=g++ --with-ompi="$work/nowhere"
ok "without an Open MPI for that machine configure says what to install" \
    grep -q 'no Open MPI for x86_64-pc-linux-gnu in .*pkgconf:ARCH' "$work/err"

# ---- builds without a part ----

alone=
# built NAME: the component and the benchmark in $work/NAME, with the kernels of this build, and a job with them
built() {
    local dir=$work/$1
    cp -Rp "$builddir/kernels" "$builddir/kernels.fatbin" "$dir/" 2>/dev/null
    touch -c "$dir/kernels.fatbin"
    ok "$1: the component builds" make -s -C "$dir" -o kernels.fatbin -j"$(nproc)" mca_coll_gpuring.la gpuring_bench
    # shellcheck disable=SC2086 # words
    $run -x OMPI_MCA_mca_base_component_path="SYSTEM_DEFAULT:$dir/.libs" -np 2 --mca coll gpuring \
        --mca coll_gpuring_report summary "$dir/gpuring_bench" allreduce bcast -m 8:64K -i 2 -c >"$work/out" 2>&1
    tap_result $? "$1: a job runs, all elements right" "$work/out"
    ok "$1: the report counts its calls" grep -q '^# allreduce  *host ' "$work/out"
}
configured without_ucx --disable-ucx
built without_ucx
ok "without_ucx: the component names no part of UCX" test ! -e "$work/without_ucx/.libs/gpuring_net_ucx.so"
configured without_cuda --disable-cuda
built without_cuda
has_no_kernels() { nm "$1/.libs/mca_coll_gpuring.so" >"$work/symbols" && ! grep -q gr_cuda_image "$work/symbols"; }
ok "without_cuda: there are no kernels in it" has_no_kernels "$work/without_cuda"
tap_done
