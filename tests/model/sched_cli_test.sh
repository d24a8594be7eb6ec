#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_sched's command line: golden tables, errors that say what is allowed, and every combination.
# Prints TAP. SCHED: path of the program (default: gpuring_sched on the PATH).

. "$(dirname "$0")/../lib.sh"
make_work
SCHED=${SCHED:-gpuring_sched}

# golden TITLE ARGUMENTS...: the output must be the text on stdin.
golden() {
    title=$1
    shift
    cat >"$work/want"
    "$SCHED" "$@" >"$work/got" 2>&1
    status=$?
    diff "$work/want" "$work/got" >"$work/why" || status=1
    tap_result "$status" "$title" "$work/why"
}

# refused WORDS ARGUMENTS...: exit status 2 and one line on stderr that has the words, nothing on stdout.
refused() {
    words=$1
    shift
    "$SCHED" "$@" >"$work/out" 2>"$work/err"
    status=$?
    { echo "exit status $status, wanted: $words"; cat "$work/out" "$work/err"; } >"$work/why"
    [ "$status" -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err"
    tap_result $? "refuses: $*" "$work/why"
}

# The names that the program lists when it is asked for one that it does not have.
names() {
    "$SCHED" "$@" -n 1 2>&1 | sed -n 's/.*allowed: //p'
}

# One run, in all the forms of output: RANKS, then what says how many there are.
runs_one() {
    p=$1
    shift
    for form in "" --ticks --dot "$ordered" "--rank $((p - 1))"; do
        # shellcheck disable=SC2086 # forms are words
        if ! "$SCHED" "$coll" "$algo" "$@" $form >"$work/out" 2>>"$work/why" || [ ! -s "$work/out" ] ||
            grep -Eq 'invalid| $' "$work/out"; then
            echo "$* $form" >>"$work/why"
            bad=1
        fi
    done
}

# One combination. Along a torus: on some that suit all algorithms.
runs() {
    coll=$1
    algo=$2
    : >"$work/why"
    bad=0
    if "$SCHED" "$coll" "$algo" -n 2 2>&1 | grep -q "runs along a torus"; then
        ordered='--channel 3'
        for torus in $(depth "1 4x2 2x8x2" "1 2 4x2 4x4 2x8x2 4x4x4"); do
            runs_one $(($(echo $torus | sed 's/x/*/g'))) --torus $torus
        done
        tap_result "$bad" "$coll $algo runs on tori" "$work/why"
        return
    fi
    ordered='--order reverse'
    if "$SCHED" "$coll" "$algo" -n 2 --order reverse 2>&1 | grep -q "takes ranks by their numbers"; then
        ordered='--channel 1'
    fi
    for p in $(depth "1 2 5 8 33" "1 2 3 4 5 7 8 9 16 33"); do
        [ "$algo" = oneshot ] && [ "$p" -gt 9 ] && continue # it has no more
        runs_one $p -n $p
    done
    tap_result "$bad" "$coll $algo runs for 1 to 33 ranks" "$work/why"
}

golden "ring allreduce of 4 ranks" allreduce ring -n 4 <<'EOF'
ring allreduce, 4 ranks; vector S in 4 blocks, c0 is rank 0's
Below the primitive: chunk, from > . > to; the prime: distributing.

tick  rank 0              rank 1              rank 2              rank 3
   0  send                send                send                send
      c3 .>1              c0 .>2              c1 .>3              c2 .>0
   1  recvReduceSend      recvReduceSend      recvReduceSend      recvReduceSend
      c2 3>.>1            c3 0>.>2            c0 1>.>3            c1 2>.>0
   2  recvReduceSend      recvReduceSend      recvReduceSend      recvReduceSend
      c1 3>.>1            c2 0>.>2            c3 1>.>3            c0 2>.>0
   3  recvReduceCopySend  recvReduceCopySend  recvReduceCopySend  recvReduceCopySend
      c0 3>.>1            c1 0>.>2            c2 1>.>3            c3 2>.>0
   4  recvCopySend        recvCopySend        recvCopySend        recvCopySend
      c3' 3>.>1           c0' 0>.>2           c1' 1>.>3           c2' 2>.>0
   5  recvCopySend        recvCopySend        recvCopySend        recvCopySend
      c2' 3>.>1           c3' 0>.>2           c0' 1>.>3           c1' 2>.>0
   6  recv                recv                recv                recv
      c1' 3>.             c2' 0>.             c3' 1>.             c0' 2>.

steps per rank: 7; messages: 24; ticks: 7
sent per rank: 3/2 S; received per rank: 3/2 S
EOF

golden "one rank, step by step" reduce chain -n 3 -r 1 -c 2 --rank 1 <<'EOF'
chain reduce, 3 ranks, root 1; vector S in 2 chunks

rank 1
  tick  primitive           chunk    from         to           operand dest  phase
     2  recvReduceCopy      c0       0            -            in      out   reducing, result
     3  recvReduceCopy      c1       0            -            in      out   reducing, result

steps per rank: 2; messages: 4; ticks: 4
sent per rank: 0 S to 1 S; received per rank: 0 S to 1 S
EOF

golden "a root in an order of ranks, as a graph" bcast chain -n 3 -r 0 -c 1 --order reverse --dot <<'EOF'
digraph "chain bcast" {
    label="chain bcast, 3 ranks: chunk@tick";
    node [shape=circle];
    0;
    1;
    2;
    0 -> 2 [label="c0'@0"];
    2 -> 1 [label="c0'@1"];
}
EOF

golden "a bucket along a torus, in shorthand" reduce_scatter bucket --torus 2x2 --ticks <<'EOF'
bucket reduce_scatter, 4 ranks; vector S in 4 blocks, c0 is rank 0's
a>c: received from a   +: combined with mine   !: stored   c>b: sent to b   ': distributing

tick  rank 0        rank 1        rank 2        rank 3
   0  c1..c3/2>1    c0..c2/2>0    c1..c3/2>3    c0..c2/2>2
   1  1>+c0..c2/2!  0>+c1..c3/2!  3>+c0..c2/2!  2>+c1..c3/2!
      c2>2          c3>3          c0>0          c1>1
   2  2>+c0!        3>+c1!        0>+c2!        1>+c3!

steps per rank: 4; messages: 8; ticks: 3
sent per rank: 3/4 S; received per rank: 3/4 S
EOF

refused "give a collective and an algorithm"
refused "allowed: allreduce allgather reduce_scatter bcast reduce" gather ring -n 4
refused "allowed: ring chain tree flat" bcast star -n 4
refused "these have: chain tree flat" bcast ring -n 4
refused "-n RANKS is missing" bcast tree
refused "-n: '0' is not valid; allowed: 1 to 1024" bcast tree -n 0
refused "-n: '4x' is not valid; allowed: 1 to 1024" bcast tree -n 4x
refused "there are only ranks 0 to 3" bcast tree -n 4 -r 4
refused "there are only ranks 0 to 3" bcast tree -n 4 --rank 4
refused "-r: '-1' is not valid" bcast tree -n 4 -r -1
refused "-c: '0' is not valid" bcast tree -n 4 -c 0
refused "neither root nor chunks" allreduce ring -n 4 -r 1
refused "neither root nor chunks" allreduce ring -n 4 -c 8
refused "takes ranks by their numbers" allreduce doubling -n 3 --order reverse
refused "each of the ranks 0 to 2 once" bcast tree -n 3 --order 0,1
refused "each of the ranks 0 to 2 once" bcast tree -n 3 --order 0,1,1
refused "each of the ranks 0 to 2 once" bcast tree -n 3 --order 0,1,2,0
refused "oneshot needs all others in one step, which takes 8" allreduce oneshot -n 10
refused "bucket runs along a torus" allreduce bucket -n 4
refused "the torus has 4 places" allreduce bucket -n 5 --torus 2x2
refused "a multiple of 4" alltoall suh-shin --torus 6x4
refused "a multiple of 4" alltoall suh-shin --torus 8x4 --mesh 1
refused "--torus: '2x' is not valid; allowed: 1 to 4 extents" allreduce bucket --torus 2x
refused "--mesh must name dimensions" allreduce bucket --torus 2x2 --mesh 2
refused "--channel: '8' is not valid" allreduce bucket --torus 2x2 --channel 8
refused "along a torus --channel gives other orders" allreduce bucket --torus 2x2 --order reverse
refused "--nodes: give --torus" barrier dissemination -n 4 --nodes
refused "--colour: is not an option" bcast tree -n 3 --colour
refused "needs a value" bcast tree -n

combinations=0
for c in $(names NONE ring); do
    for a in $(names bcast NONE); do
        if ! "$SCHED" "$c" "$a" -n 1 2>&1 | grep -q "has no schedule for"; then
            combinations=$((combinations + 1))
            runs "$c" "$a"
        fi
    done
done
echo "$combinations combinations" >"$work/why"
[ "$combinations" -ge 24 ]
tap_result $? "at least 24 combinations of collective and algorithm" "$work/why"

"$SCHED" -h >"$work/out" 2>"$work/why" && grep -q '^usage: gpuring_sched' "$work/out"
tap_result $? "-h explains the command line" "$work/why"

tap_done
