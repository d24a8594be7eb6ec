#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Several hosts on this machine, and a command among them. Needs root.
#
#     hosts.sh run LAYOUT [--rails=N] [--rate=[HOST:]RATE]... [--delay=MS] COMMAND...
#         LAYOUT: ranks per host, 2x3 (hosts x ranks) or 3+1 (host by host). N: interfaces of a host (1). RATE, of all
#         hosts or of one: what it sends and receives per second at most on each, in tc's words (200mbit), but for
#         $HOSTS_BURST (64kb) that it may send at once after a rest. MS: milliseconds that a packet takes longer; then
#         hosts have one interface, and RATE, one for all, is in mbit or gbit and knows no burst. COMMAND is run where
#         mpirun starts ranks on the hosts: h0 h1 ... in $HOSTS, their ranks altogether in $HOSTS_NP. Its exit status is
#         that of this script.
#     hosts.sh possible                says why not, where it is not
# and within COMMAND, $HOSTS_SH being this script:
#     hosts.sh on HOST COMMAND...
#     hosts.sh bytes HOST [ethR]       what its interface (eth0) has sent and received
#     hosts.sh limit HOST RATE
#     hosts.sh link HOST up|down [ethR]
#
# A host is a process with namespaces of its own for network, host name, processes, shared memory and mounts (/dev/shm),
# joined to a bridge by a veth pair. So what works inside a node only (/proc/PID, /dev/shm, process_vm_readv) finds the
# other hosts' processes as little as it would those of another machine.
#
#          mpirun            h0            h1
#       10.77.0.254      10.77.0.1     10.77.0.2
#            |              eth0          eth0          and eth1 ... at gr1 ..., with 10.78.0 ..., for each further rail
#     -------+---- gr0 ------+-------------+----
#
# All of it, and COMMAND, lies in namespaces of this run, whose first process is this script: when that ends, by
# whatever signal, the kernel ends all processes in them, and with the last one all the rest is gone.
#
# But for one thing: while there are runs, Linux does not group processes by session (sched_autogroup_enabled). It would put
# each host's into a group of its own, and where groups share a core a process that yields hands it to its own group only:
# ranks waited for seconds for others that had no core (Linux 6.18).
set -euo pipefail

self=$(realpath "$0")
state=/dev/shm/hosts # within the run; /dev/shm is its own there

fail() { echo "hosts.sh: $*" >&2; exit 2; }

# ---- inside a run ----

pid_of() { cat "$state/$1/pid" 2>/dev/null || fail "there is no host $1 here"; }

on() {
    local pid
    pid=$(pid_of "$1")
    # --root: the host's may be a folder (tools/debian.sh)
    # not --wdns: util-linux 2.41 looks for that folder before it changes the root
    exec nsenter -t "$pid" --net --uts --ipc --pid --mount --root env -C "$PWD" "${@:2}"
}

# What mpirun takes for ssh: options, host, words of a command for the shell there.
agent() {
    while [ "${1#-}" != "$1" ]; do shift; done
    local host=$1
    shift
    on "$host" sh -c "$*"
}

bytes() {
    (on "$1" cat /proc/self/net/dev) | awk -v name="${2-eth0}:" '$1 == name { print $10, $2 }'
}

# Out of the host and into it, each at its own end of the veth pair.
limit() {
    local tbf="root tbf rate $2 burst ${HOSTS_BURST:-64kb} latency 100ms"
    # shellcheck disable=SC2086
    local r
    for ((r = 0; r < ${HOSTS_RAILS:-1}; r++)); do
        # shellcheck disable=SC2086
        (on "$1" tc qdisc replace dev eth$r $tbf) && tc qdisc replace dev "veth$r-$1" $tbf
    done
}

# The first process of a host; collects those whose parents are gone.
host() {
    hostname "$1"
    mount -t tmpfs -o mode=1777 none /dev/shm
    mount -t sysfs none /sys # which then lists this host's interfaces: UCX looks for them there
    trap 'exit 0' TERM
    while :; do
        sleep 3600 &
        wait
    done
}

start_host() { # NAME
    local pid unshared
    unshare --net --uts --ipc --pid --mount --mount-proc --fork --kill-child bash "$self" host "$1" &
    unshared=$!
    until pid=$(cat "/proc/$unshared/task/$unshared/children") && [ -n "$pid" ] &&
          [ "$(nsenter -t "${pid% }" --uts hostname)" = "$1" ]; do
        kill -0 $unshared 2>/dev/null || fail "cannot make namespaces for a host"
        sleep 0.01
    done
    mkdir "$state/$1"
    echo "${pid% }" >"$state/$1/pid"
}

