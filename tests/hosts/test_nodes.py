# SPDX-License-Identifier: BSD-3-Clause
"""gpuring between nodes, over UCX: right results on communicators that span several hosts (hosts.sh). A failing link gives
one line that names the rank and the host, and nothing is left behind."""

import pytest

from rows import *
from rows.hosts import *

has_ucx()
NONE_FALLS_BACK = good_through_gpuring, "!^count coll_gpuring_handover_[a-z]+ [1-9]"
BARRIERS = good_through_gpuring, "^count coll_gpuring_algorithm_dissemination [1-9]"
GIVES_UP = good_through_gpuring, "between nodes: built in", "!between nodes: measured"
LAYOUTS = "2x2 | 2x1 4x1 4x2 3+1"
NO_TRANSPORT = "-x UCX_TLS=posix,self -x UCX_LOG_LEVEL=fatal"
NO_LINK = "gpuring: .*rank 0 %son h0, gets no link.*%s"


def latency_is(us, algorithm):
    """Of TCP, and of an allreduce of 400 bytes."""
    return (good_through_gpuring, rf"between nodes: measured: latency [0-9.]+ us by the round trip of TCP \(used: {us}\)",
            f"allreduce on MPI_COMM_WORLD, .* 400 bytes on 4 nodes of 1: {algorithm},")


def moves(text, layout, mib, options, **more):
    """Each host sends and receives so many MiB in each of 10 Allreduces of 4 MiB (-c makes two more)."""
    return row(f"{layout}{text}", "$layout", f"nodes=1 measure=0 {options} -- "
               "gpuring_bench allreduce -m 4M:4M -i 8 -x 0 -c -B 1 -I 1", ended, bytes_were(int(layout[0]), 10 * mib << 20),
               quick=False, layout=layout, **between("$layout", *COUNTED), **more)


LATE = "    packets are 5 ms late: so is it, and the choice follows"
test_rows = table(
    # ---- right, in all forms ----
    nodes(f"$layout: blocking, {depth('any case', 'all types and operations, 4 MiB, any case')}", LAYOUTS,
          depth(ANY_CASE, EVERY_CASE)),
    nodes("$layout: $form, each of the eight", LAYOUTS, "eight_in $form --no-comms", all_taken, form="nonblocking persistent"),
    nodes("$layout: barriers hold all back", "2x2 | 2x1 3x1 3x2 4x2", f"barrier $work/flags {depth(1, 3)}", *BARRIERS),
    nodes("3+1: barriers, each rank for itself", "3+1", "barrier $work/flags 1", *BARRIERS),
    # with this seed requests of calls between nodes serve cached calls inside one, and the other way around
    nodes("3+1: requests that serve calls between nodes and inside one", "3+1",
          "-x GPURING_SEED=121349 -- barrier $work/flags 1", *BARRIERS),
    nodes("3+1: gpuring does all of the eight, and no call falls back", "3+1", "hello_coll", *NONE_FALLS_BACK),
    row("2x1: gpuring is on by default", 2, "hello_coll", *NONE_FALLS_BACK, **between("2x1")),
    row("2x1: and leaves it to others with 0", 2, "nodes=0 -- hello_coll", *falls_back("nodes"), **between("2x1")),
    nodes("3+1: communicators within a host and across", "3+1", "eight_in comms"),
    # ---- what the network is like ----
    nodes("2x1 of 200 kbit/s: measuring takes too long: built-in values", "'2x1 --rate=200kbit'",
          "HOSTS_BURST=4kb verbose=1 -- hello_coll", *GIVES_UP),
    nodes("2x1: parameters that say all: nothing is measured", "2x1",
          "verbose=1 nodes_mbit=1000 nodes_latency=30 -- hello_coll", good_through_gpuring,
          "between nodes: by parameters: latency 30 us, 1000 Mbit/s$", "!between nodes: .*(measured|built in)"),
    nodes("2x1: nor where that is not wanted", "2x1", "verbose=1 measure=0 -- hello_coll", *GIVES_UP),
    # Ranks share cores, so messages wait for one; kernels acknowledge those of TCP meanwhile.
    nodes("4x1: ranks share cores: the latency is that of TCP, if not less than built in", "4x1", "verbose=2 -- hello_coll",
          *latency_is(20, "two-level")),
    nodes(LATE, "'4x1 --delay=5'", "verbose=2 -- hello_coll", *latency_is(5120, "oneshot"), why=no_relay),
    # ---- links of every algorithm, with messages of several slots ----
    nodes("$layout: $a, two channels of small slots", None,
          f"algorithm=$a nodes_channels=2 slots=2 slot_bytes=512 -- {ANY_CASE}", quick=False, rows="""layout a
3+1 tree
3+1 flat
3+1 doubling
3+1 pat
2x2 bucket
3x2 two-level
3x2 node-tree
3x2 doubling"""),
    nodes("$layout, placed in turns: blocking, any case", "| 2x2 3x2", f"--map-by node -- {ANY_CASE}"),
    nodes("2x2: one host is slow", "'2x2 --rate=h1:20mbit'", ANY_CASE, quick=False),
    nodes("2x2: $form, with a thread", "2x2", "progress_thread=1 -- eight_in $form --no-comms", all_taken,
          form="| nonblocking persistent"),
    nodes("2x1: what a nonblocking call says at once has left when it returns", "| 2x1", "overlap leave $work"),
    # ---- what crosses the hosts' interfaces: of S bytes on Q hosts, no algorithm goes below 2S(Q-1)/Q ----
    moves(": a ring moves 2S(Q-1)/Q over each interface", "2x1", 4, "algorithm=ring"),
    moves(": a ring, too", "4x1", 6, "algorithm=ring"),
    moves(": so does what the component chooses, along ranks and hosts", "2x2", 4, "verbose=2", also={
        "    and rank 0 says what and why": "allreduce on MPI_COMM_WORLD.* 4194304 bytes on 2 nodes of 2: bucket, 4 channels"}),
    moves(", torus stated: the same", "2x2", 4, "algorithm=bucket torus=2x2"),
    # two trees of a half each send 2S into and out of a host that is inside one of them; of two hosts none is
    moves(": trees of hosts move S over each interface", "2x2", 4, "algorithm=node-tree"),
    # with N ranks in one ring that is 2S(N-1)/N, if it enters each host once; with these placed in turns, too
    moves(", placed in turns: a ring enters each host once", "2x2", 6, "--map-by node algorithm=ring"),
    moves(", placed in turns: what the component chooses goes along ranks and hosts", "2x2", 4, "--map-by node verbose=2",
          also={"    and rank 0 says so": " 4194304 bytes on 2 nodes of 2: bucket,"}),
    # ---- no link: calls fall back ----
    nodes("no transport leads there: calls fall back", "| 2x1", f"{NO_TRANSPORT} -- hello_coll", *falls_back(), also={
        "    with one line that names both ends and why": lines_seen(
            1, NO_LINK % ("of MPI_COMM_WORLD, ", " rank 1 on h1: none of UCX.s transports leads there"))}),
    nodes("    nonblocking calls finish by messages", "| 2x1",
          f"{NO_TRANSPORT} -- random_programs --count=9999 --seconds=1 --profile=nonblocking,eight", all_good),
    nodes("UCX wanted, and no module: calls fall back", "| 2x2", f"GR_DIR={bare()} nodes_transport=ucx -- hello_coll",
          *falls_back(), also={"    with one line that says so, of the first rank concerned": lines_seen(
              1, NO_LINK % (".*", "net_ucx.so: cannot open"))}),
)


