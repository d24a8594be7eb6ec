#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes gpuring-VERSION-ARCHITECTURE.tar.gz in the current folder: the component for each layout of Open MPI's structures,
# and a stub that opens the one that fits. It prints the file's path as the last line of stdout.
#     tools/bundle.sh                                     builds for all layouts that this machine can build for
#     tools/bundle.sh --version=V --programs=DIR BUILD...    from these build folders (make bundle); programs from DIR
# The first form builds 4.1 (the distribution's), and 5.0.0 to 5.0.6, 5.0.7 to 5.0.9, 5.0.10 and later from the headers
# of tools/ompi5.sh, in build-bundle/. More build folders of other series are taken behind `--`.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "bundle: $*" >&2; exit 1; }

# pack VERSION PROGRAMS BUILD...
pack() {
    local version=$1 programs=$2 name root build abi folder made program
    shift 2
    name=gpuring-$version-$(uname -m)
    made=$(mktemp -d)
    root=$made/$name
    mkdir -p "$root"/bin "$root"/lib/gpuring/gpuring-variants "$root"/modulefiles/gpuring
    for build; do
        abi=$build/bundle/abi
        [ -s "$abi" ] || fail "$build has no bundle/abi: make bundle-parts there"
        folder=$root/lib/gpuring/gpuring-variants/ompi-$(sed -n 's/^from //p' "$abi")
        [ ! -e "$folder" ] || fail "$build is for the same layout as another build folder: $(basename "$folder")"
        mkdir "$folder"
        cp "$abi" "$folder/"
        cp -L "$build"/component/* "$folder/"
    done
    cp "$programs/bundle/mca_coll_gpuring.so" "$top/coll_gpuring/help-coll-gpuring.txt" "$root/lib/gpuring/"
    for program in gpuring_abi gpuring_bench gpuring_choices gpuring_sched gpuring_tune torus_sim; do
        "$programs/libtool" --mode=install install -s "$programs/$program" "$root/bin/$program" >/dev/null 2>&1 ||
            fail "$programs/$program is not built"
    done
    find "$root/lib" -name '*.so' -exec strip -g {} +
    cp "$top/packaging/bundle/gpuring-install" "$root/bin/"
    cp "$top/packaging/bundle/modulefile" "$root/modulefiles/gpuring/$version"
    cp "$top/LICENSE" "$top/README.md" "$root/"
    tar -C "$made" -czf "$PWD/$name.tar.gz" "$name"
    rm -rf "$made"
    echo "$PWD/$name.tar.gz"
}

# built NAME OPTION...: a build folder for that configuration; prints its path
built() {
    local dir=$top/build-bundle/$1
    shift
    mkdir -p "$dir"
    (cd "$dir" && { [ -e config.status ] || "$top/configure" "$@"; }
     if [ -e "$top/build/kernels.fatbin" ] && [ ! -e kernels.fatbin ]; then cp -Rp "$top"/build/kernels{,.fatbin} .; fi
     make -j"$(nproc)" bundle-parts) >"$dir.log" 2>&1 || fail "building $dir failed; see $dir.log"
    echo "$dir"
}

version='' programs=''
while [ $# -gt 0 ]; do
    case $1 in
        --version=*) version=${1#*=} ;;
        --programs=*) programs=${1#*=} ;;
        --) shift; break ;;
        -h | --help) sed -n '3,8s/^# //p' "$0"; exit 0 ;;
        -*) fail "unknown option $1; allowed: --version=V --programs=DIR" ;;
        *) break ;;
    esac
    shift
done
if [ -n "$version" ]; then
    pack "$version" "$programs" "$@"
    exit 0
fi
[ -x "$top/configure" ] || (cd "$top" && autoreconf -fi) >&2
ompi5=$("$top/tools/ompi5.sh" | tail -n 1)
builds=("$(built ompi-4.1)")
for release in 5.0.0 5.0.7 5.0.10; do
    builds+=("$(built "ompi-$release" "--with-ompi=$ompi5" "--with-ompi-layout=$release")")
done
make -C "${builds[0]}" bundle BUNDLE_BUILDS="${builds[*]} $*" >"$top/build-bundle/bundle.log" 2>&1 ||
    fail "packing failed; see $top/build-bundle/bundle.log"
tail -n 1 "$top/build-bundle/bundle.log"
