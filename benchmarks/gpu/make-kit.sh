#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the folder that first-contact.sh needs on a machine with a GPU: programs, the component, Open MPI and all shared
# libraries but those of libc. `make gpu-kit` calls it.
#     benchmarks/gpu/make-kit.sh BUILDDIR KIT
# Environment: OMPI_INFO (default: ompi_info), KIT_MB. Of Open MPI the kit gets the components that need no other library than
# Open MPI's core and its PMIx component do, so no networks. A kit of more than KIT_MB (60) is refused.
set -eu
[ $# -eq 2 ] || { sed -n '/^#     bench/s/^# *//p' "$0" >&2; exit 99; }
builddir=$(cd "$1" && pwd) kit=$2
source_of=$(cd "$(dirname "$0")" && pwd)
ompi_info=${OMPI_INFO:-ompi_info}
most_bytes=$((${KIT_MB:-60} * 1000000))

die() { echo "make-kit.sh: $*" >&2; exit 1; }

ompi_version=$("$ompi_info" --version | sed -n 's/^Open MPI v//p')
case $ompi_version in
    4.*) ;;
    *) die "Open MPI '$ompi_version': only series 4 is carried" ;;
esac
ompi_path() { "$ompi_info" --path "$1" --parsable | sed "s/^path:$1://"; }
prefix=$(ompi_path prefix)
pkglibdir=$(ompi_path pkglibdir)
pkgdatadir=$(ompi_path pkgdatadir)
bindir=$(ompi_path bindir)
# Open MPI finds these below OPAL_PREFIX only if they are below its own prefix
for folder in "$pkglibdir" "$pkgdatadir" "$bindir"; do
    [[ $folder == "$prefix"/* ]] || die "$folder is not below Open MPI's prefix $prefix"
done

programs="$builddir/gpuring_gpu $builddir/gpuring_bench $builddir/tests/unit/gpu/kernel_test"
for file in $programs "$builddir/kernels.fatbin" "$builddir/component/mca_coll_gpuring.so"; do
    [ -s "$file" ] || die "no $file: it takes the CUDA toolkit, cmocka, and make"
done

# A kit of an earlier call is replaced, nothing else.
if [ -e "$kit" ] && [ ! -e "$kit/MANIFEST.txt" ] && [ -n "$(ls -A "$kit")" ]; then
    die "$kit is not empty, and is no kit"
fi
rm -rf "$kit"
mkdir -p "$kit/bin" "$kit/lib" "$kit/ompi${bindir#"$prefix"}" "$kit/ompi${pkglibdir#"$prefix"}" \
    "$kit/ompi${pkgdatadir#"$prefix"}" "$kit/pmix/lib"
kit=$(cd "$kit" && pwd)

# ---- what is carried ----

# The libraries that files need, as lines NAME PATH; not the vDSO, the loader and libc, which belong to the machine.
libraries() { # FILE...
    # shellcheck disable=SC2016 # awk's fields
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
        grep -vE '^(libc|libm|libdl|librt|libpthread|libresolv|libutil|ld-linux[^ ]*)\.so\.'
}

for file in $programs; do
    install -m 755 "$file" "$kit/bin/"
done
# what the chip allows, for part 4; it brings its CUDA runtime
[ ! -x "$builddir/one_kernel" ] || install -m 755 "$builddir/one_kernel" "$kit/bin/"
for name in mpirun orted; do
    install -m 755 "$(readlink -f "$bindir/$name")" "$kit/ompi${bindir#"$prefix"}/$name"
done
install -m 644 "$builddir/kernels.fatbin" "$kit/"
install -m 755 "$source_of/first-contact.sh" "$kit/"

# Open MPI's components that need nothing beyond these libraries
# shellcheck disable=SC2086 # words
libraries $programs "$bindir/orted" "$builddir/component/mca_coll_gpuring.so" "$pkglibdir"/mca_pmix_ext*.so \
    >"$kit/lib/list"
# Lines COMPONENT or COMPONENT NAME PATH, one for each library that it needs besides those. Open MPI's own libraries
# beside its core are carried where a component needs them; a component that needs others is left out.
# shellcheck disable=SC2016 # awk's fields
ldd "$pkglibdir"/mca_*.so 2>/dev/null | awk 'NR == FNR { have[$1]; next }
    /^[^ \t].*:$/ { component = substr($0, 1, length($0) - 1); print component; next }
    $2 == "=>" && $1 !~ /^(libc|libm|libdl|librt|libpthread|libresolv|libutil)\.so\./ && !($1 in have) {
        print component, $1, $3
    }' "$kit/lib/list" - >"$kit/lib/needs"
left_out=$(awk 'NF > 1 && $2 !~ /^libmca_common_/ { print $1 }' "$kit/lib/needs" | sort -u)
awk '{ print $1 }' "$kit/lib/needs" | sort -u | grep -vxF "${left_out:-no component}" |
    xargs install -m 644 -t "$kit/ompi${pkglibdir#"$prefix"}"
awk 'NF > 1 { print }' "$kit/lib/needs" | grep -vF "${left_out:-no component}" | cut -d ' ' -f 2- >>"$kit/lib/list" || true
rm "$kit/lib/needs"
install -m 755 "$builddir/component/mca_coll_gpuring.so" "$kit/ompi${pkglibdir#"$prefix"}/"
cp -r "$pkgdatadir/." "$kit/ompi${pkgdatadir#"$prefix"}/"
install -m 644 "$builddir/component/help-coll-gpuring.txt" "$kit/ompi${pkgdatadir#"$prefix"}/"

sort -u "$kit/lib/list" | while read -r name path; do
    install -m 644 "$(readlink -f "$path")" "$kit/lib/$name"
done
# PMIx: its components and texts are found below PMIX_PREFIX
pmix=$(awk '$1 ~ /^libpmix\.so/ { print $2 }' "$kit/lib/list" | head -n 1)
if [ -n "$pmix" ]; then
    pmix=$(dirname "$(readlink -f "$pmix")")
    [ ! -d "$pmix/pmix" ] || cp -r "$pmix/pmix" "$kit/pmix/lib/"
    [ ! -d "$pmix/../share/pmix" ] || { mkdir -p "$kit/pmix/share" && cp -r "$pmix/../share/pmix" "$kit/pmix/share/"; }
fi
rm "$kit/lib/list"

# libc, for machines whose own is older than what the programs were linked to
mkdir "$kit/libc"
# shellcheck disable=SC2016 # awk's fields
loader=$(ldd "$builddir/gpuring_gpu" | awk '$1 ~ /ld-linux/ { print $1 }')
libc=$(ldd "$builddir/gpuring_gpu" | awk '$1 == "libc.so.6" { print $3 }')
install -m 755 "$(readlink -f "$loader")" "$kit/libc/ld-linux-x86-64.so.2"
for name in c.so.6 m.so.6 dl.so.2 rt.so.1 pthread.so.0 util.so.1 resolv.so.2; do
    install -m 755 "$(readlink -f "$(dirname "$libc")/lib$name")" "$kit/libc/lib$name"
done

# Folders that first-contact.sh gives to Open MPI, and what the machine needs.
glibc=$(find "$kit/bin" "$kit/lib" "$kit/ompi" -type f -exec objdump -T {} + 2>/dev/null |
    grep -o 'GLIBC_2\.[0-9]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
{
    echo "gpuring $(cd "$source_of" && git rev-parse --short HEAD 2>/dev/null || echo "of an archive")"
    echo "made $(date -u '+%Y-%m-%d')"
    echo "kernels $("$source_of/../../tools/kernels_hash.sh")"
    echo "open_mpi $ompi_version"
    echo "bindir ompi${bindir#"$prefix"}"
    echo "glibc $glibc"
    echo "left_out $(xargs -r -n 1 basename -s .so <<<"$left_out" | tr '\n' ' ')"
} >"$kit/MANIFEST.txt"

bytes=$(du -sb "$kit" | cut -f 1)
echo "$kit: $((bytes / 100000 / 10)).$((bytes / 100000 % 10)) MB, needs glibc $glibc"
[ "$bytes" -le $most_bytes ] || { rm -rf "$kit"; die "that is more than $((most_bytes / 1000000)) MB: no kit"; }
