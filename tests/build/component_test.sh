#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The built component as a file: its symbols, its flags, its installation, and that it refuses a libmpi that it
# was not built for. Environment: builddir, srcdir, GR_DIR, MPIRUN, OMPI_SERIES (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
# is TEXT GOT EXPECTED
is() {
    printf 'got: %s\nexpected: %s\n' "$2" "$3" >"$work/why"
    [ "$2" = "$3" ]
    tap_result $? "$1" "$work/why"
}

so=$GR_DIR/mca_coll_gpuring.so

is "exports the component and nothing else" \
    "$(nm -D --defined-only "$so" | awk '{ print $3 }' | sort | xargs)" "mca_coll_gpuring_component"
is "stays in memory when closed (-z nodelete)" "$(readelf -d "$so" | grep -c NODELETE)" 1
is "needs no executable stack" "$(readelf -lW "$so" | awk '/GNU_STACK/ { print $7 }')" "RW"

make -C "$builddir" install DESTDIR="$work/root" >"$work/install.log" 2>&1
is "make install puts one component and its help text" \
    "$(find "$work/root" -name 'mca_coll_gpuring.so' -o -name 'help-coll-gpuring.txt' | wc -l)" 2
is "make install puts the man pages" \
    "$(find "$work/root" -path '*/man/man1/*.1' -o -path '*/man/man7/gpuring.7' | wc -l)" "$(in_make print-man-pages | wc -w)"
is "make install puts the benchmarks" "$(find "$work/root" -name 'gpuring_bench' -o -name gpuring_sched | wc -l)" 2
is "make install puts gpuring_ab, which runs where it is" \
    "$("$(find "$work/root" -path '*/bin/gpuring_ab')" -h | head -n 1 | cut -c1-17)" "usage: gpuring_ab"
make -C "$builddir" uninstall DESTDIR="$work/root" >>"$work/install.log" 2>&1
is "make uninstall leaves nothing" "$(find "$work/root" ! -type d | wc -l)" 0

flags=$(in_make print-component-flags)

# compat/shim has headers of threads that Open MPI 5.0 does not install: the mutex of our types must be libopen-pal's.
libs=$(in_make print-ompi-libs)
# shellcheck disable=SC2086
if eval gcc -std=gnu11 $flags -o "$work/mutex_size" "$srcdir/tests/build/mutex_size.c" $libs 2>"$work/err"; then
    is "opal_mutex_t has the size that Open MPI says" "$("$work/mutex_size" 2>&1)" "the same"
else
    tap_result 1 "opal_mutex_t has the size that Open MPI says" "$work/err"
fi

# The guard: relink the component with abi.c compiled against what a libmpi of another release says.
objects=$(in_make print-component-objects | tr ' ' '\n' | grep -v -- '-abi\.lo$' |
    sed "s|^\(.*\)/\([^/]*\)\.lo$|$builddir/\1/.libs/\2.o|")

# links_against NAME OPTIONS [TYPE [OPTIONS]]: abi.c with these compiler options, into $work/abi; what abi_guard.c is to say
links_against() {
    rm -rf "$work/abi"
    mkdir "$work/abi"
    # shellcheck disable=SC2086
    eval gcc -std=gnu11 -O2 -fPIC -fvisibility=hidden $flags $2 -c "$srcdir/coll_gpuring/mpi/abi.c" \
            -o "$work/abi.o" 2>"$work/err" &&
        eval gcc -std=gnu11 -O2 -fPIC $flags -DGR_OTHER="${3:-ompi_request_t}" ${4:-} -c "$srcdir/tests/build/abi_guard.c" \
            -o "$work/class.o" 2>>"$work/err" &&
        gcc -shared -o "$work/abi/mca_coll_gpuring.so" "$work/abi.o" "$work/class.o" $objects \
            "$builddir/.libs/libgrengine.a" "$builddir/.libs/libgrcore.a" -lm 2>>"$work/err"
    tap_result $? "component for $1 links" "$work/err"
}

