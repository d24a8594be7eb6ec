#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Failures everywhere: the k-th call of a kind fails (inject.h), in runs of calls.c, each in namespaces of its own.
#
#     faults.sh all RESULTS CONFIG [KIND...]     every k of every kind, or of these; goes on where it was left off
#     faults.sh places RESULTS CONFIG [KIND...]  the same, of each place in the code the first, middle and last call
#     faults.sh sample RESULTS CONFIG N SEED [KIND...]  N of these places, by chance, each on rank 1 or on all
#     faults.sh one CONFIG RANK KIND:K           one of them: what was printed, and how it is judged
#     faults.sh one CONFIG RANK KIND@FUNCTION:N  the N-th (1) that rank 1 makes in that function of the component
#     faults.sh kinds CONFIG                     "KIND CALLS" lines, of the rank with most calls
#     faults.sh table RESULTS                    how many of each kind ended how
# CONFIG: host thread device leader staged nodes pml: calls of all sizes; pml-asks: data leave when their receiver asks for them; groups: small ones and barriers, ten ranks with boards in
# groups; barriers (boards), dissemination (steps), barriers-nodes, barriers-pml: barriers only; life: a few allreduces on
# devices, each of which must end alike on all ranks; life-leader: on one that all share; life-staged: by the host. RANK: of MPI_COMM_WORLD, or all. RESULTS holds lines
#     CONFIG RANK KIND K ENDED PLACE NOTE
# KIND driver: the calls of all the driver's functions, which are kinds of their own, too; it runs only where it is asked for.
# ENDED: right (all the same), error (returned, the rest right), others (errors on several communicators), unreached
# (the call was not made), and, which are defects: silent (a rank with an error and no line of the component), hang, crash, wrong,
# aborted (the job ended early), exit (a bad exit status), left (a process, a segment, or something in /dev/shm), split (life: an error on
# some ranks only of a call).
#
# Environment: builddir, srcdir as for the tests; GPURING_FAULT_RESERVE=1: what base/memory.h does then; FAULT_RANKS="1 all", or turns (1 for odd k, all for
# even ones); FAULT_LIMIT=300 seconds for a run.
here=$(cd "$(dirname "$0")" && pwd)
self=$here/faults.sh
srcdir=${srcdir:-$(cd "$here/../../.." && pwd)}
builddir=${builddir:-$srcdir/build}
: "${PROGDIR:=$builddir/tests/mpi}" "${GR_DIR:=$builddir/component}"
export srcdir builddir PROGDIR GR_DIR FAKECUDA=${FAKECUDA:-$builddir/tests/fakes/cuda/lib}
limit=${FAULT_LIMIT:-300}

# ---- one run ----

# The first process of a run's namespaces: COMMAND..., and what it leaves.
inside() { # LIMIT COMMAND...
    local rc=0 left
    mount -t tmpfs -o mode=1777 none /dev/shm
    timeout -k 2 "$1" "${@:2}" || rc=$?
    for _ in $(seq 600); do # the last ones may still be dying
        left=$(grep -s . /proc/[0-9]*/comm | sed 's,^/proc/\([0-9]*\)/comm:,\1 ,' | awk '$1 != 1 && !/ (grep|sed|awk|bash)$/')
        [ -n "$left" ] || break
        sleep 0.1
    done
    [ -z "$left" ] || echo "LEFT process: $left"
    left=$(find /dev/shm -mindepth 1 ! -name 'fakecuda*' -printf '%f\n') # those the driver leaves
    [ -z "$left" ] || echo "LEFT in /dev/shm: $left"
    left=$(tail -n +2 /proc/sysvipc/shm)
    [ -z "$left" ] || echo "LEFT of shared memory: $left"
    return $rc
}

allocators='gr_[mcre]*alloc' # inline functions of base/memory.h: their callers are meant

# FILE:LINE (FUNCTION) of "called before MODULE+0xOFFSET"
place_of() {
    local module offset
    read -r module offset < <(sed -n 's/^fault: .* called before \(.*\)+\(0x[0-9a-f]*\)$/\1 \2/p' "$out" | head -n 1)
    [ -n "${module:-}" ] || { echo -; return; }
    addr2line -s -f -i -e "$module" "$(printf '0x%x' $((offset - 1)))" | sed 's/ (disc.*//' | paste -d' ' - - | grep -v "^$allocators " |
        head -n 1 | tr ' ' '@'
}

