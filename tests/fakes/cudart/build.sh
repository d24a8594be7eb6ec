#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the CUDA runtime of the fake driver: DIR/libcudart.so.N, N being the toolkit's.
#     build.sh DIR FLAVOUR      as tests/fakes/cuda/build.sh. Environment: CXX, CUDA_CPPFLAGS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
toolkit=${CUDA_CPPFLAGS:--I/usr/local/cuda/include}
cxx=${CXX:-g++}
case $2 in
    plain) flags=-O2 ;;
    address) flags='-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined' ;;
    thread) flags='-O1 -fsanitize=thread' ;;
    *) echo "build.sh: no such flavour: $2" >&2 && exit 1 ;;
esac
work=$dir/cudart.objects
mkdir -p "$work"
# shellcheck disable=SC2086
header() { echo '#include <cuda_runtime_api.h>' | $cxx -std=c++17 -E -P "$@" $toolkit -x c++ -; }
# the functions, also those of programs for the per-thread default stream; the names of the errors
{ header; header -DCUDA_API_PER_THREAD_DEFAULT_STREAM; } | grep -oE '\bcuda[A-Z][A-Za-z0-9_]*(_pt[ds][sz])? ?\(' |
    sed 's/ *(//' | sort -u | sed 's/.*/NAME(&)/' >"$work/functions.inc"
header | grep -oE '\bcuda(Success|Error[A-Za-z0-9]*) *= *[0-9]+' | sed -E 's/(.*[^ ]) *= *(.*)/ERROR(\1, \2)/' >"$work/errors.inc"
major=$(($(header -dM | sed -n 's/^#define CUDART_VERSION *//p') / 1000))
name=libcudart.so.$major
echo "$name { global: cuda*; __cuda*; local: *; };" >"$work/version"
objects=
for source in "$here"/*.cpp; do
    object=$work/$(basename "$source" .cpp).o
    objects="$objects $object"
    if [ ! "$object" -nt "$source" ] || [ ! "$object" -nt "$here/cudart.h" ] || [ ! "$object" -nt "$here/build.sh" ]; then
        # shellcheck disable=SC2086
        $cxx -std=c++17 -g -Wall -Wextra -fPIC -fvisibility=hidden $flags -I"$work" $toolkit -c "$source" -o "$object"
    fi
done
# a rename at the end: who runs the old one is not disturbed
# shellcheck disable=SC2086
$cxx -shared $flags -Wl,-soname,"$name" -Wl,--version-script="$work/version" $objects -o "$dir/$name.$$" -lpthread -ldl
mv "$dir/$name.$$" "$dir/$name"
