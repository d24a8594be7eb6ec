#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Gets what gcc needs to build for glibc 2.28 and later (manylinux_2_28: RHEL 8, Debian 10, Ubuntu 20.04): the headers of
# the C library, and shared objects that have its symbols with their versions and no code, in
# ${GPURING_CACHE:-~/.cache/gpuring}. Prints the options of configure that build with them, one a line. Status 77: they
# cannot be had here.
#
# The package ziglang of the Python package index makes both for any glibc. Its own compiler is not used: it links a memcpy
# of its own into each library, with which allreduces of 32 KiB took 1.6 times as long.
set -euo pipefail

minor=28 ziglang=0.17.1
cache=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}
root=$cache/glibc-2.$minor
machine=$(uname -m)
fail() { echo "glibc: $*" >&2; exit 77; }

# make_root FOLDER: with the headers and libraries, by the ziglang in FOLDER.venv
make_root() {
    local zig lib=$1/usr/lib folder name
    zig=("$(find "$1.venv" -path '*/ziglang/zig')" cc -target "$machine-linux-gnu.2.$minor")
    export ZIG_GLOBAL_CACHE_DIR=$1.made
    mkdir -p "$1/usr/include" "$lib"
    # of two headers of the same name the compiler takes the first
    "${zig[@]}" -E -v -x c /dev/null 2>&1 | sed -n '/^#include </,/^End/s/^ //p' | grep /libc/include/ | tac |
        while read -r folder; do cp -R "$folder/." "$1/usr/include/"; done
    echo 'int main(void) { return 0; }' >"$1.made/main.c"
    "${zig[@]}" -pie -fPIE -o "$1.made/main" "$1.made/main.c"
    "${zig[@]}" -no-pie -o "$1.made/main" "$1.made/main.c"
    find "$1.made" '(' -name 'lib*.so.*' -o -name '*crt1.o' -o -name libc_nonshared.a ')' -exec cp {} "$lib/" ';'
    cp "$(gcc -print-file-name=crti.o)" "$(gcc -print-file-name=crtn.o)" "$lib/" # they name no symbol of the library
    for name in m dl pthread rt util resolv; do ln -s "$(basename "$lib/lib$name.so".*)" "$lib/lib$name.so"; done
    echo "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( $(basename "$lib"/libld.so.*) ) )" >"$lib/libc.so"
}

# -B goes before the folders of this machine's libraries, in which those of UCX and Open MPI are found; they need this
# machine's C library
options() {
    echo "CC=gcc --sysroot=$root -B$root/usr/lib -D__GLIBC_MINOR__=$minor"
    echo "CPPFLAGS=-idirafter /usr/include -idirafter /usr/include/$machine-linux-gnu"
    echo "LDFLAGS=-Wl,--allow-shlib-undefined"
}

if [ "${1:-}" = --make ]; then # a process of its own, so that set -e is in effect
    make_root "$2"
    exit 0
fi
mkdir -p "$cache"
exec 9>"$root.lock"
flock 9
if [ ! -e "$root/usr" ]; then
    rm -rf "$root.part"*
    { python3 -m venv "$root.part.venv" && "$root.part.venv/bin/pip" install -q "ziglang==$ziglang"; } >"$root.log" 2>&1 ||
        fail "ziglang $ziglang of the Python package index cannot be installed: $(tail -n 1 "$root.log")"
    mkdir "$root.part.made"
    "$0" --make "$root.part" >>"$root.log" 2>&1 || fail "ziglang $ziglang makes no glibc 2.$minor; see $root.log"
    mv -T "$root.part" "$root"
    rm -rf "$root.part"* # 400 MB
fi
options