# The ranks that got an error and printed no line of the component's that says why.
speechless() {
    comm -23 <(sed -n 's/^error rank \([0-9]*\): .*/\1/p' "$out" | sort -u) \
        <(grep -aoE 'gpuring: rank [0-9]+ of' "$out" | tr -dc '0-9\n' | sort -u) | paste -sd,
}

# Sets ended and note from the output and rc.
judge() {
    local np=$1 verdicts
    verdicts=$(grep -ac '^verdict rank' "$out")
    note=
    if grep -qaE 'aborting the job' "$out" || [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
        ended=hang
        note=$(grep -aoE 'waits [0-9]+ s in .*' "$out" | sort | uniq -c | sort -rn | head -n 2 | tr -s ' \n' ' ')
    elif grep -qaE '[sS]ignal: |exited on signal|Assertion|double free|corrupted|AddressSan|fakecuda: pid' "$out"; then
        ended=crash
        note=$(grep -aE 'Assertion|double free|corrupted|fakecuda: pid|Signal: |\[ 1\]|\[ 2\]' "$out" | head -n 3 | tr -s ' \n' ' ')
    elif grep -qa '^WRONG' "$out"; then
        ended=wrong
        note=$(grep -a '^WRONG' "$out" | head -n 2 | tr '\n' ' ')
    elif [ "$verdicts" != "$np" ]; then
        ended=aborted
        note=$(grep -aE 'MPI_|failed|gpuring' "$out" | head -n 2 | tr -s ' \n' ' ')
    elif grep -qa '^LEFT' "$out"; then
        ended=left
        note=$(grep -a '^LEFT' "$out" | head -n 2 | tr '\n' ' ')
    elif [ "$rc" != 0 ]; then
        ended=exit note="status $rc"
    elif ! grep -qa '^fault: ' "$out"; then
        ended=unreached
    elif ! grep -qa '^error' "$out"; then
        ended=right
    else
        note=$(grep -a '^error' "$out" | sed 's/rank [0-9]*: //' | sort | uniq -c | sort -rn | head -n 1 | tr -s ' ')
        ended=error
        [ -z "$(speechless)" ] || ended=silent note="rank $(speechless) says nothing; $note"
        # that a communicator fails is no matter to others
        [ "$(grep -a '^error' "$out" | sed -n 's/.* on \(MPI_COMM_WORLD\|the [a-z]* one\): .*/\1/p' | sort -u | wc -l)" -le 1 ] || ended=others
    fi
    case $ended in right | error | others)
        if [ -n "$alike" ] && [ "$(sed -n 's/^outcomes rank [0-9]*: //p' "$out" | sort -u | wc -l)" != 1 ]; then
            ended="split"
            note="$(grep -a '^outcomes' "$out" | tr '\n' ' ') $(grep -a '^gpuring: rank' "$out" | head -n 2 | tr '\n' ' ')"
        fi ;;
    esac
}

