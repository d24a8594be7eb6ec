# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Sourced by t_compare.sh: a build directory, an Open MPI, another MPI and OSU programs below $work that are shell
# scripts, a python without matplotlib, and how to run compare with them.

mkdir -p "$work/fake/bin" "$work/osu/deep/down" "$work/none" "$work/nomatplotlib"
export CALLS=$work/calls # where mpirun writes its arguments
echo "PATH=\"$work/fake/bin:\$PATH\"" >"$work/fake/env.sh"
echo "raise ImportError" >"$work/nomatplotlib/matplotlib.py"

# script FILE: an executable from standard input
script() {
    cat >"$1" && chmod +x "$1"
}

script "$work/fake/bin/ompi_info" <<'EOF'
#!/bin/sh
[ "$1" != --version ] || { echo "Open MPI v9.9.9"; exit; }
for c in pml:ob1 pml:ucx coll:tuned coll:sm ${FAKE_HAN:+coll:han}; do echo "mca:$c:version:mca:2.1.0"; done
EOF
# FAKE_CRASH, FAKE_HANG: a word of its command line, with which it crashes or hangs after a row of bcast.
script "$work/fake/bin/mpirun" <<'EOF'
#!/bin/bash
echo "$*" >>"$CALLS"
all=" $* "
case $all in
    *"han_priority"*verbose*) echo "[vm:1] coll:han:comm_query (0/MPI_COMM_WORLD): too local; disqualifying myself" ;;
    *"sm_priority"*verbose*) echo "[vm:1] coll:base:comm_select: selecting          sm, priority 100, Enabled" ;;
    *verbose*) echo "[vm:1] coll:base:comm_select: selecting       tuned, priority  30, Enabled" ;;
esac
while [[ $1 != /* ]]; do shift; done
exec "$@"
EOF
script "$work/fake/gpuring_bench" <<'EOF'
#!/bin/bash
all=" $(tail -n 1 "$CALLS") "
[[ $all != *verbose* ]] || exit 0
rates=algbw_GBs,busbw_GBs,ideal_GBs,efficiency
echo "collective,ranks,nodes,device,type,op,bytes,avg_us,min_rank_us,max_rank_us,p50_us,p95_us,p99_us,$rates,algorithm,errors"
algorithm=stock us=1.5
if [[ $all =~ coll_gpuring_algorithm\ ([a-z]+) ]]; then algorithm=${BASH_REMATCH[1]}; fi
[ "$algorithm" != tree ] || us=1.0
echo "bcast,2,1,host,float,none,8,$us,1,2,1,2,2,1,1,,,$algorithm,"
if [[ -n ${FAKE_CRASH-} && $all == *$FAKE_CRASH* ]]; then
    echo "[vm:1] *** Process received signal ***" >&2
    exit 139
fi
[[ -z ${FAKE_HANG-} || $all != *$FAKE_HANG* ]] || exec sleep 100
echo "reduce,2,1,host,float,sum,8,1.5,1,2,1,2,2,1,1,,,stock,"
EOF
# another MPI: launcher and gpuring_bench, which is the fastest with a bcast
script "$work/fake/peer" <<'EOF'
#!/bin/bash
echo "peer $*" >>"$CALLS"
shift 2
exec "$(dirname "$0")/gpuring_bench" "$@" | sed '/^bcast/s/,1.5,/,0.5,/'
EOF
script "$work/fake/gpuring_sched" <<'EOF'
#!/bin/sh
printf '%s\n' 'ring  in words (allreduce allgather)' 'chain  in words (bcast)' 'tree  in (other) words (reduce bcast)'
EOF
script "$work/fake/gpuring_floor" <<'EOF'
#!/bin/sh
printf '%s\n' measure,bytes,us,GBs exchange,64,0.2,0.3 direct,65536,6.5536,10
EOF
script "$work/osu/deep/down/osu_allreduce" <<'EOF'
#!/bin/sh
printf '\n# OSU MPI Allreduce Latency Test v7.5\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n'
printf '4                       0.25\n8                       0.50\n'
EOF
script "$work/osu/osu_reduce" <<'EOF'
#!/bin/sh
printf '# OSU MPI Reduce Latency Test v5.9\n'
printf '# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n'
printf '4                       4.25              1.00              8.00        1000\n'
EOF

# fake STATUS ARGS...: a run with these
fake() {
    local wanted=$1
    shift
    rm -f "$work/calls" "$work/raw"
    PYTHONPATH=$work/nomatplotlib run "$wanted" --builddir="$work/fake" --csv="$work/raw" "$@"
}

# calls PATTERN N: so many runs had it on their command line, probes not counted.
calls() {
    local n
    n=$(grep -v verbose "$work/calls" | grep -c -e "$1")
    [ "$n" -eq "$2" ] || { echo "$n calls of $1, wanted $2"; false; }
}
