#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Which folder may include which (docs/architecture.md, "Folders"), and the languages that schedules compile as. Prints TAP.
# Every check is run twice: on the sources, where it must find nothing, and on a copy with a fault planted for
# each row, where it must find that. Environment: srcdir (default: two folders up), CC.
set -u
export LC_ALL=C
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
. "$(dirname "$0")/../lib.sh"
make_work
only=

# ---- what is included where ----

# files of exec/ that know ops and communicators; the others know neither, nor these files: a rule of their own
of_ops='exec/(default_streams|executor|gpu_order|op|run_[a-z]+|setup[a-z_]*|step_timing)\.[ch]'

# folder: what its files may include of the project's own
folders='base: base/
sched: base/ sched/ topo/torus.h
topo: base/ topo/
cuda: base/ cuda/ exec/gpu/args.h exec/gpu/kernels.h exec/gpu/leader_args.h topo/cpus.h
link: base/ link/ cuda/ sched/ topo/
tune: base/ tune/ sched/ topo/
net: base/ net/ link/fifo.h link/lease.h sched/
timing: base/ timing/ link/fifo.h sched/ topo/torus.h
comm: base/ comm/ link/ cuda/ sched/ topo/ tune/ net/
exec: base/ exec/ comm/ link/ cuda/ sched/ topo/ tune/ net/ timing/
engine: base/ engine/ exec/ comm/ link/ cuda/ sched/ topo/ tune/ net/ timing/
mpi: base/ mpi/ engine/ exec/ comm/ link/ cuda/ sched/ topo/ tune/ net/ timing/'
without_ops='exec, without ops: base/ exec/ link/ cuda/ sched/ topo/'

# folder: system headers that it may include, as a pattern; the others of the core: those of C
c_headers='(assert|complex|ctype|errno|fenv|float|inttypes|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|time)\.h'
posix_headers='(dirent|arpa/inet|ifaddrs|net/if|netinet/in|dlfcn|fcntl|poll|pthread|sched|search|semaphore|unistd|sys/[a-z]+|linux/[a-z_]+)\.h'
system='base: %C|%P
sched: %C
topo: %C|(hwloc|dirent|dlfcn|sched|unistd|sys/syscall|linux/mempolicy)\.h
tune: %C|%P
cuda: %C|%P
link: %C|%P
exec: %C|%P
net: %C|%P
timing: %C|%P
comm: %C|%P|link\.h
exec, without ops: %C|%P
engine: %C|%P'

