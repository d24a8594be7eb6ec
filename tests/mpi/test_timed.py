# SPDX-License-Identifier: BSD-3-Clause
"""coll_gpuring_step_sync: right results in every mode, on tori and off them, with late and stopped ranks, and a report."""

import json
import re
from pathlib import Path

import pytest

from rows import *
from rows.timed import *

ENV = {"GPURING_BUDGET": "0"}  # on grids: each collective and form once
SLOTS = "slots=2 slot_bytes=2048"
BOARDLESS = "mailbox_bytes=0"
REPORT = f"{BOARDLESS} report=summary"
ALONG = " ".join(f"algorithm_{w}" for w in ("allreduce=swing", "allgather=bucket", "reduce_scatter=bucket", "bcast=mst",
                                            "reduce=mst", "alltoall=ordered"))
ROUNDS = depth(1, 3)
test_rows = table(
    row("$mode on $torus", "$torus", f"step_sync=$mode torus=$torus {REPORT} -- timed $torus $n", also={
        "$mode on $torus: the report says so": report_fits(20)}, rows=f"""torus mode    n
2x2   start   {ROUNDS}
2x2   barrier {ROUNDS}
2x2   timed   3
|
2x2x2 timed   3"""),
    # Real grids, with reorder, as rings and lines, their rows and columns (MPI_Cart_sub), and by the info key: all collectives
    # in all forms, each by what runs along a torus. Without timing: test_torus.py.
    row("$mode on the grid $grid", "$grid", f"step_sync=$mode {ALONG} channels=2 {REPORT} -- grids $grid",
        grid="2x2 | 4x2 2x2x2 3x3 4x4", mode="timed | barrier start", also={
            "$mode on the grid $grid: the report says so": report_fits(60),
            "$mode on the grid $grid: along the torus": tuple(
                f"^# [a-z_]+ +host +{way} " for way in ("swing", "bucket", "mst", "ordered"))}),
    # Persistent requests have timers of their own: started in orders that differ from rank to rank, more of them than links.
    row("$mode, persistent requests", 3, f"step_sync=$mode {REPORT} -- persistent types", mode="timed | barrier",
        also={"$mode, persistent requests: the report says so": report_fits(500)}),
    row("$mode, small slots, mailboxes, two channels", 4, f"step_sync=$mode {SLOTS} channels=2 -- timed 4 {ROUNDS}",
        mode="timed | start barrier"),
    row("$mode, 3 ranks, each algorithm's own links", 3, f"step_sync=$mode algorithm=tree {SLOTS} -- timed 3 {ROUNDS}",
        mode="timed | start barrier"),
    row("timed, copied through slots", "| 4", f"step_sync=timed single_copy=0 torus=2x2 {BOARDLESS} -- timed 2x2 {ROUNDS}"),
    row("timed, with a progress thread", 3, f"step_sync=timed progress_thread=1 {BOARDLESS} -- timed 3 {ROUNDS}"),
    # Unless it is asked for, nothing is timed.
    row("none is the default", 4, "report=summary -- timed 2x2 1", also={"none is the default: no countdowns": "!^# step_sync"}),
)


@pytest.mark.parametrize("what, program", [
    ("slices and ticks", "gpuring_bench allreduce -m 32k:64k -i $n -x 0 -B 10"), ("type", "timed types $n")])
def test_barriers(mpi, what, program):
    """Barriers are those of each call's own time line: an Allreduce along a ring of 4 has 7 ticks for each slice, and one of
    2^15 bytes is 4 slices of a slot of 2 KiB per block, one of 2^16 8. 5 more of each are 5 x 7 x (4 + 8) more."""

    def countdowns(iterations):
        return mpi.run(4, f"step_sync=barrier report=summary single_copy=0 algorithm_allreduce=ring {SLOTS} -- "
                       + program.replace("$n", str(iterations)))

    few = reported(countdowns(5))[2]
    countdowns(10).check(f"barrier: as many as by each call's {what}", wants(
        lambda job: reported(job)[2] - few == 420, f"420 more than {few}"))


def test_json(mpi):
    """Beside the rows of the collectives."""
    path = Path(WORK, "r.json")
    job = mpi.run(4, f"step_sync=timed {BOARDLESS} report=json:{path} -- timed 2x2 1")
    text = path.read_text() if path.exists() else ""
    said = re.search(r'\{"step_sync": "timed", "calls": [1-9].*"start_skew_us": .*"misses": .*"pauses"', text)
    job.check("the report as JSON", wants(lambda job: bool(said), text))
    job.check("the report as JSON can be read", wants(lambda job: is_json(text), text))


def is_json(text):
    try:
        return bool(json.loads(text))
    except ValueError:
        return False


def test_stopped(mpi):
    """A rank that is stopped and goes on, while the program makes its calls; it waits for the file then."""
    if not in_all:
        return
    job = mpi.start(4, f"step_sync=timed {BOARDLESS} torus=2x2 -- timed 2x2 6 {WORK}/stopped")

    job.wait_for(60, lambda job: running(job.process.pid, "timed"))
    job.wait_for(60, "^# GPURING_SEED")
    stops = stop_in_turn(running(job.process.pid, "timed")[-1:] * 4)
    job.wait().check("a rank that is stopped and goes on", good_through_gpuring)
    job.check("it was stopped", wants(lambda job: stops == 4, f"{stops} stops of 4"))
