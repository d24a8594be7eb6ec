#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the docs show runs, what they link to and name is there, and each message of gpuring is explained.
# Blocks of commands begin with ```sh; docs_pages.py says how those are marked that are not run, or only by ./check --all.
# Each check also runs on a copy of the pages with a fault planted, and must find that.
. "$(dirname "$0")/lib.sh"
unset OMPI_MCA_pml # as users have it
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
builddir=$(cd "${builddir:-$top/build}" && pwd) || exit 99
pages=$top/tests/mpi/docs_pages.py
NOT_RUN=${NOT_RUN:-20} # blocks that may be marked so: raise it with a reason in the commit
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# tree DIR: a tree as a reader has it: the sources, and what was built in build/. What commands write stays in it. The slash
# has find follow $top where that is a symbolic link.
tree() {
    mkdir "$1"
    find "$top/" -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name '.*' -exec ln -s -t "$1" {} +
    ln -s "$builddir" "$1/build"
}

# none WHAT TEXT: docs_pages.py WHAT finds nothing
none() {
    python3 "$pages" "$1" "$top" >"$work/why" 2>&1 && [ ! -s "$work/why" ]
    tap_result $? "$2" "$work/why"
}

# found WHAT FILE LINE: it finds the line, put at the end of that page of a copy
found() {
    rm -rf "$work/docs" "$work/planted/docs"
    cp -R "$top/docs" "$work/planted/docs" && chmod -R u+w "$work/planted/docs"
    printf '\n%s\n' "$3" >>"$work/planted/docs/$2"
    python3 "$pages" "$1" "$work/planted" >"$work/why" 2>&1
    grep -q "^docs/$2:" "$work/why"
    tap_result $? "$1: '$3' is found" "$work/why"
}

ln -s "$top" "$work/link"
(top=$work/link && tree "$work/linked")
[ -e "$work/linked/docs/testing.md" ]
tap_result $? "a tree that is reached through a symbolic link has all of it"
tree "$work/planted"
rm "$work/planted/docs"
none links "links of pages, and pages that sources name, are there"
found links using.md '[x](nowhere.md)'
found links using.md '[x](gpu.md#nowhere)'
none files "files that pages name are there"
found files using.md 'see `mpi/nowhere.c`'
none marks "commands are in blocks that this test finds"
found marks using.md '    mpirun -np 2 a.out'
none messages "troubleshooting.md has each message"
cp "$top/docs/troubleshooting.md" "$work/planted/docs/"
sed -i 's/no shared memory left/some shared memory left/; s/one kernel for all ranks/a kernel/' \
    "$work/planted/docs/troubleshooting.md"
python3 "$pages" messages "$work/planted" >"$work/why" 2>&1
grep -q 'lacks "no shared memory left"' "$work/why" && grep -q 'lacks "one kernel for all ranks"' "$work/why"
tap_result $? "messages: a warning that is missing is found, and what a rank waits for" "$work/why"
none folders "architecture.md says which folder may include which, as layering_test.sh does"
cp "$top/docs/architecture.md" "$work/planted/docs/"
sed -i 's/^| `net\/` .*/| `net\/` | links | `exec\/` |/' "$work/planted/docs/architecture.md"
python3 "$pages" folders "$work/planted" >"$work/why" 2>&1
grep -q 'architecture.md: net/ may include' "$work/why"
tap_result $? "folders: a row that is wrong is found" "$work/why"

# ---- the commands ----

# The distribution's mpi4py is for the distribution's Open MPI.
mpi4py_is_there() { [[ $OMPI_INFO == /usr/* ]] && /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; }

# run_block FILE: as a reader would
run_block() {
    (cd "$work/tree" &&
        timeout -k 5 200 env PATH="/usr/bin:$PATH" bash -eo pipefail "$1") >"$work/why" 2>&1 </dev/null
}

tree "$work/tree"
mkdir "$work/blocks"
printf '. build/env.sh\nmpirun -np 2 gpuring_bench nothing | cat\ntrue\n' >"$work/blocks/wrong.sh"
! run_block "$work/blocks/wrong.sh"
tap_result $? "a block that fails in its middle is found" "$work/why"

python3 "$pages" blocks "$top" "$work/blocks" >"$work/list" || exit 99
while read -r n mode where reason; do
    block=$work/blocks/$n.sh
    case $mode in
        not-run) continue ;;
        all) in_all || continue ;;
    esac
    if grep -q hosts.sh "$block" && ! why=$("$top/tests/hosts/hosts.sh" possible); then
        tap_skip "$where" "$why"
    elif grep -q mpi4py "$block" && ! mpi4py_is_there; then
        tap_skip "$where" "the system's python3 has no mpi4py for this Open MPI"
    elif grep -q fakes/cuda "$block" && [ ! -e "$builddir/tests/fakes/cuda/lib/libcuda.so.1" ]; then
        tap_skip "$where" "no fake driver (built with the CUDA toolkit's headers)"
    else
        run_block "$block"
        status=$?
        cat "$block" >>"$work/why"
        tap_result $status "$where" "$work/why"
    fi
done <"$work/list"

grep ' not-run ' "$work/list" | cut -d' ' -f3- | tap_diag
not_run=$(grep -c ' not-run ' "$work/list")
[ "$not_run" -le "$NOT_RUN" ] && [ "$(wc -l <"$work/list")" -ge $((2 * not_run)) ]
tap_result $? "of $(wc -l <"$work/list") blocks $not_run are not run: at most $NOT_RUN, and half"
tap_done