# A bridge for each rail, and a veth pair for each host.
join_by_bridges() { # HOST...
    local r name
    for ((r = 0; r < HOSTS_RAILS; r++)); do
        ip link add name gr$r type bridge
        for name; do
            ip link add name "veth$r-$name" type veth peer name eth$r netns "$(pid_of "$name")"
            ip link set "veth$r-$name" master gr$r up
        done
    done
}

# A switch in user space that delays all packets, tests/hosts/gpuring_relay.c: where it was built, in $HOSTS_RELAY or build/.
join_by_relay() { # DELAY RATE HOST...
    local relay=${HOSTS_RELAY:-$(dirname "$self")/../../build/gpuring_relay} mbit='' pids='' name word
    case $2 in *gbit) mbit=--mbit=${2%gbit}000 ;; *mbit) mbit=--mbit=${2%mbit} ;; esac
    for name in "${@:3}"; do pids="$pids $(pid_of "$name")"; done
    mkfifo "$state/relay"
    # shellcheck disable=SC2086
    "$relay" --delay="$1"000 $mbit $pids >"$state/relay" &
    read -r word <"$state/relay" || :
    [ "$word" = ready ] || fail "no relay ($relay)"
    for name in "${@:3}"; do (on "$name" ip link set eth0 mtu 9000); done # it copies each packet
    ip link set gr0 mtu 9000
}

add_addresses() { # HOST NUMBER
    local r
    for ((r = 0; r < HOSTS_RAILS; r++)); do
        (on "$1" sh -c "ip link set lo up && ip address add 10.$((77 + r)).0.$(($2 + 1))/24 dev eth$r && ip link set eth$r up")
    done
    echo "10.77.0.$(($2 + 1)) $1" >>"$state/etc_hosts"
}

# How Open MPI finds the hosts, 4 by the names of ORTE and 5 by those of PRRTE; what it keeps in files goes with them. (With
# --oversubscribe PRRTE places all ranks on the first host: tests/rows leaves that away.)
open_mpi() {
    export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$self agent" OMPI_MCA_plm_rsh_no_tree_spawn=1
    export OMPI_MCA_orte_default_hostfile=$state/hostfile OMPI_MCA_orte_tmpdir_base=/dev/shm
    export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
    local r
    for ((r = 1; r < HOSTS_RAILS; r++)); do # messages go over all rails
        OMPI_MCA_btl_tcp_if_include=$OMPI_MCA_btl_tcp_if_include,10.$((77 + r)).0.0/24
    done
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent="$self agent" PRTE_MCA_plm_ssh_no_tree_spawn=1
    export PRTE_MCA_prte_default_hostfile=$state/hostfile PRTE_MCA_prte_tmpdir_base=/dev/shm
    export PRTE_MCA_prte_if_include=10.77.0.0/24
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # the cores are all hosts': each would bind its ranks to the first ones
    export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
}

inside() { # RAILS RATES DELAY RANKS COMMAND...: the run's first process
    local rates=$2 delay=$3 ranks=$4 n=0 k rate name
    export HOSTS_RAILS=$1
    shift 4
    mount -t tmpfs none /dev/shm
    mkdir "$state"
    [ -e /etc/hosts ] || : >/etc/hosts # a minimal Debian has none to mount one on
    hostname front
    printf '127.0.0.1 localhost\n10.77.0.254 front\n' >"$state/etc_hosts"
    ip link set lo up
    HOSTS='' HOSTS_NP=0
    for k in $ranks; do
        name=h$n
        start_host $name
        echo "$name slots=$k" >>"$state/hostfile"
        HOSTS="$HOSTS${HOSTS:+ }$name" HOSTS_NP=$((HOSTS_NP + k)) n=$((n + 1))
    done
    # shellcheck disable=SC2086
    if [ -n "$delay" ]; then
        join_by_relay "$delay" "${rates##* }" $HOSTS
        rates=''
    else
        join_by_bridges $HOSTS
    fi
    for ((k = 0; k < HOSTS_RAILS; k++)); do
        ip address add 10.$((77 + k)).0.254/24 dev gr$k
        ip link set gr$k up
    done
    n=0
    for name in $HOSTS; do
        add_addresses "$name" $n
        n=$((n + 1))
    done
    mount --bind "$state/etc_hosts" /etc/hosts
    for name in $HOSTS; do
        (on "$name" sh -c 'cat >/dev/shm/names && mount --bind /dev/shm/names /etc/hosts && rm /dev/shm/names') <"$state/etc_hosts"
    done
    for rate in $rates; do
        for name in $HOSTS; do
            case $rate in "$name":*) limit "$name" "${rate#*:}" ;; *:*) ;; *) limit "$name" "$rate" ;; esac
        done
    done
    open_mpi
    export HOSTS HOSTS_NP HOSTS_SH=$self
    trap 'exit 143' TERM
    trap 'exit 130' INT
    "$@" <&0 &
    wait $! # and not for $@: a signal would have to wait, too
}

