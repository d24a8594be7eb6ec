#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Several hosts (hosts.sh): Open MPI takes them for separate hosts, their interfaces count traffic and can be limited or cut,
# and nothing remains of them however a run ends. And gpuring on communicators that span them, by default.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/lib.sh"

mark=31536000.$$ # seconds that a process sleeps, by which it is found

# A script among hosts, in words of bash; output in $out, status in $rc.
among() { # LAYOUT [OPTIONS...] SCRIPT
    rc=0
    grun_line="hosts.sh run $*"
    timeout -k 5 "${TEST_LIMIT:-300}" "$hosts" run "${@:1:$#-1}" bash -c "${*: -1}" >"$out" 2>&1 || rc=$?
}

# What ranks printed. The launcher may have said something, too: of a race of its own, of names that its next series changes.
says() { diff <(grep '^h[0-9]* ' "$out" | sort) <(printf '%s\n' "$@" | sort) >"$work/diff" || { cat "$work/diff" >>"$out"; false; }; }

# ---- they are hosts ----

among 3+1 "$stock_mpirun -np \$HOSTS_NP sh -c 'echo \$(hostname) \$OMPI_COMM_WORLD_RANK \$OMPI_COMM_WORLD_LOCAL_SIZE'"
tap_check "3+1: ranks lie host by host, and know who is beside them" says 'h0 0 3' 'h0 1 3' 'h0 2 3' 'h1 3 1'
among 2x2 "$stock_mpirun -np \$HOSTS_NP sh -c 'echo \$(hostname) \$OMPI_COMM_WORLD_RANK \$OMPI_COMM_WORLD_LOCAL_SIZE'"
tap_check "2x2, too" says 'h0 0 2' 'h0 1 2' 'h1 2 2' 'h1 3 2'

# ---- gpuring ----

# A communicator of several nodes is left to the other components, where that is asked for.
for layout in 2x1 2x2 3+1; do
    MPIRUN="$hosts run $layout $stock_mpirun"
    grun "$(np_of $layout)" --mca coll_gpuring_nodes 0 -- hello_coll
    tap_check "$layout: collectives of all hosts' ranks are right" all_good
    tap_check "$layout: they fall back, since there are several nodes" seen '^count coll_gpuring_handover_nodes [1-9]'
done
grun 4 --mca op ^avx -- random_programs --count=9999 --seconds=1 --profile=comms
tap_check "3+1: communicators within a host and across are right" all_good

only_in_all
# ---- what they have of their own ----

among 2x1 'for h in $HOSTS; do $HOSTS_SH on $h sh -c "touch /dev/shm/of_$h; ls /dev/shm; ls -d /proc/[0-9]* | wc -l"; done; exit 7'
tap_check "each has shared memory and processes of its own" seen '^of_h1$'
tap_check "    and not the other's" [ "$(grep -c '^of_' "$out")" = 2 ]
tap_check "the command's exit status is the script's" [ $rc = 7 ]
among 2+x 'exit 0'
tap_check "what is no layout is refused" [ $rc = 2 ]
tap_check "    with what a layout is" seen '2\+x is no layout: wanted is 2x3'

# ---- their interfaces ----

