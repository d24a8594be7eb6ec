# SPDX-License-Identifier: BSD-3-Clause
"""gpuring between nodes, over Open MPI's own messages: without UCX, or if a parameter says so. Results are right, and the
application's messages and gpuring's do not mix."""

import os
from pathlib import Path

import pytest

from rows import *
from rows.hosts import *

PML = "nodes_transport=pml verbose=1"
FABRIC = "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include tcp;ofi_rxm,tcp"
ONE_LINK = "algorithm_bcast=tree nodes_channels=1 nodes_latency=100000"
OVER_PML = "gpuring: links to other nodes go over pml"
GOOD, EIGHT = (good_through_gpuring, OVER_PML), (all_taken, OVER_PML)
LARGE = "    large messages from where they lie"
no_ucx = None if Path(os.environ["GR_DIR"], "gpuring_net_ucx.so").exists() else "gpuring was built without UCX"


def from_buffers(job):
    return counted(job, "zero copy calls") > 0


def over(text, layout, line, *judges, options="", **more):
    """A row over Open MPI's messages."""
    return nodes(text, layout, f"{PML} {options} -- {line}", *(judges or GOOD), **more)


test_rows = table(
    # ---- right, in all forms ----
    over("$layout: blocking, any case", "2x2 | 3+1", ANY_CASE, also={LARGE: from_buffers}),
    over("$layout: $form, each of the eight", "2x2 | 3+1", "eight_in $form --no-comms", *EIGHT, form="nonblocking | persistent"),
    over("2x2: slots of $bytes bytes, which ob1 does not send at once, $how", "2x2",
         "gpuring_bench allreduce bcast -m 4M:4M -i 2 -x 0 -c -B 10", ended, OVER_PML,
         options="slot_bytes=$bytes setup_mib=64", rows="""bytes how
65536 in five
|
131072 in eight
589824 in one, since eight would be too long"""),
    over("2x2: barriers", "2x2", "barrier $work/flags 1"),
    over("2x6: more peers than are looked at in each call", "2x6", "hello_coll",
         options="setup_mib=64 algorithm_alltoall=pairwise"),
    over("2x1: messages for a link that its reader has left", "2x1", "leaver $work/left", options=ONE_LINK),
    over("3+1: beside receives and probes for any message", "3+1", "wildcards"),
    nodes("no module for UCX, and nothing asked for: gpuring does it", "2x2", f"GR_DIR={bare()} verbose=1 -- hello_coll", *GOOD,
          also={"    and says why not over UCX": "go over pml: .*gpuring_net_ucx.so: cannot open"}),
    over("2x2: nonblocking, with a thread, which leaves Open MPI alone", "| 2x2", "eight_in nonblocking --no-comms", *EIGHT,
         options="progress_thread=1"),
    over("2x2: nonblocking calls of several threads", "| 2x2", "nbthreads 2"),
    # data that travel with their head, and behind it
    over("2x2: ring, two channels of two slots of $bytes bytes", "2x2", ANY_CASE, bytes="| 512 8192 16384",
         options="algorithm=ring nodes_channels=2 slots=2 slot_bytes=$bytes"),
    over("2x2: Open MPI's messages go over UCX themselves", "| 2x2", "wildcards",
         options="OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any UCX_TLS=tcp,self "
         "UCX_NET_DEVICES=eth0 -x UCX_TLS -x UCX_NET_DEVICES"),
    # ---- nodes that differ ----
    nodes("one node over UCX, the other not: calls fall back", "| 2x1", "hello_coll", *falls_back(), why=no_ucx,
          wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK = 0 ] || export OMPI_MCA_coll_gpuring_nodes_transport=pml"),
          also={"    with one line that says so": lines_seen(
              1, "gpuring: .*rank 0 of MPI_COMM_WORLD, on h0, gets no link.* rank 1 on h1: its links go over pml, "
              "those of this process over ucx")}),
)


def test_fabric(mpi):
    """Over libfabric, as where UCX is of no use. Open MPI leaves out its provider for TCP, unless it is asked for. It says so
    where it cannot have it."""
    if "MCA mtl: ofi" not in ompi_info():
        skip("over libfabric", "this Open MPI has no mtl for it")
        return

    def run(program):
        return mpi.run(4, f"nodes=1 --mca op ^avx {PML} {FABRIC} -- {program}", **between("2x2"))

    job = run(ANY_CASE)
    if job.lines("PML cm cannot be selected"):
        skip("2x2: over libfabric", "it has no provider for TCP")
        return
    job.check("2x2: over libfabric: blocking, any case", *GOOD)
    job.check(LARGE, from_buffers)
    run("eight_in nonblocking --no-comms --no-sendrecv").check("2x2: over libfabric: nonblocking, each of the eight", *EIGHT)


@pytest.mark.parametrize("form", ["blocking", "first", "nonblocking", "persistent"])
def test_ulfm(mpi, form):
    """A rank of another node dies. On a busy machine Open MPI 5.0.7 itself may take a rank that lives for dead, or hang, also
    without gpuring: three times at most. MPI_Finalize of those who are left may hang."""
    if not in_all or not has_ulfm():
        return
    survived = lines_seen(4, "^ok [0-9] - "), "!^not ok"
    for _ in range(3):
        job = mpi.start(4, f"nodes=1 {PML} --with-ft ulfm -- ulfm {form} allreduce 3", **between("2x2"))
        good = job.wait_for(60, *survived)
        job.kill()
        if good:
            break
    job.check(f"2x2: {form}: rank 3 dies, the others go on", *survived)


@pytest.mark.parametrize("form", ["blocking", "nonblocking", "persistent"])
def test_stopped(mpi, form):
    if not in_all:
        return
    job = mpi.start(2, f"nodes=1 {PML} timeout=1 -- stall stop bcast {MARK} {form} 1048576", **between("2x1"))
    job.check(f"stopped rank, {form}: who waits says for whom", waits_for_1, within=60)
    continue_stopped()
    job.wait().check("    continued: all finish right", *GOOD)
    job.check("    from where the data lie", from_buffers)


def test_killed(mpi):
    if not in_all:
        return
    job = mpi.start(2, f"nodes=1 {PML} timeout=1 --enable-recovery -- stall kill allreduce {MARK}", **between("2x1"))
    job.check("killed rank: who waits says for whom", waits_for_1, within=60)
    job.kill()
    job.check("killed rank: no process is left", marked_is(0), within=60)