# ---- from outside ----

# "3 1" of 3+1, "2 2" of 2x2
ranks_of() {
    local k
    if [[ $1 =~ ^([1-9][0-9]?)x([1-9][0-9]?)$ ]]; then
        for ((k = 0; k < BASH_REMATCH[1]; k++)); do echo -n "${BASH_REMATCH[2]} "; done
    elif [[ $1 =~ ^[1-9][0-9]?(\+[1-9][0-9]?)*$ ]]; then
        echo "${1//+/ }"
    else
        fail "$1 is no layout: wanted is 2x3 (hosts x ranks) or 3+1 (ranks host by host)"
    fi
}

namespaces=(--net --uts --ipc --pid --mount --mount-proc --fork --kill-child)

possible() {
    local command why
    [ "$(id -u)" = 0 ] || { echo "namespaces need root"; return 1; }
    for command in ip tc unshare nsenter setpriv mount; do
        command -v $command >/dev/null || { echo "there is no command $command"; return 1; }
    done
    why=$(unshare "${namespaces[@]}" sh -c 'ip link add name gr0 type bridge && ip link add name v0 type veth peer name v1 &&
        tc qdisc add dev v0 root tbf rate 1gbit burst 64kb latency 100ms && mount -t tmpfs none /dev/shm' 2>&1) ||
        { echo "namespaces, veth, bridge or tbf are not to be had: ${why//$'\n'/; }"; return 1; }
}

# A process of its own puts it back when the last run is over, however that ended: runs have the lock, shared, while they live.
autogroup=/proc/sys/kernel/sched_autogroup_enabled
ungroup() {
    local lock=/run/gpuring_hosts.lock
    [ -w $autogroup ] || return 0
    exec 8>>$lock && flock -s 8
    [ "$(cat $autogroup)" != 0 ] || return 0
    echo 0 >$autogroup
    (exec 8>&- && (flock -x 9 && echo 1 >$autogroup) 9>>$lock </dev/null >/dev/null 2>&1 &)
}

run() {
    local layout=$1 rails=1 rates='' delay='' ranks why child
    shift
    while [[ ${1-} == --*=* ]]; do
        case $1 in
            --delay=[1-9] | --delay=[1-9][0-9]) delay=${1#*=} ;;
            --rate=*) rates="$rates ${1#*=}" ;;
            --rails=[1-9]) rails=${1#*=} ;;
            *) fail "$1: there are --rate=RATE, --rails=1..9 and --delay=1..99" ;;
        esac
        shift
    done
    [ $# -gt 0 ] || fail "no command"
    [ -z "$delay" ] || { [ "$rails" = 1 ] && [[ $rates != *:* ]]; } || fail "with --delay hosts have one rail and one rate"
    ranks=$(ranks_of "$layout")
    why=$(possible) || fail "$why"
    ungroup
    # Who kills this process kills the run's first one with it
    setpriv --pdeathsig KILL unshare "${namespaces[@]}" bash "$self" inside "$rails" "$rates" "$delay" "$ranks" "$@" <&0 &
    child=$!
    trap 'kill -KILL $child; exit 143' TERM HUP
    trap 'kill -KILL $child; exit 130' INT
    wait $child
}

usage() { sed -n '3,18s/^# \{0,1\}//p' "$self"; }

case ${1-} in
    run) [ $# -ge 3 ] || fail "run LAYOUT COMMAND..."; "$@" ;;
    possible | inside | host | on | agent | bytes | limit) "$@" ;;
    link) on "$2" ip link set "${4-eth0}" "$3" ;;
    -h | --help) usage ;;
    *) usage >&2; exit 2 ;;
esac
