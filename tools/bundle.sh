#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes gpuring-VERSION-ARCHITECTURE.tar.gz in the current folder: the component for each layout of Open MPI's structures,
# and a stub that opens the one that fits. It prints the file's path as the last line of stdout.
#     tools/bundle.sh [--] [BUILD...]                     builds all that it can here, in build-bundle/
#     tools/bundle.sh --version=V --programs=DIR BUILD... from these build folders (make bundle); programs from DIR
# The first form builds for glibc 2.28 (tools/glibc.sh; where that cannot be had, for this machine's), for the distribution's
# Open MPI, for the three layouts of 5.0 (by the headers of tools/ompi5.sh where the distribution has another series), and,
# as root, for 6.0 by the headers of Debian sid (tools/debian.sh). It takes build folders of other series, too. Sid changes
# daily: where it cannot be had, the bundle is without 6.0, and that is said.
. "$(dirname "$0")/build.sh"
packages=build

# glibc_of FOLDER: the latest version of the C (and C++) library that a file there asks for
glibc_of() {
    find "$1" -type f -exec objdump -T {} + 2>/dev/null | grep -oE 'GLIBC(XX)?_[0-9.]+' | sort -uV |
        awk -F_ '{ latest[$1] = $2 } END { for (library in latest) printf "%s %s ", tolower(library), latest[library] }'
}

# pack VERSION PROGRAMS BUILD...
pack() {
    local version=$1 programs=$2 name root build abi folder made program
    shift 2
    if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
        SOURCE_DATE_EPOCH=$([ -e "$top/.git" ] && git -C "$top" log -1 --format=%ct || stat -c %Y "$top/NEWS.md")
    fi
    export SOURCE_DATE_EPOCH
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
    cp "$programs/bundle/mca_coll_gpuring.so" "$root/lib/gpuring/"
    for program in gpuring_abi gpuring_bench gpuring_choices gpuring_sched gpuring_top gpuring_tune torus_sim; do
        "$programs/libtool" --mode=install install -s "$programs/$program" "$root/bin/$program" >/dev/null 2>&1 ||
            fail "$programs/$program is not built"
    done
    find "$root/lib" -name '*.so' -exec strip -g {} +
    cp -R "$programs/ab" "$root/lib/gpuring-ab"
    find "$root" -name __pycache__ -exec rm -rf {} +
    ln -s ../lib/gpuring-ab/gpuring_ab "$root/bin/gpuring_ab"
    cp "$top/packaging/bundle/gpuring-install" "$root/bin/"
    cp "$top/packaging/bundle/modulefile" "$root/modulefiles/gpuring/$version"
    cp "$top/packaging/bundle/modulefile.lua" "$root/modulefiles/gpuring/$version.lua"
    make -s --no-print-directory -C "$programs" docdir="$root/share/doc/gpuring" mandir="$root/share/man" \
        install-nobase_dist_docDATA install-man >/dev/null
    # not the day when they were made
    sed -i "/^\\.TH /s/20[0-9][0-9]-[0-9-]*/$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)/" "$root"/share/man/man?/*
    ln -s share/doc/gpuring/README.md share/doc/gpuring/NEWS.md share/doc/gpuring/LICENSE "$root/"
    (cd "$root" && find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum >../SHA256SUMS)
    mv "$made/SHA256SUMS" "$root/"
    tar -C "$made" --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u+rwX,go+rX,go-w -cf - "$name" | gzip -9n >"$PWD/$name.tar.gz"
    echo "bundle: it needs $(glibc_of "$root")or later" >&2
    rm -rf "$made"
    echo "$PWD/$name.tar.gz"
}

# part NAME OPTION...: the files for one layout, in build-bundle/NAME, configured with these options. They need no library
# that a machine may lack, or has by another name: not hwloc, which orders GPUs where NVML does not, nor Open MPI's, which
# the stub finds in the process; nor the path of this checkout, which assert() would put into them.
portable=()
part() (
    builddir=$top/build-bundle/$1
    shift
    options=(--without-hwloc "CFLAGS=-O2 -ffile-prefix-map=$top=." "${portable[@]}" "$@")
    set_up bundle-parts OMPI_LIBS= >&2
)

# of6: makes build-bundle/sid/, which looks like the prefix of Debian sid's Open MPI. Its headers are all that is needed.
of6() {
    local root=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}/sid libs
    "$top/tools/debian.sh" --here "--dir=$root" sid tools/packages.sh build >&2 || return
    libs=$root/usr/lib/$(uname -m)-linux-gnu
    rm -rf "$top/build-bundle/sid"
    mkdir -p "$top/build-bundle/sid/include"
    ln -s "$libs/openmpi/lib" "$top/build-bundle/sid/lib"
    ln -s "$libs"/openmpi/include/* "$libs"/pmix2/include/* "$top/build-bundle/sid/include/"
}

version='' programs=''
while [ $# -gt 0 ]; do
    case $1 in
        --version=*) version=${1#*=} ;;
        --programs=*) programs=${1#*=} ;;
        --) shift; break ;;
        -h | --help) sed -n '3,13s/^# //p' "$0"; exit 0 ;;
        -*) fail "unknown option $1; allowed: --version=V --programs=DIR" ;;
        *) break ;;
    esac
    shift
done
if [ -n "$version" ]; then
    pack "$version" "$programs" "$@"
    exit 0
fi

if text=$("$top/tools/glibc.sh"); then
    mapfile -t portable <<<"$text"
else
    echo "bundle: built for this machine's C library" >&2
fi
own=$top/build-bundle/own builds=("$top/build-bundle/own")
part own
make -s -C "$own" bundle-programs >&2
from=$(sed -n 's/^from //p' "$own/bundle/abi")
case $from in
    5.0.*) five=() ;;
    *) five=("--with-ompi=$("$top/tools/ompi5.sh" | tail -n 1)") ;;
esac
for layout in 5.0.0 5.0.7 5.0.10; do
    [ "$layout" != "$from" ] || continue
    part "$layout" "${five[@]}" "--with-ompi-layout=$layout"
    builds+=("$top/build-bundle/$layout")
done
if [ "${from%.*}" != 6.0 ]; then
    if of6 && part 6.0 "--with-ompi=$top/build-bundle/sid"; then
        builds+=("$top/build-bundle/6.0")
    else
        echo "bundle: no component for Open MPI 6.0: Debian sid cannot be had here, or its Open MPI is another" >&2
    fi
fi
pack "$(make -s --no-print-directory -C "$own" print-version | tail -n 1)" "$own" "${builds[@]}" "$@"