# is_off WHAT WHY [OPTIONS]: a job with that component
is_off() {
    local out line
    # shellcheck disable=SC2086 # options
    out=$($MPIRUN -x OMPI_MCA_mca_base_component_path="SYSTEM_DEFAULT:$work/abi" -x OMPI_MCA_coll_gpuring_host=1 ${3:-} \
        -x OMPI_MCA_coll_gpuring_report=summary -np 2 "$BENCH" allreduce -m 8:8 -i 1 -x 0 -B 1 -o csv 2>&1 </dev/null)
    is "$1: the job runs without gpuring" "$(grep -c '^allreduce,2,' <<<"$out")$(grep -c '^# allreduce' <<<"$out")" 10
    is "$1: one line" "$(grep -c gpuring: <<<"$out")" 1
    line=$(grep gpuring: <<<"$out")
    is "$1: it says why, and what to do" \
        "$(grep -c "built for Open MPI.*$2.*gpuring is off.*--with-ompi.*gpuring_abi" <<<"$line")" 1
}

for type in mca_coll_base_module_t ompi_coll_base_nbc_request_t opal_convertor_t ompi_op_t ompi_datatype_t; do
    links_against "another $type" "-D${type}_class=gr_other_release_class" $type
    is_off "another $type" "($type: [0-9]* bytes built, [0-9]* loaded)"
done
is_off "another ompi_datatype_t, selected" "(ompi_datatype_t: [0-9]* bytes built, [0-9]* loaded)" "--mca coll gpuring"

# Layouts of the series 5.0, by release and by size, as a component for 5.0.7 meets them.
as_b="-UGR_LAYOUT -DGR_LAYOUT='\"B\"' -UGR_BUILT_FOR -DGR_BUILT_FOR='\"5.0.7\"'"
as_b+=" -Dompi_version_string=gr_other_release_version"
while read -r release type bytes layout of; do
    links_against "$release, $type $bytes" "$as_b -D${type}_class=gr_other_release_class" "$type" \
        "-DGR_OTHER_BYTES=$bytes -DGR_OTHER_VERSION='\"$release\"'"
    is_off "$release, $type $bytes" "(this libmpi has layout $layout, of $of; the component has layout B, of 5.0.7 to 5.0.9)"
done <<'END'
5.0.11 mca_coll_base_module_t 8 C 5.0.10 and later
5.0.9 mca_coll_base_module_t 8 C 5.0.10 and later
5.0.6 ompi_communicator_t -16 A 5.0.0 to 5.0.6
5.0.6 ompi_communicator_t 0 A 5.0.0 to 5.0.6
END
# a component for 5.0.10 beside 5.0.8: as much less in the module also fits layout A, with padding
as_c="-UGR_LAYOUT -DGR_LAYOUT='\"C\"' -UGR_BUILT_FOR -DGR_BUILT_FOR='\"5.0.10\"' -Dompi_version_string=gr_other_release_version"
links_against "5.0.8 and layout C" "$as_c -Dmca_coll_base_module_t_class=gr_other_release_class" mca_coll_base_module_t \
    "-DGR_OTHER_BYTES=-8 -DGR_OTHER_VERSION='\"5.0.8\"'"
is_off "5.0.8 and layout C" "(this libmpi has layout B, of 5.0.7 to 5.0.9; the component has layout C, of 5.0.10 and later)"
links_against "5.0.8, ompi_op_t 8" "$as_b -Dompi_op_t_class=gr_other_release_class" ompi_op_t "-DGR_OTHER_VERSION='\"5.0.8\"'"
is_off "5.0.8, ompi_op_t 8" "(ompi_op_t: [0-9]* bytes built, [0-9]* loaded)"

links_against "another series" -Dompi_version_string=gr_other_release_version
is_off "another series" "(Open MPI v3.9.1)"
tap_done