# Options of a configuration in options[], its ranks in np, its launcher in MPIRUN.
configure() {
    local patience=60 # more than a loaded machine uses up by itself
    np=3 calls=mixed alike=
    export GPURING_MEMORY=host GR_HOST=1
    case $1 in
        host) options=() ;;
        groups) np=10 calls=small options=() ;;
        barriers) calls=barriers options=() ;;
        dissemination) np=5 calls=barriers options=(--mca coll_gpuring_algorithm_barrier dissemination) ;;
        thread) options=(--mca coll_gpuring_progress_thread 1) ;;
        device | leader | staged | life | life-leader | life-staged)
            export LD_LIBRARY_PATH=$FAKECUDA${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
            export FAKECUDA_SMS=64 FAKECUDA_DEVICES=2 GPURING_MEMORY=device GR_HOST=0
            np=2
            options=(--mca coll_gpuring_device_channels 2 --mca coll_gpuring_device_slot_bytes 16384 --mca op ^avx)
            case $1 in
                *leader) FAKECUDA_DEVICES=1 np=3 ;;
                *staged) options+=(--mca coll_gpuring_device_pool_mib 1 --mca coll_gpuring_stage_bytes 65536) ;;
            esac
            [ "${1%-*}" != life ] || calls=life alike=1
            ;;
        nodes | pml | pml-asks | barriers-nodes | barriers-pml)
            local layout=2+1
            options=(--mca coll_gpuring_nodes 1)
            if [ "${1%-*}" = barriers ]; then # rank 1 is the first one of its host, which speaks for it
                np=4 calls=barriers layout=2x2
                options+=(--map-by node --mca coll_gpuring_measure 0) # how many messages that sends is chance
            fi
            MPIRUN="$srcdir/tests/hosts/hosts.sh run $layout ${MPIRUN/ --oversubscribe/}"
            [ "${1#*-}" = nodes ] || options+=(--mca coll_gpuring_nodes_transport pml)
            [ "$1" != pml-asks ] || options+=(--mca btl_tcp_eager_limit 4096)
            ;;
        *) echo "$1 is no configuration" >&2; exit 2 ;;
    esac
    options+=(--mca coll_gpuring_timeout "${FAULT_TIMEOUT:-$patience}" --mca coll_gpuring_timeout_abort 1)
}

prepare() { # CONFIG
    . "$here/../lib.sh"
    GR_DIR=$work/component
    PROGDIR=$builddir/tests/mpi/faults
    mkdir "$GR_DIR"
    cp "$builddir"/tests/mpi/faults/.libs/{mca_coll_gpuring,gpuring_net_ucx}.so "$GR_DIR"
    cp "$srcdir/coll_gpuring/help-coll-gpuring.txt" "$GR_DIR"
    configure "$1"
    export GPURING_ENTERED=$work/entered
    export TMPDIR=$work # mpirun's own files: in namespaces all have the same process id
    stock_segments_to_work
}

# One run: RANK KIND:K, or "- -". Sets ended, place, note; output in $out.
run() {
    export GPURING_FAULT_RANK=$1 GPURING_FAULT=$2
    head -c 4096 /dev/zero >"$GPURING_ENTERED"
    make_line "$np" -x GPURING_FAULT -x GPURING_FAULT_RANK "${exported[@]}" "${options[@]}" -- calls "$calls"
    rc=0
    setpriv --pdeathsig KILL unshare --mount --ipc --pid --fork --mount-proc --kill-child \
        bash "$self" inside "$limit" "${line[@]}" >"$out" 2>&1 </dev/null || rc=$?
    judge "$np"
    place=$(place_of)
}
exported=(-x GPURING_MEMORY -x GPURING_ENTERED ${GPURING_FAULT_RESERVE:+-x GPURING_FAULT_RESERVE} ${GPURING_FAULT_CLOCK:+-x GPURING_FAULT_CLOCK})

# A run without a fault, with a file per rank that VARIABLE names: $work/VARIABLE.RANK
observe() { # VARIABLE
    export "$1=$work/$1"
    exported+=(-x "$1")
    run - -
    unset "$1" "exported[-1]" "exported[-1]"
    [ "$ended" = unreached ] || { echo "without a fault: $ended $note" >&2; cat "$out" >&2; return 1; }
}

# "KIND CALLS", the most that a rank made
kinds() {
    observe GPURING_FAULT_COUNTS || return 1
    cat "$work"/GPURING_FAULT_COUNTS.* | awk '{ if ($2 > n[$1]) n[$1] = $2 } END { for (k in n) print k, n[k] }' | sort
}

