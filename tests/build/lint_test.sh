#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The sources are formatted by .clang-format, and linters find nothing: shellcheck, codespell; with --all cppcheck and
# clang-tidy. Prints TAP. Each in Debian 12's version; a row is skipped where that is not installed.
# Environment: srcdir, builddir.
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd) || exit 99
. "$here/../lib.sh"
srcdir=$(cd "${srcdir:-$here/../..}" && pwd) || exit 99
builddir=$(cd "${builddir:-.}" && pwd) || exit 99
make_work
cd "$srcdir" || exit 99

# files NAME...: sources with such names (patterns of find), none that others wrote
files() {
    local names=() name
    for name in "$@"; do names+=(-o -name "$name"); done
    find coll_gpuring benchmarks packaging tests tools check demo \( -path '*/compat/shim' -o -path tests/fuzz/corpus \) -prune -o \
        -type f \( "${names[@]:1}" \) -print | sort
}
scripts() { grep -lE '^#!.*(bash|sh)$' .ci/run $(files '*.sh' '*.in' check demo gpuring-install); }

# lint TITLE TOOL VERSION COMMAND...: the row of a tool of that version; what it prints is what it found
lint() {
    local title=$1 tool=$2 version=$3
    shift 3
    if ! "$tool" --version 2>/dev/null | grep -qF "$version"; then
        tap_skip "$title" "no $tool $version"
        return
    fi
    "$@" >"$work/found" 2>&1 && [ ! -s "$work/found" ]
    tap_result $? "$title" "$work/found"
}

formatted() { files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs clang-format --dry-run -Werror; }
spelled() { codespell -q 3 -L nin,inout,untils,nown,suh $(files '*') docs/*.md README.md CONTRIBUTING.md NEWS.md; }
shells() { scripts | xargs shellcheck -x -S warning; }
checked() {
    files '*.c' | grep '^coll_gpuring/' | grep -v '^coll_gpuring/\(mpi/\|engine/\|comm/\|exec/\(default_streams\|gpu_order\|op\|run_\|setup\|step_timing\)\)' |
        xargs cppcheck --enable=warning,portability --inline-suppr --std=c11 --quiet --error-exitcode=1 -j2 -I coll_gpuring
}
# with the component's own flags; one line for each finding
tidied() {
    in_make print-component-flags >"$work/flags" || return 1
    eval "flags=($(cat "$work/flags"))"
    files '*.c' | grep '^coll_gpuring/' | grep -v '/ucx' |
        (cd "$builddir" && xargs -P2 -I{} clang-tidy --quiet "$srcdir/{}" -- -std=gnu11 "${flags[@]}" \
            -isystem /usr/local/cuda/include '-DGR_FATBIN=""' -DGR_CUDA_TOOLKIT=13000) 2>"$work/tidy.log" | grep ': error: '
    [ "${PIPESTATUS[3]}" = 0 ]
}

lint "sources are formatted as .clang-format says" clang-format 'version 14.' formatted
lint "codespell finds no word" codespell 2.2 spelled
lint "shellcheck finds nothing" shellcheck 'version: 0.9' shells
if in_all; then
    lint "cppcheck finds nothing" cppcheck 'Cppcheck 2.10' checked
    lint "clang-tidy finds nothing" clang-tidy 'version 14.' tidied
fi
tap_done
