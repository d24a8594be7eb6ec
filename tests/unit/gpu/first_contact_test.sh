#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `make gpu-kit`'s folder (benchmarks/gpu/make-kit.sh) and first-contact.sh in it, on the fake driver: the kit is moved, its
# environment is bare, and Open MPI and its libraries are hidden. What fails is named, and the others still run; time limits
# hold. Prints TAP. Environment: srcdir, builddir, OMPI_INFO; FAKECUDA: the folder of the fake driver.
# shellcheck disable=SC2154,SC2317,SC2329 # work is from lib.sh; the rows are called through ok
srcdir=$(cd "${srcdir:-$(dirname "$0")/../../..}" && pwd) || exit 99
builddir=$(cd "${builddir:-$srcdir/build}" && pwd) || exit 99
fake=${FAKECUDA:-$builddir/tests/fakes/cuda/lib}
. "$srcdir/tests/lib.sh"
[ -e "$fake/libcuda.so.1" ] || tap_skip_all "no CUDA toolkit: no kernels to carry"
[ -x "$builddir/tests/unit/gpu/kernel_test" ] || tap_skip_all "no cmocka: no kernel_test to carry"
make_work

# ---- the kit ----

make_kit() { "$srcdir/benchmarks/gpu/make-kit.sh" "$builddir" "$@"; }
if ! make_kit "$work/kit" >"$work/out" 2>"$work/err" && grep -q 'only series 4' "$work/err"; then
    tap_skip_all "$(cat "$work/err")"
fi
kit="$work/moved" # where it was not made
mv "$work/kit" "$kit"

says_its_size() {
    grep -qE '^/.*/kit: [0-9]+\.[0-9] MB, needs glibc 2\.[0-9]+$' "$work/out" && [ "$(du -sm "$kit" | cut -f 1)" -le 60 ]
}
refuses_a_large_one() {
    ! KIT_MB=5 make_kit "$work/large" >"$work/out" 2>"$work/err" && grep -q 'more than 5 MB: no kit' "$work/err" &&
        [ ! -e "$work/large" ]
}
keeps_other_folders() {
    mkdir -p "$work/mine" && touch "$work/mine/file"
    ! make_kit "$work/mine" >"$work/out" 2>"$work/err" && grep -q 'is not empty, and is no kit' "$work/err" &&
        [ -e "$work/mine/file" ]
}

# ---- running it ----

# Hides what the kit has of its own: Open MPI's folders and the machine's copies of the kit's libraries.
cat >"$work/hidden" <<'END'
#!/bin/bash
# hidden FOLDERS LIBRARIES COMMAND...
for folder in $1; do
    [ ! -d "$folder" ] || mount -t tmpfs none "$folder" || exit 98
done
for library in $2; do
    mount --bind /dev/null "$(readlink -f "$library")" || exit 98
done
exec "${@:3}"
END
chmod +x "$work/hidden"
folders=$(for what in pkglibdir pkgdatadir sysconfdir; do
    "${OMPI_INFO:-ompi_info}" --path "$what" --parsable | sed 's/.*://'
done)
libraries=$(ldconfig -p | awk 'NR == FNR { ours[$1]; next } $1 in ours { print $NF }' <(ls "$kit/lib") -)
hide=()
if unshare -m "$work/hidden" "$folders" "$libraries" true 2>/dev/null; then
    hide=(unshare -m "$work/hidden" "$folders" "$libraries")
fi

# contact STATUS PART [VARIABLES...]: $work/out has what it said, $report the report
contact() {
    local wanted=$1 part=$2 status
    shift 2
    report=$work/result/first-contact-$part/report.txt
    rm -rf "$work/result"
    (cd / && exec timeout 400 "${hide[@]}" env -i PATH=/usr/bin:/bin HOME=/nonexistent TMPDIR="$work" FAKECUDA_SMS=64 \
        LD_LIBRARY_PATH="$fake" "$@" "${contact_kit:-$kit}/first-contact.sh" "$part" "$work/result" --quick) \
        >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" -eq "$wanted" ] || { echo "exit status $status, wanted $wanted"; cat "$report"; false; }
}
was() { # RESULT STEP...: the report's table says so
    local result=$1 step
    shift
    for step in "$@"; do
        grep -qE "^\| $step \| $result \| [0-9]* \|$" "$report" || { echo "$step: not '$result'"; cat "$report"; return 1; }
    done
}
said() { grep -qE -e "$1" "$report" || { echo "no line '$1'"; cat "$report"; return 1; }; } # PATTERN

part_1() {
    contact 0 1 "$@" && was passed machine programs attributes kernels streams ipc costs &&
        said '^0 steps failed' && said '^    \$ KERNEL_IMAGE=kernels.fatbin KERNEL_TEST_THIN=400 kernel_test' &&
        said '^    model  *fakecuda$' && said '^    kernels loaded, blocks that fit *64$' &&
        said '^    # launches [1-9][0-9]*, channels' &&
        said "^    $(date -u +%Y)-.*,.*,$("$srcdir/tools/kernels_hash.sh"),[1-9][0-9]* passed in [1-9][0-9]* launches$" && said '^    launch: put on the stream  *[0-9.]* us$' &&
        said '^    allgather  *ring ' &&
        tar -tzf "$work/result/first-contact-1.tar.gz" | grep -qx first-contact-1/report.txt
}
of_mpi() {
    contact 0 3 "$@" && was passed mpi_shared mpi_kinds && said '^    # allreduce  *cuda ' && said '^ *4096 .* leader  *0$'
}
part_4() { contact 0 4 && was passed shared_2 shared_4 shared_8 && was 'not measured' shared_mps && said '^ *4096 .* leader  *0$'; }
part_2() {
    contact 0 2 && was passed rates slots hops launches && was 'not measured' profile &&
        [ "$(grep -cE "^    (allreduce|allgather|reduce_scatter) +ring +2 +[12] +4096 " "$report")" -eq 6 ] &&
        said '^      per hop, .*: -?[0-9.]* us$'
}

