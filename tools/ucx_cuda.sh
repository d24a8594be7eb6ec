#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints the folder of a UCX with CUDA support, for configure --with-ucx=DIR. Gets it once, by pip, as a wheel of
# NVIDIA's: into ${GPURING_CACHE:-~/.cache/gpuring}. It has no transports of InfiniBand; there is TCP.
#     tools/ucx_cuda.sh [--kept] [PACKAGE==VERSION]      default: libucx-cu13==1.22.0
# --kept: fails where it was not got before. Older versions are those of libucx-cu12, from 1.14.1.post2 on.
set -euo pipefail

kept='' wheel=libucx-cu13==1.22.0
for arg in "$@"; do
    case $arg in
        --kept) kept=1 ;;
        libucx-cu[0-9]*==[0-9]*) wheel=$arg ;;
        *) echo "ucx_cuda.sh: $arg is not valid; allowed: --kept PACKAGE==VERSION" >&2; exit 2 ;;
    esac
done
folder=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}/$wheel
prefix=$folder/libucx # beside it are libraries that UCX finds there

# get: what a build and a run need, in $folder at once; not libtool's files and the static libraries, which name the folder
# where the wheel was built
get() {
    python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$dir" "$wheel" &&
        python3 -m zipfile -e "$dir"/*.whl "$dir" &&
        rm "$dir"/*.whl &&
        find "$dir/libucx" '(' -name '*.la' -o -name '*.a' ')' -delete &&
        sed -i "s|^prefix *=.*|prefix = $prefix|" "$dir"/libucx/lib/pkgconfig/*.pc &&
        chmod +x "$dir"/libucx/bin/* &&
        chmod 755 "$dir" &&
        { mv -T "$dir" "$folder" 2>/dev/null || [ -e "$prefix" ]; } # another call may have been faster
}

if [ ! -e "$prefix" ]; then
    if [ -n "$kept" ]; then
        echo "ucx_cuda.sh: $wheel is not here; tools/ucx_cuda.sh gets it" >&2
        exit 1
    fi
    mkdir -p "${folder%/*}"
    dir=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    get >&2 || { echo "ucx_cuda.sh: pip cannot get $wheel" >&2; exit 1; }
fi
echo "$prefix"
