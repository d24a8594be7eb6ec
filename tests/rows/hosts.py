# SPDX-License-Identifier: BSD-3-Clause
"""Rows between hosts (hosts/hosts.sh). A file that includes this is skipped where there can be none."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from .judge import good_without_gpuring, wants
from .run import WORK
from .table import row

__all__ = ["COUNTED", "HOSTS", "MARK", "STOCK", "bare", "between", "bytes_were", "continue_stopped", "crossed", "cutting",
           "falls_back", "has_ucx", "marked", "marked_is", "no_relay", "nodes", "script", "waits_for_1"]

HOSTS = str(Path(__file__).parent.parent / "hosts/hosts.sh")
# What starts hosts has slots for all ranks. With that option Open MPI 5 places them all on the first one.
STOCK = os.environ["MPIRUN"].replace(" --oversubscribe", "")
MARK = str(100000000 + os.getpid())  # an argument of programs, by which their processes are found
os.environ.pop("OMPI_MCA_pml", None)  # which Open MPI chooses for the network
os.environ["HOSTS_RELAY"] = str(Path(os.environ["BENCH"]).with_name("gpuring_relay"))
no_relay = None if Path("/dev/net/tun").is_char_device() else "there is no /dev/net/tun"  # which delays packets
waits_for_1 = "rank 0 of stalled communicator .*waits for rank 1$"

possible = subprocess.run([HOSTS, "possible"], stdout=subprocess.PIPE, text=True, check=False)
if possible.returncode:
    pytest.skip(possible.stdout.strip(), allow_module_level=True)


def has_ucx():
    """Else the file is skipped."""
    if not Path(os.environ["GR_DIR"], "gpuring_net_ucx.so").exists():
        pytest.skip("gpuring was built without UCX", allow_module_level=True)


def bare():
    """A folder with what a build without UCX consists of."""
    folder = Path(WORK, "bare")
    folder.mkdir(exist_ok=True)
    for name in "mca_coll_gpuring.so", "help-coll-gpuring.txt":
        shutil.copy(Path(os.environ["GR_DIR"], name), folder)
    return folder


def script(name, text):
    """A command for `between`: bash runs this, and gives it mpirun's line."""
    Path(WORK, name).write_text(text)
    return ["bash", f"{WORK}/{name}"]


def cutting(interface="eth0"):
    """A command for `between`: h1's cable is cut when the program says that it loops. A few retries are enough here; by default
    the kernel takes minutes."""
    return script("cut", f"""
for h in $HOSTS; do $HOSTS_SH on $h sh -c 'echo 2 >/proc/sys/net/ipv4/tcp_retries2'; done
"$@" &
until grep -qa looping {WORK}/out; do sleep 0.1; done
$HOSTS_SH link h1 down {interface}
wait""")


# "bytes HOST ethR SENT RECEIVED" of each host's interfaces meanwhile
COUNTED = script("count", """b() { for h in $HOSTS; do for ((r = 0; r < HOSTS_RAILS; r++)); do
    echo bytes $h eth$r $($HOSTS_SH bytes $h eth$r); done; done; }
before=$(b); "$@"; rc=$?; after=$(b)
paste -d ' ' <(echo "$before") <(echo "$after") | awk '{ print $1, $2, $3, $9 - $4, $10 - $5 }'
exit $rc
""")


def crossed(job):
    """[HOST, interface, bytes sent, received] of each interface, by COUNTED."""
    return [[*line.split()[1:3], *map(int, line.split()[3:])] for line in job.lines("^bytes ")]


def bytes_were(hosts, least):
    """Each of so many hosts has sent, and received, so many bytes, and no more than 5% above it."""
    return wants(lambda job: len(crossed(job)) == hosts and all(
        least <= n <= 1.05 * least for line in crossed(job) for n in line[2:]), f"{least} bytes into and out of {hosts} hosts")


def falls_back(why="setup"):
    return good_without_gpuring, f"^count coll_gpuring_handover_{why} [1-9]"


def between(layout, *before):
    """What Runner.start is given for a job between hosts. before: commands that run mpirun's line."""
    return {"launcher": [HOSTS, "run", *layout.split(), *before], "MPIRUN": STOCK}


def nodes(text, layout, line, *judges, **more):
    """A row between hosts, through gpuring; environment variables are given with -x. layout: as row's
    values, or None: a column of `rows` has it."""
    options, dashes, program = f" {line}".partition(" -- ")
    line = f"nodes=1 --mca op ^avx {options if dashes else ''} -- {program if dashes else line}"
    values = {"layout": layout} if layout else {}
    return row(text, "$layout", line, *judges, **between("$layout"), **values, **more)


def marked():
    """Processes with MARK among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if MARK in path.read_bytes().decode(errors="replace").split("\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def continue_stopped():
    for pid in marked():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def marked_is(number):
    return wants(lambda job: len(marked()) == number, f"{number} processes")