no_image() { # the step that misses it says so, and the others run
    rm -rf "$work/bad" && cp -r "$kit" "$work/bad" && rm "$work/bad/kernels.fatbin"
    contact_kit=$work/bad contact 1 1 && was 'FAILED: exit status 1' kernels && said 'no image of the kernels: ' &&
        was passed programs attributes streams ipc costs && said '^1 step failed'
}
no_component() {
    rm -rf "$work/bad" && cp -r "$kit" "$work/bad" && find "$work/bad" -name mca_coll_gpuring.so -exec rm {} +
    contact_kit=$work/bad contact 2 3 && was 'FAILED: exit status [0-9]*' mpi_shared mpi_kinds
}
wrong_results() {
    contact 2 1 GPURING_BENCH_CORRUPT=1 && was 'FAILED: exit status 1' streams ipc && was passed kernels costs
}
no_driver() {
    contact 6 1 LD_LIBRARY_PATH= && was passed machine programs && was 'FAILED: exit status [0-9]*' attributes kernels costs &&
        said 'needs a CUDA driver'
}
out_of_time() {
    contact 7 1 TOTAL_LIMIT=0 && was 'FAILED: out of time' attributes kernels costs && said '^    no time left for: '
}
interrupted() { # what is known by then comes back
    report=$work/result/first-contact-1/report.txt
    rm -rf "$work/result"
    env LD_LIBRARY_PATH="$fake" TMPDIR="$work" "$kit/first-contact.sh" 1 "$work/result" >"$work/out" 2>"$work/err" </dev/null &
    local pid=$! i
    for ((i = 0; i < 600; i++)); do
        [ ! -s "$work/result/first-contact-1/kernels.txt" ] || break
        sleep 0.1
    done
    kill "$pid"
    wait "$pid"
    was passed programs attributes && said '^\| kernels \| FAILED: interrupted' && said '^Ended by a signal' &&
        [ -s "$work/result/first-contact-1.tar.gz" ]
}

# CUDA's tools, as far as the script goes: each runs what it is given, and says so.
make_tools() {
    mkdir -p "$work/tools"
    # shellcheck disable=SC2016 # their own variables
    printf '#!/bin/bash\nwhile [[ $1 != */bin/* ]]; do shift; done\necho "tool: $0"\nexec "$@"\n' \
        >"$work/tools/compute-sanitizer"
    cp "$work/tools/compute-sanitizer" "$work/tools/nsys"
    # shellcheck disable=SC2016
    printf '#!/bin/bash\n([ "$1" = -d ] && echo "queues: $CUDA_DEVICE_MAX_CONNECTIONS" || cat) >>"$CUDA_MPS_LOG_DIRECTORY/control.log"\n' >"$work/tools/nvidia-cuda-mps-control"
    chmod +x "$work"/tools/*
}
with_tools() {
    make_tools
    contact 0 3 PATH="$work/tools:/usr/bin:/bin" NCCL="$fake/fake_nccl.so" &&
        was passed mpi_shared mpi_kinds with_mps nccl_beside memcheck && said '^    allreduce  *nccl ' &&
        [ "$(grep -c '^    tool: .*/compute-sanitizer$' "$report")" -eq 3 ] &&
        grep -qx quit "$work/result/first-contact-3/control.log" &&
        grep -qx 'queues: ' "$work/result/first-contact-3/control.log" &&
        contact 0 2 PATH="$work/tools:/usr/bin:/bin" && was passed profile && said '^    tool: .*/nsys'
}
refused() { ! "$kit/first-contact.sh" "$@" >"$work/out" 2>"$work/err" && grep -q 'first-contact.sh 1|2|3|4 OUT' "$work/err"; }

ok "a kit says its size" says_its_size
ok "another folder is not replaced" keeps_other_folders
ok "part 1 from end to end" part_1
if [ ${#hide[@]} -gt 0 ]; then
    ok "the kit's mpirun and component, Open MPI hidden" of_mpi
else
    tap_skip "the kit's mpirun and component, Open MPI hidden" "no mount namespace (not root)"
fi
ok "a missing image of the kernels is named, all else runs" no_image
ok "no time left: a report all the same" out_of_time
ok "a part that there is not" refused 5 "$work/result"
ok "no folder" refused 1
ok "a kit that is too large is refused" refuses_a_large_one
ok "part 2 from end to end" part_2
ok "part 4 from end to end" part_4
ok "part 3 with NCCL, MPS and tools" with_tools
ok "with the kit's own libc" part_1 KIT_LIBC=1
ok "with the kit's own libc, under mpirun" of_mpi KIT_LIBC=1
ok "no component" no_component
ok "wrong results are named" wrong_results
ok "no driver" no_driver
ok "interrupted" interrupted
tap_done