# KIND:K of KIND@FUNCTION:N
numbered() {
    local made=$work/made at=${1#*@}
    [[ $at = *:* ]] || at=$at:1
    observe GPURING_FAULT_TRACE || return 1
    grep "^${1%@*} " "$work/GPURING_FAULT_TRACE.1" >"$made"
    cut -d' ' -f3 "$made" | addr2line -a -f -i -e "$GR_DIR/mca_coll_gpuring.so" |
        awk -v inner="^$allocators\$" '/^0x/ { named = 0; next } !named && /^[_a-z]/ && !/[:?]/ && $0 !~ inner { print; named = 1 }' |
        paste -d' ' "$made" - |
        awk -v at="$at" '{ k[$4]++ } $4 ":" k[$4] == at { print $1 ":" $2; found = 1; exit } END { exit !found }'
}

# ---- many runs ----

# "KIND K": every call
every() { kinds | awk '{ for (k = 1; k <= $2; k++) print $1, k }'; }

# The same, of each place where rank 1 makes calls the first, middle and last one.
by_place() {
    observe GPURING_FAULT_TRACE || return 1
    awk '{ at = $1 " " $3; n[at]++; k[at, n[at]] = $2; kind[at] = $1 }
        END { for (at in n) { print kind[at], k[at, 1]
                  if (n[at] > 1) print kind[at], k[at, n[at]]
                  if (n[at] > 2) print kind[at], k[at, int((n[at] + 1) / 2)] } }' "$work/GPURING_FAULT_TRACE.1" |
        sort -k1,1 -k2,2n
}

# Whether a KIND is among those asked for; without any: each but the one that is all of the driver's.
asked() { # KIND [KIND...]
    [ $# = 1 ] && [ "$1" != driver ] || [[ " ${*:2} " = *" $1 "* ]]
}

many() { # every | by_place, RESULTS CONFIG [KIND...]
    local which=$1 results=$2 config=$3 kind k rank ranks
    shift 3
    touch "$results"
    $which >"$work/wanted" || exit 1
    while read -r kind k; do
        asked "$kind" "$@" || continue
        ranks=${FAULT_RANKS:-1 all}
        [ "$ranks" != turns ] || ranks=$([ $((k % 2)) = 1 ] && echo 1 || echo all)
        for rank in $ranks; do
            ! grep -q "^$config $rank $kind $k " "$results" || continue
            run "$rank" "$kind:$k"
            echo "$config $rank $kind $k $ended $place $note" >>"$results"
        done
    done <"$work/wanted"
}

# "KIND K RANK": so many of those by place
drawn() { # N SEED [KIND...]
    by_place | while read -r kind k; do asked "$kind" "${@:3}" && echo "$kind $k"; done | awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed) } { line[NR] = $0 }
        END { for (k = 0; k < n && NR > 0; k++) print line[1 + int(rand() * NR)], int(2 * rand()) ? "1" : "all" }'
}

sample() { # RESULTS CONFIG N SEED [KIND...]
    local kind k rank
    : >"$1"
    drawn "${@:3}" >"$work/wanted"
    while read -r kind k rank; do
        run "$rank" "$kind:$k"
        echo "$2 $rank $kind $k $ended $place $note" >>"$1"
    done <"$work/wanted"
}

table() {
    awk '{ key = $1 " " $3; n[key]++; e[key, $5]++; if (!(key in at)) { at[key] = ++rows; keys[rows] = key } }
        END { m = split("right error others unreached silent hang crash wrong aborted exit left split", ways, " ")
              printf "%-10s %-30s %6s", "config", "kind", "runs"
              for (w = 1; w <= m; w++) printf " %9s", ways[w]
              printf "\n"
              for (r = 1; r <= rows; r++) { split(keys[r], p, " "); printf "%-10s %-30s %6d", p[1], p[2], n[keys[r]]
                  for (w = 1; w <= m; w++) printf " %9s", e[keys[r], ways[w]] ? e[keys[r], ways[w]] : "."
                  printf "\n" } }' "$1"
}

case ${1-} in
    inside) shift; inside "$@" ;;
    all) prepare "$3"; shift; many every "$@" ;;
    places) prepare "$3"; shift; many by_place "$@" ;;
    sample) prepare "$3"; shift; sample "$@" ;;
    one)
        prepare "$2"
        fault=$4
        [ "${fault%@*}" = "$fault" ] || fault=$(numbered "$4") && run "$3" "$fault" || exit 1
        cat "$out"
        echo "$2 $3 $fault $ended $place $note"
        ;;
    kinds) prepare "$2"; kinds ;;
    table) table "$2" ;;
    *) sed -n '3,24s/^# \{0,1\}//p' "$self"; exit 2 ;;
esac
