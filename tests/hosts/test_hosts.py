# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts (hosts.sh): Open MPI takes them for separate hosts, their interfaces count traffic and can be limited or cut,
and nothing remains of them however a run ends. And gpuring on communicators that span them, by default."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from rows import *
from rows.hosts import *

RANKS = f"{STOCK} -np $HOSTS_NP sh -c 'echo $(hostname) $OMPI_COMM_WORLD_RANK%s'"
SIZES = RANKS % " $OMPI_COMM_WORLD_LOCAL_SIZE"
# h0 sends 2000000 bytes to h1; prints the seconds that it took, h1 said when it had them all
SEND = r"""
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
echo "h0 sent $((after[0] - before[0])), h1 received $((after[3] - before[3])), h1 sent $((after[2] - before[2]))"
"""
KNOCK = 'timeout 2 $HOSTS_SH on h1 bash -c ": </dev/tcp/h0/9" 2>&1 | grep -q refused'


def says(*lines):
    """Ranks printed these. The launcher may have said something, too: of a race of its own, of names that its next series
    changes."""
    return wants(lambda job: sorted(job.lines("^h[0-9]* ")) == sorted(lines), f"the lines {lines}")


def took(seconds):
    """Or more: load adds to them."""
    return wants(lambda job: any(float(line[5:]) >= seconds for line in job.lines("^took ")), f"{seconds} seconds")


def passed(job):
    """2000000 bytes and up to 6% of headers; little the other way."""
    sent, received, back = [*map(int, re.findall(r"\d{2,}", " ".join(job.lines("^h0 sent")))), 0, 0, 0][:3]
    return 2e6 <= sent < 2.12e6 and 2e6 <= received < 2.12e6 and back < 2e5


def status(rc):
    return wants(lambda job: job.rc == rc, f"exit status {rc}")


def among(layout, script, rows, why=None, **env):
    """Rows of a script among hosts, in words of bash."""
    job = why or Job([HOSTS, "run", *layout.split(), "bash", "-c", script], os.environ | env).wait()
    for text, judge in rows.items():
        skip(text, why) if why else job.check(text, judge)


def test_ranks():
    among("3+1", SIZES, {"3+1: ranks lie host by host, and know who is beside them":
                         says("h0 0 3", "h0 1 3", "h0 2 3", "h1 3 1")})
    among("2x2", SIZES, {"2x2, too": says("h0 0 2", "h0 1 2", "h1 2 2", "h1 3 2")})


# A communicator of several nodes is left to the other components, where that is asked for.
test_rows = table(
    row("$layout: collectives of all hosts' ranks are right", "$layout", "nodes=0 -- hello_coll", all_good,
        layout="2x1 2x2 3+1", also={"$layout: they fall back, since there are several nodes":
                                    "^count coll_gpuring_handover_nodes [1-9]"}, **between("$layout")),
    row("3+1: communicators within a host and across are right", 4,
        "--mca op ^avx -- random_programs --count=9999 --seconds=1 --profile=comms", all_good, **between("3+1")),
)


def test_own():
    """What they have of their own."""
    if not in_all:
        return
    among("2x1", 'for h in $HOSTS; do $HOSTS_SH on $h sh -c "touch /dev/shm/of_$h; ls /dev/shm; ls -d /proc/[0-9]* | wc -l"; '
          "done; exit 7", {
              "each has shared memory and processes of its own": "^of_h1$", "    and not the other's": lines_seen(2, "^of_"),
              "the command's exit status is the script's": status(7)})
    among("2+x", "exit 0", {"what is no layout is refused": status(2),
                            "    with what a layout is": r"2\+x is no layout: wanted is 2x3"})


def test_interfaces():
    if not in_all:
        return
    among("2x1", SEND, {"interfaces count what went through": passed})
    among("2x1 --rate=16mbit", SEND, {"2 MB at 16 Mbit/s take a second at least": took(0.9),
                                      "    and are counted alike": passed})
    among("2x1 --rate=h1:16mbit", SEND, {"one slow host, which receives: the same": took(0.9)})
    among("2x1", f"$HOSTS_SH limit h0 16mbit; {SEND}", {"one that sends, limited later: the same": took(0.9)})
    among("2x1 --rate=16mbit", "$HOSTS_SH on h1 tc qdisc show dev eth0", {
        "what is sent at once after a rest is as asked for": " tbf .*rate 16Mbit burst 4Kb "}, HOSTS_BURST="4kb")
    # a user-space switch in the place of the bridge, where the kernel lets there be its interfaces
    among("2x1 --delay=60", SEND, {"each way takes 60 ms longer: acknowledged in 120 ms at least": took(0.12)}, no_relay)
    among("2x1 --delay=1 --rate=16mbit", SEND, {"delayed, 2 MB at 16 Mbit/s take a second at least": took(0.9)}, no_relay)
    among("2x2 --delay=1", RANKS % "", {"delayed, they are hosts as others": says("h0 0", "h0 1", "h1 2", "h1 3")}, no_relay)
    among("2x1 --delay=1", "true", {"without that switch there is no run": status(2)}, HOSTS_RELAY="/nonexistent")
    among("2x1 --delay=1 --rate=h1:16mbit", "true", {"delayed hosts have one rate": status(2)})
    among("2x1", f"until {KNOCK}; do :; done; $HOSTS_SH link h0 down; {KNOCK} || echo h0 cut; $HOSTS_SH link h0 up\n"
          f"until {KNOCK}; do :; done; echo h0 there", {
              "a cut host does not answer; connected again it does": says("h0 cut", "h0 there")})


def left():
    """What a run would leave on the machine, if it left anything; other jobs have files of their own there."""
    links = subprocess.run(["ip", "-brief", "link"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [*re.findall(r"^(?:gr0|veth\d+-h\d+)\b.*", links, re.M),
            *filter(os.path.exists, ["/dev/shm/hosts", f"/dev/shm/{MARK}"]),
            *re.findall(r".*10\.77\.0\..*", Path("/etc/hosts").read_text())]


@pytest.mark.parametrize("name, rc", [("none", 0), ("TERM", 143), ("INT", 130), ("HUP", 143), ("KILL", -signal.SIGKILL)])
def test_ends(name, rc):
    """Nothing is left."""
    if not in_all:
        return
    ends = Path(WORK, "ends")
    # whoever runs this may have it ignore signals, and bash does not trap what it was told to ignore
    run = subprocess.Popen(["env", "--default-signal", HOSTS, "run", "2x1", "bash", "-c", f"""
for h in $HOSTS; do $HOSTS_SH on $h sh -c 'touch /dev/shm/{MARK}; sleep {MARK}' & done
[ {name} != none ] || {{ until [ -e {ends} ]; do sleep 0.1; done; exit; }}
wait"""], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    within(60, lambda: len(marked()) == 2)
    if name == "none":
        ends.touch()
    else:
        run.send_signal(getattr(signal, f"SIG{name}"))
    if not within(60, lambda: run.poll() is not None):
        kill_tree(run.pid)
    result(f"signal {name}: the processes end", within(60, lambda: not marked()))
    result(f"signal {name}: nothing else is left", not left(), "\n".join(left()))
    result(f"signal {name}: the status says so", run.wait() == rc, f"{run.returncode}")
