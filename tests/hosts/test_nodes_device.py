# SPDX-License-Identifier: BSD-3-Clause
"""Buffers on devices (of the fake CUDA driver) where a communicator spans several hosts (hosts.sh)."""

from rows import *
from rows.devices import *
from rows.hosts import *
from rows.timed import *

ENV = DEVICES
GIVEN = "-x LD_LIBRARY_PATH -x FAKECUDA_SMS -x FAKECUDA_DEVICES"
BENCH = "gpuring_bench allreduce -d cuda -m %s -i 1 -x 0 -c -B 1 -I 1"


def on_hosts(text, layout, line, *judges, memory="device", on=1, ask=0, slots="4 16384", before=(), rails="", **more):
    """A row on devices between hosts. on, ask: coll_gpuring_nodes, nodes_ask; slots: how many, of how many bytes."""
    options, _, program = f" {line}".rpartition(" -- ")
    number, size = slots.split()
    return row(text, "$layout", f"nodes={on} nodes_ask={ask} {GIVEN} -x GPURING_MEMORY=$memory --mca op ^avx "
               f"device_slots={number} device_slot_bytes={size} {options} -- {program}", *(judges or [good_on_devices]),
               layout=layout, memory=memory, **between(f"$layout {rails}", *before), **more)


def on_nodes(text, layout, memory, line, *judges, **more):
    return on_hosts(f"$layout: {text}, $memory memory", layout, line, *judges, memory=memory, **more)


def large_is_asked(text, said, **more):
    """Of an allreduce of 8 bytes to 1 MiB."""
    return on_hosts(text, "| 2x2", f"verbose=2 -- {BENCH % '8:1M'}", ended, "!, 8 bytes on devices",
                    r", 1048576 bytes on devices \(network\) on 2 nodes of 2: ", ask=20,
                    also={"    which is said": said}, **more)


