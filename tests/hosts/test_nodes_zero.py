# SPDX-License-Identifier: BSD-3-Clause
"""Zero copy between nodes: messages that UCX sends from the user's buffers in host memory, here of any size, in all forms; and
calls that fail or are delayed meanwhile."""

import pytest

from rows import *
from rows.hosts import *

has_ucx()
ZERO = "nodes_zero_copy=0"


def from_buffers(job):
    return counted(job, "zero copy calls") > 0


def by_slots(job):
    return not from_buffers(job)


RIGHT, EIGHT = (good_through_gpuring, from_buffers), (all_taken, from_buffers)
test_rows = table(
    # ---- right, in all forms ----
    nodes("$layout: blocking, any case", "2x2 | 2x1 3+1", f"{ZERO} -- {ANY_CASE}", *RIGHT),
    nodes("$layout: $form", "2x2 | 2x1 3+1", f"{ZERO} -- eight_in $form --no-comms", *EIGHT, form="nonblocking persistent"),
    nodes("$layout: $a, two channels of small slots", None,
          f"{ZERO} algorithm=$a nodes_channels=2 slots=2 slot_bytes=512 -- {ANY_CASE}", *RIGHT, quick=False, rows="""layout a
3+1 ring
3+1 flat
2x2 bucket
2x2 swing
3x2 node-tree
4x1 chain
4x1 pairwise"""),
    # these overwrite what they have sent too early for it
    nodes("2x2: $a", "2x2", f"{ZERO} algorithm_allreduce=$a -- {ANY_CASE}", a="| two-level oneshot doubling"),
    nodes("2x2: one host is slow", "'2x2 --rate=h1:20mbit'", f"{ZERO} -- {ANY_CASE}", *RIGHT, quick=False),
    nodes("2x2: $form, with a thread", "2x2", f"{ZERO} progress_thread=1 -- eight_in $form --no-comms", *EIGHT,
          form="| nonblocking persistent"),
    nodes("nodes_zero_copy $off: through slots", "2x1", "nodes_zero_copy=$off -- eight_in nonblocking --no-comms",
          good_through_gpuring, by_slots, off="| -1 1000000"),
)


@pytest.mark.parametrize("form", ["blocking", "nonblocking", "persistent"])
def test_stopped(mpi, form):
    """A process stops or dies while it is sent to: Bcasts of 4 MiB; rank 1 stops, or is killed, in the middle."""
    if not in_all:
        return

    def begin(mode, options):
        return mpi.start(2, f"nodes=1 {ZERO} {options} -- stall {mode} bcast {MARK} {form} 1048576", **between("2x1"))

    job = begin("stop", "timeout=1")
    job.check(f"stopped rank, {form}: who waits says for whom", waits_for_1, within=60)
    continue_stopped()
    job.wait().check("    continued: all finish right", *RIGHT)
    job = begin("kill", "--enable-recovery")
    job.check(f"killed rank, {form}: the call fails", "MPI_ERR_OTHER", within=60)
    if not job.wait_for(60, marked_is(0)):
        job.kill()
    job.check("    and no process is left", marked_is(0))
