# SPDX-License-Identifier: BSD-3-Clause
"""A rank that is late: the other ranks report the rank, the call and the communicator, and continue to wait, or abort the
job if a parameter says so. With --enable-recovery, Open MPI 4 and 5 keep the survivors of a killed rank alive."""

import re
import time

import pytest

from rows import *

OPTIONS = stock_segments
NP = 3
WAITING = "gpuring: rank [0-9]+ of .* waits"
STEP, SET_UP = "step [0-9]+", "set-up|step [0-9]+"


def names_all(coll, step, rank="1"):
    """A line that has all of them: which rank waits, communicator, collective, sequence, step, whom for."""
    parts = (re.escape("stalled communicator"), rf"\b{coll}\b", "sequence,? [0-9]+", step,
             rf"waits for ranks?( [0-9]+,?)* {rank}\b")
    return wants(lambda job: any(all(re.search(part, line) for part in parts) for line in job.lines(WAITING)),
                 f"a line about {coll}, {step}")


def runs(job):
    return job.process.poll() is None


def is_over(job):
    return not runs(job)


def stalled(mpi, named, finished, words, coll, step=STEP, np=NP, **more):
    """Rank 1 is stopped, named and continued."""
    job = mpi.start(np, f"timeout=1 -- stall {words}", **more)
    job.check(named, names_all(coll, step), within=60)
    job.resume().check(finished, good_through_gpuring)


@pytest.mark.parametrize("coll", depth(["allgather"], ["allreduce", "allgather", "reduce_scatter", "reduce_scatter_block"]))
def test_stopped(mpi, coll):
    begin = time.monotonic()
    job = mpi.start(NP, f"timeout=1 -- stall stop {coll}")
    job.check(f"{coll}, stopped rank: it is named, with the call", names_all(coll, STEP), within=60)
    job.check(f"{coll}, stopped rank: it is reported again and again",  # by one of two ranks three times or more
              lambda job: len(job.lines(WAITING)) >= 2 * NP, within=60)
    job.check(f"{coll}, stopped rank: the others keep waiting", runs)
    job.resume().check(f"{coll}, continued rank: all finish right", good_through_gpuring)
    job.check(f"{coll}, continued rank: it says so", "^# finished right")
    job.check(f"{coll}: each of the others said it once a second at most",
              lambda job: len(job.lines(WAITING)) <= (NP - 1) * (time.monotonic() - begin + 1))


@pytest.mark.parametrize("form", ["nonblocking", "persistent"])
def test_forms(mpi, form):
    """The others wait in MPI_Wait."""
    for coll in depth(["reduce_scatter"], ["allreduce", "reduce_scatter"]):
        stalled(mpi, f"{form} {coll}, stopped rank: it is named, with the call",
                f"{form} {coll}, continued rank: all finish right", f"stop {coll} 3 {form}", coll)
    stalled(mpi, f"{form}, stopped before the first call: named",
            f"{form}, stopped before the first call, continued: all finish right", f"first allreduce 3 {form}", "allreduce",
            SET_UP)


def test_others(mpi):
    # Who has a core of its own looks many times before it gives that away.
    stalled(mpi, "stopped rank, cores to spare: it is named", "stopped rank, cores to spare, continued: all finish right",
            "stop allreduce", "allreduce", np=2,
            MPIRUN=mpi.env["MPIRUN"].replace("mpi_yield_when_idle 1", "mpi_yield_when_idle 0"))
    stalled(mpi, "stopped before the first call: named in set-up",
            "stopped before the first call, continued: all finish right", "first allreduce", "allreduce", SET_UP)


test_rows = table(row("timeout 0: nothing is said", f"| {NP}", "timeout=0 -- stall sleep allreduce 3", f"!{WAITING}",
                      also={"timeout 0: all finish right": good_through_gpuring}))


def test_ends(mpi):
    # a timeout that a loaded machine does not use up by itself
    job = mpi.start(NP, "timeout=5 timeout_abort=1 -- stall stop allreduce")
    job.wait_for(60, "^# rank 1 stalls")
    job.check("timeout_abort: the job ends", is_over, within=60)
    if runs(job):
        job.kill()
    job.wait().check("timeout_abort: with an exit status", failed)
    # The first to run out of time ends the job; it may be one that waits for a rank that itself waits.
    job.check("timeout_abort: after a line about the call", names_all("allreduce", SET_UP, "[0-9]+"))
    job.check("timeout_abort: which is named", "timeout_abort")
    job = mpi.start(NP, "--enable-recovery timeout=1 -- stall kill allreduce")
    job.check("killed rank: the survivors name it", names_all("allreduce", STEP), within=60)
    job.kill()
