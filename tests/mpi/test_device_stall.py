# SPDX-License-Identifier: BSD-3-Clause
"""A rank that is late while other ranks' kernels wait, or that makes another call: messages name it."""

import re
import signal

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
LATE = f"{SMALL} timeout=1 -- stall"
IN_KERNELS = r"gpuring: rank [02] of .* waits .*on devices, channel.*waits for rank( [02])* 1\b"
test_rows = table(
    row("calls that differ: an error", 3, f"{SMALL} -- devices differ", all_good, also={
        "calls that differ: one rank says so": (
            lines_seen(1, r"gpuring: rank 1 of MPI_COMM_WORLD calls allreduce \(40000 bytes"),
            lines_seen(5, "gpuring: rank 1 of .* calls "),  # on each of five communicators
            "!gpuring: rank [02] of .* calls ")}),
)


def waits_for_1(rank):
    """That is what the rank said last."""
    return lambda job: any(re.search("agreement, .*waits for rank 1$", line)
                           for line in job.lines(f"gpuring: rank {rank} of .* waits")[-1:])


def test_stopped(mpi):
    job = mpi.start(3, f"{LATE} stop allgather")
    job.check("a stopped rank is named, and no other", waits_for_1(0), waits_for_1(2), within=60)
    job.resume().check("continued, all finish right", good_on_devices)
    # persistent calls have no agreement: kernels wait
    job = mpi.start(3, f"{LATE} stop allgather 3 persistent")
    job.check("a stopped rank is named where kernels wait", IN_KERNELS, within=60)
    job.resume().check("continued, all finish right, persistent", good_on_devices)
    # stopped anywhere: in a kernel, maybe
    job = mpi.start(3, f"{LATE} loop bcast 3600")
    job.wait_for(60, "^# looping")
    job.signal(signal.SIGSTOP)
    job.check("stopped in the middle, it is named", r"gpuring: rank [02] of .* waits .*waits for rank( [02])* 1\b", within=60)
    job.signal(signal.SIGCONT)
    job.kill()
