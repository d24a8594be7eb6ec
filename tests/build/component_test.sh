#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The built component as a file: its symbols, its flags, its installation, and that it refuses a libmpi that it
# was not built for. Environment: builddir, srcdir, GR_DIR, MPIRUN, OMPI_SERIES (from make).
set -u
n=0
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ $# -lt 2 ] || sed 's/^/# /' <<<"$2"; }
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got: $2"$'\n'"expected: $3"; fi; }

so=$GR_DIR/mca_coll_gpuring.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is "exports the component and nothing else" \
    "$(nm -D --defined-only "$so" | awk '{ print $3 }' | sort | xargs)" "mca_coll_gpuring_component"
is "stays in memory when closed (-z nodelete)" "$(readelf -d "$so" | grep -c NODELETE)" 1
is "needs no executable stack" "$(readelf -lW "$so" | awk '/GNU_STACK/ { print $7 }')" "RW"

make -C "$builddir" install DESTDIR="$work/root" >"$work/install.log" 2>&1
is "make install puts one component and its help text" \
    "$(find "$work/root" -name 'mca_coll_gpuring.so' -o -name 'help-coll-gpuring.txt' | wc -l)" 2
is "make install puts the benchmarks" "$(find "$work/root" -name 'gpuring_bench' -o -name gpuring_sched | wc -l)" 2
make -C "$builddir" uninstall DESTDIR="$work/root" >>"$work/install.log" 2>&1
is "make uninstall leaves nothing" "$(find "$work/root" -type f | wc -l)" 0

# The guard: relink the component with component.c compiled against another release's class.
flags=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$builddir" print-component-flags)
objects=$(find "$builddir/coll_gpuring/.libs" -name 'mca_coll_gpuring_la-*.o' ! -name '*_component.o')
mkdir "$work/abi"
# shellcheck disable=SC2086
if eval gcc -std=gnu11 -O2 -fPIC -fvisibility=hidden $flags -include "$srcdir/tests/build/abi_guard.h" \
        -c "$srcdir/coll_gpuring/coll_gpuring_component.c" -o "$work/component.o" 2>"$work/err" &&
    eval gcc -std=gnu11 -O2 -fPIC $flags -c "$srcdir/tests/build/abi_guard.c" -o "$work/class.o" 2>>"$work/err" &&
    gcc -shared -o "$work/abi/mca_coll_gpuring.so" "$work/component.o" "$work/class.o" $objects \
        "$builddir/.libs/libgrcore.a" -lm 2>>"$work/err"; then
    ok "component for another release links"
else
    not_ok "component for another release links" "$(cat "$work/err")"
fi
out=$($MPIRUN -x OMPI_MCA_mca_base_component_path="SYSTEM_DEFAULT:$work/abi" -x OMPI_MCA_coll_gpuring_host=1 -np 1 \
    "$BENCH" allreduce -m 8:8 -i 1 -x 0 -B 1 -o csv 2>&1)
is "a mismatching libmpi: the job runs without gpuring" "$(grep -c '^allreduce,1,' <<<"$out")" 1
is "a mismatching libmpi: one line" "$(grep -c gpuring: <<<"$out")" 1
line=$(grep gpuring: <<<"$out")
is "the line says what to do" "$(grep -c 'built for Open MPI.*gpuring is off.*--with-ompi' <<<"$line")" 1
echo "1..$n"