# h0 sends 2000000 bytes to h1; prints the seconds that it took, h1 said when it had them all
send='
$HOSTS_SH on h1 python3 -c "
import socket
s = socket.create_server((\"\", 5000)); c = s.accept()[0]; n = 0
while n < 2000000: n += len(c.recv(65536))
c.send(b\"x\")" &
until $HOSTS_SH on h1 grep -q ":1388 00000000:0000 0A" /proc/net/tcp; do sleep 0.05; done
before=($($HOSTS_SH bytes h0) $($HOSTS_SH bytes h1))
$HOSTS_SH on h0 python3 -c "
import socket, time
s = socket.create_connection((\"h1\", 5000)); t = time.time()
s.sendall(bytes(2000000)); s.recv(1)
print(\"took %.3f\" % (time.time() - t))"
after=($($HOSTS_SH bytes h0) $($HOSTS_SH bytes h1))
echo "h0 sent $((after[0] - before[0])), h1 received $((after[3] - before[3])), h1 sent $((after[2] - before[2]))"'

took() { awk -v least="$1" '/^took/ { found = $2 >= least } END { exit !found }' "$out"; } # seconds or more: load adds to them

counted() { # 2000000 bytes and up to 6% of headers; little the other way
    awk -F'[ ,]+' '/^h0 sent/ { found = $3 >= 2e6 && $3 < 2.12e6 && $6 >= 2e6 && $6 < 2.12e6 && $9 < 2e5 } END { exit !found }' "$out"
}

among 2x1 "$send"
tap_check "interfaces count what went through" counted
among 2x1 --rate=16mbit "$send"
tap_check "2 MB at 16 Mbit/s take a second at least" took 0.9
tap_check "    and are counted alike" counted
among 2x1 --rate=h1:16mbit "$send"
tap_check "one slow host, which receives: the same" took 0.9
among 2x1 '$HOSTS_SH limit h0 16mbit; '"$send"
tap_check "one that sends, limited later: the same" took 0.9
HOSTS_BURST=4kb among 2x1 --rate=16mbit '$HOSTS_SH on h1 tc qdisc show dev eth0'
tap_check "what is sent at once after a rest is as asked for" seen ' tbf .*rate 16Mbit burst 4Kb '

# a user-space switch in the place of the bridge, where the kernel lets there be its interfaces
export HOSTS_RELAY=${BENCH%/*}/gpuring_relay
if [ -c /dev/net/tun ]; then
    among 2x1 --delay=60 "$send"
    tap_check "each way takes 60 ms longer: acknowledged in 120 ms at least" took 0.12
    among 2x1 --delay=1 --rate=16mbit "$send"
    tap_check "delayed, 2 MB at 16 Mbit/s take a second at least" took 0.9
    among 2x2 --delay=1 "$stock_mpirun -np \$HOSTS_NP sh -c 'echo \$(hostname) \$OMPI_COMM_WORLD_RANK'"
    tap_check "delayed, they are hosts as others" says 'h0 0' 'h0 1' 'h1 2' 'h1 3'
else
    tap_skip "delay" "there is no /dev/net/tun"
fi
HOSTS_RELAY=/nonexistent among 2x1 --delay=1 true
tap_check "without that switch there is no run" [ $rc = 2 ]
among 2x1 --delay=1 --rate=h1:16mbit true
tap_check "delayed hosts have one rate" [ $rc = 2 ]
knock='timeout 2 $HOSTS_SH on h1 bash -c ": </dev/tcp/h0/9" 2>&1 | grep -q refused'
among 2x1 "until $knock; do :; done; \$HOSTS_SH link h0 down; $knock || echo cut; \$HOSTS_SH link h0 up
    until $knock; do :; done; echo there"
tap_check "a cut host does not answer; connected again it does" says cut there

# ---- nothing is left ----

# What a run would leave on the machine, if it left anything; other jobs have files of their own there.
left() {
    ip -brief link | grep -E '^(gr0|veth-h[0-9]+)\b'
    ls -d /dev/shm/hosts "/dev/shm/$mark" 2>/dev/null
    grep -F 10.77.0. /etc/hosts
}
nothing_left() { left >"$out"; [ ! -s "$out" ]; }

none_runs() { [ -z "$(jobs -r)" ]; }

for signal in none TERM INT HUP KILL; do
    set -m # for INT, which a job of a script that has no job control ignores
    # whoever runs this may have it ignore signals, and bash does not trap what it was told to ignore
    env --default-signal "$hosts" run 2x1 bash -c "for h in \$HOSTS; do \$HOSTS_SH on \$h sh -c 'touch /dev/shm/$mark; sleep $mark' & done
        [ $signal != none ] || { until [ -e $work/seen ]; do sleep 0.1; done; exit; }; wait" >"$out" 2>&1 &
    job=$!
    set +m
    wait_for 60 marked_is 4 # two shells, two that sleep
    if [ $signal = none ]; then touch "$work/seen"; else kill -$signal $job; fi
    wait_for 60 none_runs || kill_all $job
    rc=0
    wait $job 2>/dev/null || rc=$?
    job=
    tap_check "signal $signal: the processes end" wait_for 60 marked_is 0
    tap_check "signal $signal: nothing else is left" nothing_left
    tap_check "signal $signal: the status says so" [ $rc = "$(case $signal in none) echo 0 ;; INT) echo 130 ;; KILL) echo 137 ;; *) echo 143 ;; esac)" ]
done

tap_done
