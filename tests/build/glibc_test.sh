#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A bundle and a wheel for glibc 2.28, by tools/glibc.sh: nothing in them asks for a later version, and ranks run with them.
# Environment: builddir, srcdir, OMPI_LOADS (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
"$srcdir/tools/glibc.sh" >"$work/options" 2>"$work/err" || tap_skip_all "tools/glibc.sh: $(tail -n 1 "$work/err")"
[ "$OMPI_LOADS" != no ] || tap_skip_all "this Open MPI opens no components"
version=$(in_make print-version)
mapfile -t options <"$work/options"

# configured as this build is, with kernels where it has them
eval "set -- $(cd "$builddir" && ./config.status --config)"
mkdir "$work/build"
if [ -e "$builddir/kernels.fatbin" ]; then
    cp -Rp "$builddir"/kernels "$builddir"/kernels.fatbin "$builddir"/kernels.arch "$work/build/"
    touch "$work/build/kernels.fatbin"
fi
build() {
    cd "$work/build" && "$srcdir/configure" "$@" --without-hwloc CFLAGS=-O2 "${options[@]}" &&
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j2 bundle-parts bundle-programs OMPI_LIBS=
}
(build "$@") >"$work/log" 2>&1
tap_result $? "a build for glibc 2.28" <(tail -n 40 "$work/log")
(cd "$work" && "$srcdir/tools/bundle.sh" --version="$version" --programs="$work/build" "$work/build") >"$work/out" 2>"$work/err"
tap_result $? "... is packed" "$work/err"
bundle=$(tail -n 1 "$work/out")
mkdir "$work/b" && tar -C "$work/b" --strip-components=1 -xzf "$bundle"

# later FOLDER: symbols there of a version after 2.28, or of a C++ library after GCC 8's
later() {
    find "$1" -type f -exec objdump -T {} + 2>/dev/null | grep -oE '(GLIBC_2\.[0-9]+|GLIBCXX_3\.4\.[0-9]+)[) ].*' |
        awk -F'[_.) ]' '/^GLIBC_2/ && $3 > 28 || /^GLIBCXX/ && $4 > 25'
}
needs() { find "$1" -type f -exec objdump -T {} + 2>/dev/null | grep -c 'GLIBC_2\.'; }
ok "its files ask for glibc's symbols" [ "$(needs "$work/b")" -gt 100 ]
later "$work/b" >"$work/out"
ok "for none after 2.28" [ ! -s "$work/out" ]
mkdir "$work/system" && echo 'int main(void) { return 0; }' >"$work/main.c" && gcc -o "$work/system/main" "$work/main.c"
if [ "$(getconf GNU_LIBC_VERSION | cut -d. -f2)" -ge 34 ]; then
    ok "a program of this machine's does" [ -n "$(later "$work/system")" ]
fi
# names that the library does not have would be found in none of its versions
unknown() {
    nm -D --undefined-only "$work"/b/lib/gpuring/gpuring-variants/*/mca_coll_gpuring.so |
        awk '$2 !~ /@/ && $2 !~ /^(ompi|opal|mca|orte|_ITM|__gmon|__tls_get_addr)/ { print $2 }'
}
unknown >"$work/out"
ok "all other names are Open MPI's" [ ! -s "$work/out" ]
wheel=$("$srcdir/packaging/python/wheel.py" "$bundle" "$work" 2>"$work/why")
ok "the wheel is manylinux_2_28" eval '[[ $wheel = *-manylinux_2_28_*.whl ]]'
job() {
    $(in_make print-mpirun) --oversubscribe --mca mpi_yield_when_idle 1 -np 2 \
        /usr/bin/env OMPI_MCA_mca_base_component_path="SYSTEM_DEFAULT:$work/b/lib/gpuring" OMPI_MCA_coll_gpuring_host=1 \
        OMPI_MCA_coll_gpuring_report=summary "$work/b/bin/gpuring_bench" allreduce -m 8:64K -i 2 -x 0 -B 1 -c -o csv \
        >"$work/out" 2>&1
}
ok "ranks run with it" job
ok "... by gpuring" grep -q '^# allreduce  *host' "$work/out"
tap_done