TYPES = "all types and operations, 4 MiB, any case"
NONBLOCKING, PERSISTENT = "eight_in nonblocking --no-comms", "eight_in persistent --no-comms"
SMALL_SLOTS = "2 256"
SLOW = "nodes_mbit=200"  # expected; the programs have calls of both kinds then
OTHERS = f"random_programs --count=9999 --seconds={depth(1.5, 3)} --profile=others"
test_rows = table(
    # ---- kernels, between hosts ----
    on_nodes(depth("any case", TYPES), "2x2", "device", f"verbose=2 -- {depth(ANY_CASE, EVERY_CASE)}", also={
        "    rank 0 says where slots lie, and why": r"slots of rank 0 of .* between nodes: 0 links in device memory, "
        r"[1-9][0-9]* in pinned host memory \(the network cannot access"}),
    on_nodes(TYPES, "| 2x1 4x1 4x2 3+1", "device", EVERY_CASE),
    on_nodes("$form", "| 4x1 4x2 3+1", "device", "eight_in $form --no-comms", form="nonblocking persistent"),
    on_nodes("any case", "| 2x2", "mixed", ANY_CASE),
    on_nodes("zero copy inside hosts", "| 2x2", "device", f"zero_copy=4096 -- {ANY_CASE.replace('blocking', 'blocking,big')}",
             good_on_devices, lambda job: counted(job, "zero copy calls") >= 12),
    on_nodes("any case, ranks placed in turns", "| 3x2", "device", f"--map-by node -- {ANY_CASE}"),
    on_nodes("any case, on two rails", "| 2x2", "device", f"nodes_rails=2 verbose=1 -- {ANY_CASE}", rails="--rails=2",
             also={"    which both are used": "links to other nodes go over ucx on eth1"}),
    on_nodes("any case, small slots", "| 3+1", "device", f"nodes_channels=3 -- {ANY_CASE}", slots=SMALL_SLOTS),
    on_nodes("any case, trees of nodes, small slots", "| 3x2", "device", f"algorithm=node-tree -- {ANY_CASE}",
             slots=SMALL_SLOTS),
    on_nodes("any case, all ranks double", "| 3+1", "device", f"algorithm=doubling -- {ANY_CASE}"),
    on_nodes("any case, no device maps another", "| 2x2", "device", f"-x FAKECUDA_PEER=none -- {ANY_CASE}"),
    on_nodes("communicators within a host and across", "| 3+1", "device", "eight_in comms"),
    on_nodes("nonblocking", "| 2x2", "mixed", NONBLOCKING),
    on_nodes("nonblocking, no thread", "| 2x1", "device", f"progress_thread=0 -- {NONBLOCKING}"),
    # more requests than there is memory for
    on_nodes("persistent", "| 2x1", "mixed", f"pool_mib=8 -- {PERSISTENT}"),
    on_nodes("a buffer on a device at some ranks only", "| 2x1", "device", "devices single"),
    on_nodes("a call ends while nobody calls MPI", "| 2x1", "device", "devices progress"),
    on_nodes("communicators in opposite order", "| 2x1", "device", "devices crossed"),
    on_nodes("different calls are an error", "| 3+1", "device", "devices differ", all_good, also={
        "    which who differs says, once each": lines_seen(5, "rank 1 of .* calls .*, but rank 0 calls")}),
    on_nodes("also of results that would go straight into buffers", "| 2x1", "device", "zero_copy=0 -- devices differ",
             all_good),
    # ---- by itself: kernels do what takes long beside a round trip between nodes, and nobody asks where buffers of shorter
    # calls are ----
    on_nodes("short calls fall back, any case", "| 2x2", "mixed", f"{SLOW} -- {ANY_CASE}", ask=20),
    large_is_asked("2x2: kernels do 1 MiB, 8 bytes fall back", "allreduce on MPI_COMM_WORLD falls back: it is too short"),
    on_nodes("short calls are done by the host, staged, any case", "| 3+1", "mixed", f"{SLOW} -- {ANY_CASE}", ask=20,
             GR_HOST="1"),
    large_is_asked("2x2: kernels do 1 MiB, the host 8 bytes", ", 8 bytes on 2 nodes of 2: ", GR_HOST="1"),
    on_nodes("nonblocking, short ones fall back", "| 2x1", "mixed", f"{SLOW} -- {NONBLOCKING}", ask=1),
    on_nodes("nonblocking, short ones by the host", "| 2x1", "mixed", f"{SLOW} -- {NONBLOCKING}", ask=1, GR_HOST="1"),
    on_nodes("short ones by the host, before one that is asked about", "| 2x1", "device", f"{SLOW} -- devices queued", ask=1,
             GR_HOST="1", TEST_LIMIT="60"),
    on_hosts("2x1: so are calls on host memory", "| 2x1", "cuda=1 -- hello_coll", *falls_back("short"), ask=20),
    # ---- timed: kernels begin together, and their messages between nodes keep to the time line ----
    on_nodes("step_sync timed", "| 2x2", "device", "step_sync=timed report=summary -- timed 2x2 1", also={
        "2x2: step_sync timed: the report says so": report_fits(20, "timed")}),
    on_nodes("step_sync barrier", "| 3+1", "device", "step_sync=barrier report=summary -- timed 2x2 1", also={
        "3+1: step_sync barrier: the report says so": report_fits(20, "barrier")}),
    # three Allreduces of 2 MiB: -c makes two of them
    on_hosts("2x2: large ones go along ranks and hosts, by themselves", "| 2x2", f"measure=0 verbose=2 -- {BENCH % '2M:2M'}",
             r"allreduce on MPI_COMM_WORLD.* 2097152 bytes on devices \(network\) on 2 nodes of 2: bucket, simple",
             slots="4 131072", before=COUNTED, also={
                 "    and right": " bucket +0$", "    over each interface go 2S(Q-1)/Q": bytes_were(2, 3 << 21)}),
    # ---- by others, and not to be had ----
    on_nodes("nodes=0: fallback", "| 2x1", "mixed", ANY_CASE, good_by_staging, "^# gpuring calls 0 handovers [1-9]", on=0),
    on_nodes("other collectives", "| 3+1", "device", OTHERS, good_falls_back),
    on_nodes("other collectives in pieces", "| 2x2", "mixed", f"stage_bytes=512 -- {OTHERS}", good_falls_back),
    on_nodes("no transport leads there: staged", "| 2x1", "device",
             f"-x UCX_TLS=posix,self -x UCX_LOG_LEVEL=fatal -- {ANY_CASE}", good_by_staging, also={
                 "    with one line that names both ends and why": lines_seen(
                     1, "gpuring: rank 0 of .*, on h0, gets no link.* rank 1 on h1: none of UCX.s transports leads there")}),
)


def test_stopped(mpi):
    """A process stops or dies while kernels wait for it."""
    if not in_all:
        return

    def begin(mode):
        return mpi.start(2, f"nodes=1 {GIVEN} -x GPURING_MEMORY=device --mca op ^avx timeout=1 --enable-recovery -- "
                         f"stall {mode} allreduce {MARK} persistent", **between("2x1"))

    job = begin("stop")
    job.check("stopped rank: whose kernel waits says for whom", "rank 0 of stalled communicator .*on devices, channel 0, "
              "slice 0, step [0-9]+ .*waits for rank 1$", within=60)
    continue_stopped()
    job.wait().check("    continued: all finish right", good_on_devices)
    # Despite --enable-recovery, mpirun of 4.1 may end the other rank, too, before that has said all: then once more.
    for _ in range(40):
        job.kill()
        job = begin("kill")
        told = job.wait_for(60, "has lost a link") and within(60, lambda: job.lines("MPI_ERR_OTHER") or not marked())
        if not told or job.lines("MPI_ERR_OTHER"):
            break
    job.check("killed rank: the other one names it and its host",
              "gpuring: rank 0 of stalled communicator, on h0, has lost a link to another node: rank 1 on h1: ")
    job.check("    its kernel leaves, and the call fails", "MPI_ERR_OTHER")
    job.kill()
    job.check("    no process is left", marked_is(0), within=60)