@pytest.mark.parametrize("rate", [100, 1000])
def test_measured(mpi, rate):
    """Each communicator and order of calls has a line; of those of one job the first measures. A class holds for up to an
    eighth, and a quarter, which load leaves of these rates. Where other programs take the cores meanwhile a train can be
    late: then another job measures."""
    judges = good_through_gpuring, rf"between nodes: measured: .*Mbit/s \(class {rate}\)", "!between nodes: (built|by)"
    for _ in range(10):
        job = mpi.run(4, "nodes=1 --mca op ^avx verbose=1 -- hello_coll", **between(f"2x2 --rate={rate}mbit"))
        if job.wait_for(0, *judges):
            break
    job.check(f"2x2 of {rate} Mbit/s: that is the class of what was measured", *judges)


def lost(ranks="0"):
    """One of these says so, each being alone on the host of its number."""
    return rf"gpuring: rank ({ranks}) of stalled communicator, on h\1, has lost a link to another node: rank 1 on h1: "


def test_stopped(mpi):
    if not in_all:
        return
    job = mpi.start(2, f"nodes=1 timeout=1 -- stall stop allreduce {MARK}", **between("2x1"))
    job.check("stopped rank: who waits says for whom", waits_for_1, within=60)
    continue_stopped()
    job.wait().check("    continued: all finish right", good_through_gpuring)
    job.check("    over the same link", "!lost a link")


def test_killed(mpi):
    if not in_all:
        return
    # What is left in the hosts' shared memory, but for Open MPI's own.
    look = script("look", r"""
"$@"; for h in $HOSTS; do $HOSTS_SH on $h find /dev/shm -mindepth 1 -maxdepth 1 ! -name "vader*" ! -name "ompi*" \
    ! -name "pmix*" ! -name names -printf "left %p\n"; done; echo looked""")
    job = mpi.start(2, f"nodes=1 --enable-recovery -- stall kill allreduce {MARK}", **between("2x1", *look))
    job.check("killed rank: the other one names it and its host", lost(), within=60)
    if not job.wait_for(60, "^looked$"):
        job.kill()
    job.check("killed rank: the call fails", "MPI_ERR_OTHER")
    job.wait().check("killed rank: nothing is left in shared memory", "^looked$", "!^left")
    job.check("killed rank: no process is left", marked_is(0), within=60)
    # In a ring rank 3 has no link to it: it ends since errors are fatal to the others, or says for whom it waits.
    job = mpi.start(4, f"nodes=1 --enable-recovery timeout=1 algorithm=ring -- stall kill allreduce {MARK}", **between("4x1"))
    job.check("killed rank, one of four: a neighbour names it and its host", lost("0|2"), within=60)
    job.check("    the call fails", "MPI_ERR_OTHER", within=60)
    job.check("    and all others end", marked_is(0), within=60)
    job.kill()


def test_cut(mpi):
    if not in_all:
        return
    job = mpi.start(2, f"nodes=1 timeout=1 -- stall loop allreduce {MARK}", **between("2x1", *cutting()))
    job.check("cut off: who waits says for whom", waits_for_1, within=60)
    job.check("cut off: then, that the link is lost, and to where", lost(), within=60)
    job.check("cut off: the call fails", "MPI_ERR_OTHER", within=60)
    job.kill()
    job.check("cut off: no process is left", marked_is(0), within=60)
