#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Open MPI 5.0.7 once, in ${GPURING_CACHE:-~/.cache/gpuring}, and prints its prefix as the last line of stdout.
# Status 77: its source cannot be had here.
#
# The source is Debian 13's source package, which contains PMIx and PRRTE, from apt's mirror. Its package lists are kept
# in a directory of their own, so the system's apt configuration does not change.
set -euo pipefail

version=5.0.7
cache=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}
prefix=$cache/openmpi-$version
work=$cache/openmpi-$version.build

say() { printf 'ompi5: %s\n' "$*" >&2; }

if [ -e "$prefix/.complete" ]; then
    echo "$prefix"
    exit 0
fi

apt_private() { # apt-get that knows Debian 13's source packages only
    apt-get -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=- \
            -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
            -o APT::Sandbox::User=root "$@"
}

fetch_source() {
    local site
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | grep debian | head -n 1)
    [ -n "$site" ] || { say "apt knows no Debian mirror: add one to /etc/apt/sources.list"; exit 1; }
    mkdir -p "$work"/apt/lists/partial "$work"/apt/cache/archives/partial
    echo "deb-src $site trixie main" >"$work/apt/sources.list"
    apt_private -q update
    (cd "$work" && apt_private -q --download-only source openmpi)
    tar -C "$work" -xf "$work"/openmpi_$version.orig.tar.*
}

build() {
    local src cuda=() ucx=()
    src=$(find "$work" -mindepth 1 -maxdepth 1 -type d -name 'openmpi-*' | head -n 1)
    [ -n "$src" ] || { say "the source package did not unpack below $work"; exit 1; }
    if [ -e /usr/local/cuda/lib64/stubs/libcuda.so ]; then
        cuda=(--with-cuda=/usr/local/cuda --with-cuda-libdir=/usr/local/cuda/lib64/stubs)
    fi
    if [ -e /usr/include/ucp/api/ucp.h ]; then ucx=(--with-ucx); fi
    mkdir -p "$src/build" && cd "$src/build"
    ../configure --prefix="$prefix" --disable-mpi-fortran --disable-oshmem --with-devel-headers \
        "${cuda[@]}" "${ucx[@]}" --with-pmix=internal --with-prrte=internal --with-hwloc=external \
        --with-libevent=external --disable-sphinx
    make -j"$(nproc)"
    make install
    # Components built for CUDA print warnings without a driver.
    echo "mca_base_component_show_load_errors = 0" >>"$prefix/etc/openmpi-mca-params.conf"
}

case ${1:-} in # processes of their own, so that set -e is in effect
    --fetch) fetch_source; exit 0 ;;
    --build) build; exit 0 ;;
esac
mkdir -p "$work"
exec 9>"$cache/openmpi-$version.lock"
flock 9                                  # a second call waits for the first one's build
if [ -e "$prefix/.complete" ]; then echo "$prefix"; exit 0; fi
log=$cache/openmpi-$version.log
say "building Open MPI $version into $prefix (about 10 minutes on 2 cores; log: $log)"
rm -rf "$prefix"
if ! "$0" --fetch >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "the source cannot be had; see $log"
    exit 77
fi
if ! "$0" --build >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "failed; see $log"
    exit 1
fi
touch "$prefix/.complete"
rm -rf "$work"
echo "$prefix"
