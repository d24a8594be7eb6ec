#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the fake driver, kernels for it, or a program that is linked to it.
#     build.sh DIR FLAVOUR                          DIR/libcuda.so.1; FLAVOUR: plain, address or thread
#     build.sh DIR FLAVOUR OUT.so SOURCE.cu [FLAG]  DIR/OUT.so, for the libcuda.so.1 that is in DIR
#     build.sh DIR FLAVOUR OUT SOURCE.c ...         DIR/OUT, the same
# FLAVOUR is as for configure --enable-sanitizer: programs that load these must be built with the same sanitizer. Environment: CC, CXX, CUDA_CPPFLAGS.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1 flavour=$2
cxx=${CXX:-g++}
mkdir -p "$dir"
case $flavour in
    plain) # a shift by a word's bits or more is another one on a GPU than here
        compile='-O2' link='' fibers=$compile kernels='-O2 -fsanitize=shift-exponent -fsanitize-undefined-trap-on-error'
        ;;
    address)
        compile='-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined'
        link=$compile kernels=$compile fibers=$compile
        ;;
    # what goes on between fibers is not looked at: they share one OS thread, and say themselves what orders what
    thread)
        compile='-O1 -fsanitize=thread' fibers='-O2 -DFAKE_TSAN'
        link=-fsanitize=thread kernels=$compile
        ;;
    *) echo "build.sh: no such flavour: $flavour" >&2 && exit 1 ;;
esac
if [ $# -le 2 ]; then
    mkdir -p "$dir/objects"
    newest=$(ls -t "$here"/*.h "$here/build.sh" | head -n 1)
    toolkit=${CUDA_CPPFLAGS:--I/usr/local/cuda/include}
    # shellcheck disable=SC2086
    printf '#include <cudaTypedefs.h>\n#include <cudaProfilerTypedefs.h>\n' |
        $cxx -std=c++17 -E -D__CUDA_API_VERSION_INTERNAL $toolkit -x c++ - | bash "$here/names.sh" >"$dir/objects/names.inc.$$"
    cmp -s "$dir/objects/names.inc.$$" "$dir/objects/names.inc" || cp "$dir/objects/names.inc.$$" "$dir/objects/names.inc"
    rm "$dir/objects/names.inc.$$"
    objects=
    for source in "$here"/*.cpp; do
        name=$(basename "$source" .cpp)
        object=$dir/objects/$name.o
        case $name in access | block | fiber | weak | ptx_*) flags=$fibers ;; *) flags=$compile ;; esac
        objects="$objects $object"
        if [ ! "$object" -nt "$source" ] || [ ! "$object" -nt "$newest" ] ||
            [ ! "$object" -nt "$dir/objects/names.inc" ]; then
            # shellcheck disable=SC2086
            $cxx -std=c++17 -g -Wall -Wextra -fPIC -fvisibility=hidden -ffp-contract=off $flags \
                -I"$dir/objects" $toolkit -c "$source" -o "$object"
        fi
    done
    # a rename at the end: who runs the old one is not disturbed
    # shellcheck disable=SC2086
    $cxx -shared $link -Wl,-soname,libcuda.so.1 $objects -o "$dir/libcuda.so.1.$$" -lpthread -ldl
    mv "$dir/libcuda.so.1.$$" "$dir/libcuda.so.1"
    exit
fi
out=$3
shift 3
case $1 in
    *.cu)
        source=$1
        shift
        # shellcheck disable=SC2086
        $cxx -std=c++17 -g -Wall -Wno-unknown-pragmas -fPIC -fvisibility=hidden $kernels "$@" -I"$here" -shared \
            -x c++ "$source" -x none "$dir/libcuda.so.1" -Wl,-rpath,'$ORIGIN' -o "$dir/$out"
        ;;
    *)
        # shellcheck disable=SC2086
        ${CC:-gcc} -std=gnu11 -g -Wall -Wextra $kernels ${CUDA_CPPFLAGS:--I/usr/local/cuda/include} "$@" \
            "$dir/libcuda.so.1" -Wl,-rpath,'$ORIGIN' -o "$dir/$out" -lpthread -ldl -lm
        ;;
esac
