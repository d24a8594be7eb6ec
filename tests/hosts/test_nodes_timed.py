# SPDX-License-Identifier: BSD-3-Clause
"""coll_gpuring_step_sync between nodes: right results in every mode, among hosts whose clocks differ, with late and stopped
ranks and a slow host; what a rank says beside its messages crosses the network with them."""

import subprocess

from rows import *
from rows.hosts import *
from rows.timed import *

SYNC = "step_sync=$mode report=summary"
APART = ["unshare", "-T", "--monotonic", "3600", "-f", "true"]
apart = subprocess.run(APART, stderr=subprocess.DEVNULL, check=False).returncode == 0


def timed(text, layout, options, **more):
    return nodes(f"2x2: timed, {text}", layout, f"step_sync=timed report=summary {options} -- timed 2x2 1", quick=False, **more)


test_rows = table(
    nodes("$layout: $mode, all forms, late ranks", None, f"{SYNC} -- timed $torus 1", rows="""layout mode torus
2x2 timed   2x2
3+1 barrier 2x2
|
2x1 start   2
2x2 start   2x2
2x2 barrier 2x2
4x2 timed   2x4
4x1 timed   2x2
3+1 timed   4""", also={"$layout: $mode: the report says so": report_fits(20)}),
    # Each process has a clock of its own, off by an hour from the one before; ranks of a host, too.
    nodes("2x2: $mode, clocks differ by hours", "2x2", f"{SYNC} -- timed 2x2 1", mode="| barrier timed",
          wrapper=["bash", "-c", 'exec unshare -T --monotonic $((3600 * (OMPI_COMM_WORLD_RANK + 1))) -f "$@"', "sh"],
          also={"2x2: $mode, clocks differ: the report says so": report_fits(20)})
    if apart else row("clocks that differ", "| 4", "", why="no time namespaces here"),
    timed("over Open MPI's messages", "2x2", "nodes_transport=pml"),
    timed("one host is slow", "'2x2 --rate=h1:20mbit'", ""),
)


def test_stopped(mpi):
    """Ranks that are stopped, one after the other, and go on."""
    if not in_all:
        return
    job = mpi.start(4, f"nodes=1 step_sync=timed report=summary -- timed 2x2 6 {WORK}/stopped {MARK}", **between("2x2"))

    def ranks():
        return [pid for pid in marked() if running(pid, "timed")[:1] == [pid]]

    job.wait_for(60, lambda job: len(ranks()) >= 4)
    stops = stop_in_turn(ranks())
    job.wait().check("2x2: timed, ranks that are stopped and go on", good_through_gpuring)
    job.check("    they were stopped", wants(lambda job: stops == 4, f"{stops} stops of 4"))