declare -A folder_rules system_rules
while IFS= read -r row; do folder_rules[${row%%: *}]=${row#*: }; done <<<"$folders"$'\n'"$without_ops"
while IFS= read -r row; do system_rules[${row%%: *}]=${row#*: }; done <<<"$system"

# what: header names, as a pattern: the only files that may include them, as a pattern
foreign='Open MPI: (mpi|mpi-ext|ompi_config|opal_config)\.h|(ompi|opal|orte|oshmem|prte|pmix)[/_.].*: coll_gpuring/(mpi|compat)/.*
CUDA: (cuda|nvrtc|nvml|nvtx|cooperative_groups|device_launch|curand).*: (coll_gpuring/(cuda/[^/]*\.[ch]|exec/gpu/kernels/[^/]*\.cuh?)|tests/unit/gpu/.*)
UCX: (ucp|uct|ucs|ucm)/.*: (coll_gpuring|tests/unit)/net/ucx[^/]*\.[ch]'

# Lines "file name resolved" for each include below the given folders of the tree; resolved: the file in the tree,
# "-" where there is none. Files are relative to the tree.
includes() {
    (cd "$1" && shift && grep -rE --include='*.[ch]' --include='*.cu' --include='*.cuh' \
        '^[[:space:]]*#[[:space:]]*include' "$@" | python3 -c '
import os, re, sys
for line in sys.stdin:
    file, text = line.split(":", 1)
    name = re.sub(r"[\"<>]", "", text.split("include", 1)[1]).split()[0]
    at = [os.path.normpath(os.path.join(d, name)) for d in (os.path.dirname(file), "coll_gpuring")]
    print(file, name, next((a for a in at if os.path.isfile(a)), "-"))')
}

# The folder of the component that a file lies in.
folder_of() {
    folder=${1#coll_gpuring/}
    if [[ $folder = exec/* && ! $folder =~ ^$of_ops$ ]]; then folder='exec, without ops'; fi
    folder=${folder%%/*}
}

# The checks take a tree and print what is wrong in it.

own_folders() {
    includes "$1" coll_gpuring | while read -r file name found; do
        folder_of "$file"
        allowed=${folder_rules[$folder]:-}
        if [ "$found" = - ] || [ -z "$allowed" ]; then
            continue
        fi
        good=0
        for a in $allowed; do
            case ${found#coll_gpuring/} in "$a" | "$a"*) good=1 ;; esac
        done
        if [ "$folder" = 'exec, without ops' ] && [[ ${found#coll_gpuring/} =~ ^$of_ops$ ]]; then good=0; fi
        [ $good = 1 ] || echo "$file includes $name: $folder/ may know $allowed only"
    done
}

system_headers() {
    includes "$1" coll_gpuring | while read -r file name found; do
        folder_of "$file"
        allowed=${system_rules[$folder]:-}
        allowed=${allowed//%C/$c_headers}
        allowed=${allowed//%P/$posix_headers}
        if [ "$found" != - ] || [ -z "$allowed" ] || [[ $name =~ ^($allowed)$ ]]; then
            continue
        fi
        # foreign_headers says where these may be
        [[ $folder/$name =~ ^((cuda|exec[^/]*)/cuda.*\.h|net/uc[a-z]/.*)$ ]] || echo "$file includes $name"
    done
}

foreign_headers() {
    includes "$1" coll_gpuring tests/unit tests/model >"$work/includes"
    while IFS= read -r row; do
        what=${row%%: *}
        row=${row#*: }
        while read -r file name found; do
            if [ "$found" = - ] && [[ $name =~ ^(${row%%: *})$ ]] && ! [[ $file =~ ^(${row#*: })$ ]]; then
                echo "$file includes $name of $what"
            fi
        done <"$work/includes"
    done <<<"$foreign"
}

computed_includes() {
    includes "$1" coll_gpuring | grep -v ' [A-Za-z0-9_./+-]*\.[ch]u\?h\? ' |
        grep -v '^coll_gpuring/mpi/ompi.h GR_COMPAT_HEADER -$'
}

# Names of Open MPI's series; Makefile.am names the files, which is no knowledge of them.
series_names() {
    (cd "$1" && grep -rnE 'MCA_COLL_BASE_VERSION|ompi[0-9]+\.h|OMPI_(MAJOR|MINOR)_VERSION' \
        coll_gpuring m4 configure.ac) |
        grep -vE '^(coll_gpuring/compat/|m4/gr_ompi\.m4:)'
}

# Names of MPI, of Open MPI or of mpi/ (mca_coll_gpuring_...) in the engine's code, comments and texts apart. It has a
# port: comm/runtime.h.
mpi_names() {
    (cd "$1" && python3 - coll_gpuring/{comm,engine,exec}/*.[ch]) <<'EOF'
import re, sys
for name in sys.argv[1:]:
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', "", open(name).read(), flags=re.S)
    for word in sorted(set(re.findall(r"\b(?:ompi|opal|mca|OMPI|OPAL|MPI|MCA|PMPI)_\w+", text))):
        print(f"{name} names {word}")
EOF
}

unknown_folders() {
    (cd "$1" && find coll_gpuring -type f -name '*.[ch]') | while read -r file; do
        folder_of "$file"
        [ "$folder" != compat ] || continue
        if [ -z "${folder_rules[$folder]:-}" ]; then
            echo "$file: no rule for $folder/"
        fi
    done
}

circles() { python3 "$srcdir/tests/build/circles.py" names "$1" 2>&1; }
comments() { python3 "$srcdir/tests/build/comments.py" "$1" 2>&1; }
include_circles() { python3 "$srcdir/tests/build/circles.py" includes "$1" 2>&1; }

# compile TREE COMMAND...: each file of sched/, or only $only; prints the compiler's words.
compile() {
    tree=$1
    shift
    for f in "$tree"/coll_gpuring/sched/${only:-*.c}; do
        "$@" "$f" 2>&1 || echo "$f: exit status $?"
    done
}
as_c11() { compile "$1" "${CC:-cc}" -I"$1/coll_gpuring" -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only; }

# ---- running the checks ----

mkdir "$work/tree" "$work/clean" "$work/planted"
(cd "$srcdir" && cp -R --no-preserve=mode coll_gpuring benchmarks tests m4 configure.ac "$work/tree")
rows=()

# check TITLE FUNCTION FILE TEXT: it finds nothing in the sources, and something in FILE of the copy, where TEXT was added.
check() {
    mkdir -p "$work/tree/${3%/*}"
    printf '%b\n' "$4" >>"$work/tree/$3"
    rows+=("$1|$2|$3")
}

check "schedules know only schedules, and the torus" own_folders coll_gpuring/sched/split.c '#include "../link/fifo.h"'
check "topology knows only topology" own_folders coll_gpuring/topo/cpus.c '#include "sched/step.h"'
check "links know no executor" own_folders coll_gpuring/link/pool.c '#include "exec/plan.h"'
check "executors know schedules and topology, not tuning" own_folders coll_gpuring/exec/plan.h \
    '#  include "../tune/select.h"'
check "tuning knows no executor" own_folders coll_gpuring/tune/select.c '#include "exec/stepper.h"'
check "networks know fifos and no more of links" own_folders coll_gpuring/net/ucx.c \
    '#include "../link/pool.h"'
check "timing knows fifos and schedules, no executor" own_folders coll_gpuring/timing/timer.c \
    '#include "../exec/stepper.h"'
check "executors know neither the engine nor MPI" own_folders coll_gpuring/exec/host.c '#include "../mpi/module.h"'
check "what moves data knows no op" own_folders coll_gpuring/exec/mailbox.c '#include "exec/op.h"'
check "communicators know no executor" own_folders coll_gpuring/comm/watchdog.c '#include "exec/op.h"'
check "schedules use C headers only" system_headers coll_gpuring/sched/ring.c '#include <unistd.h>'
check "executors use C and POSIX headers only" system_headers coll_gpuring/link/pool.c '#include <hwloc.h>'
check "the engine knows no file of mpi/" own_folders coll_gpuring/engine/phases.c '#include "mpi/module.h"'
check "the engine uses C and POSIX headers only" system_headers coll_gpuring/exec/op.h '#include <ompi_config.h>'
check "the engine names nothing of MPI" mpi_names coll_gpuring/engine/phases.c 'int x = OMPI_SUCCESS;'
check "names below mpi/ do not begin with mca_" mpi_names coll_gpuring/comm/process.c 'int mca_coll_gpuring_x;'
check "Open MPI headers are for mpi/" foreign_headers coll_gpuring/exec/plan.c '#include <mpi.h>'
check "Open MPI headers are not for unit tests" foreign_headers tests/unit/planted_test.c \
    '#include "opal/util/output.h"'
check "CUDA headers are for cuda/ and the kernels" foreign_headers coll_gpuring/mpi/planted.c \
    '#include <cuda_runtime.h>'
check "UCX headers are for net/ucx files" foreign_headers coll_gpuring/net/proxy.c '#include <ucp/api/ucp.h>'
check "one include is computed: the series' header" computed_includes coll_gpuring/exec/plan.h \
    '#include GR_PLANTED'
check "series of Open MPI are named in compat/ and m4/gr_ompi.m4 only" series_names coll_gpuring/mpi/module.c \
    '#if MCA_COLL_BASE_VERSION_MAJOR'
check "each folder of the component has its rule" unknown_folders coll_gpuring/planted/x.h '\n'
check "no file needs another that needs it" circles coll_gpuring/sched/split.c \
    'int gr_planted(void);\nint gr_planted(void)\n{\n    gr_plan_build(0, 0, 0);\n    return 0;\n}'
check "no rooms include each other in a circle" include_circles coll_gpuring/comm/comm.h \
    '#include "engine/phases.h"'
check "comments name functions and files that are there" comments coll_gpuring/link/fifo.h \
    '/* as gr_gone() does */'
check "schedules compile as C11" as_c11 coll_gpuring/sched/chain.c \
    'int x(void);\nint x(void)\n{\n    return ({ 1; });\n}'

for row in "${rows[@]}"; do
    IFS='|' read -r title find file <<<"$row"
    if [ ! -e "$work/clean/$find" ]; then
        ($find "$srcdir") >"$work/clean/$find"
        (only=chain.c && $find "$work/tree") >"$work/planted/$find"
    fi
    [ ! -s "$work/clean/$find" ]
    tap_result $? "$title" "$work/clean/$find"
    grep -qF -e "$file" "$work/planted/$find"
    tap_result $? "    and finds one that was planted in $file" "$work/planted/$find"
done
tap_done
