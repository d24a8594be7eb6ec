#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the docs show runs, what they link to and name is there, and each message of gpuring is explained.
# Blocks of commands begin with ```sh; docs_pages.py says how those are marked that are not run, or only by ./check --all.
. "$(dirname "$0")/lib.sh"
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
builddir=$(cd "${builddir:-$top/build}" && pwd) || exit 99
pages=$top/tests/mpi/docs_pages.py
NOT_RUN=${NOT_RUN:-16} # blocks that may be marked so: raise it with a reason in the commit
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# none WHAT TEXT: docs_pages.py WHAT finds nothing
none() {
    python3 "$pages" "$1" "$top" >"$work/why" 2>&1 && [ ! -s "$work/why" ]
    tap_result $? "$2" "$work/why"
}

# The distribution's mpi4py is for the distribution's Open MPI.
mpi4py_is_there() { [[ $OMPI_INFO == /usr/* ]] && /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; }

none links "links of pages, and pages that sources name, are there"
none files "files that pages name are there"
none messages "troubleshooting.md has each message"
none marks "commands are in blocks that this test finds"

# A tree as a reader has it: the sources, and what was built in build/. What commands write stays in it.
mkdir "$work/tree" "$work/blocks"
find "$top" -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name '.*' -exec ln -s -t "$work/tree" {} +
ln -s "$builddir" "$work/tree/build"

python3 "$pages" blocks "$top" "$work/blocks" >"$work/list" || exit 99
while read -r n mode where reason; do
    case $mode in
        not-run) continue ;;
        all) in_all || continue ;;
    esac
    if grep -q hosts.sh "$work/blocks/$n.sh" && ! why=$("$top/tests/hosts/hosts.sh" possible); then
        tap_skip "$where" "$why"
    elif grep -q mpi4py "$work/blocks/$n.sh" && ! mpi4py_is_there; then
        tap_skip "$where" "the system's python3 has no mpi4py for this Open MPI"
    elif grep -q fakes/cuda "$work/blocks/$n.sh" && [ ! -e "$builddir/tests/fakes/cuda/lib/libcuda.so.1" ]; then
        tap_skip "$where" "no fake driver (built with the CUDA toolkit's headers)"
    else
        (cd "$work/tree" && timeout -k 5 "$(depth 60 200)" env PATH="/usr/bin:$PATH" bash -eo pipefail "$work/blocks/$n.sh") \
            >"$work/why" 2>&1 </dev/null
        status=$?
        cat "$work/blocks/$n.sh" >>"$work/why"
        tap_result $status "$where" "$work/why"
    fi
done <"$work/list"

grep ' not-run ' "$work/list" | cut -d' ' -f3- | tap_diag
not_run=$(grep -c ' not-run ' "$work/list")
[ "$not_run" -le "$NOT_RUN" ] && [ "$(wc -l <"$work/list")" -ge $((2 * not_run)) ]
tap_result $? "of $(wc -l <"$work/list") blocks $not_run are not run: at most $NOT_RUN, and half"
tap_done
