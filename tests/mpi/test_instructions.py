# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of small cached calls, MPI's own part included, on a rank that waits for nobody.

valgrind counts them, so that the numbers do not depend on the machine's load or its clock. What only some calls do comes
again after a period: of the calls with the same place in one the least counts, so that a call that has waited for another
rank after all, on a machine under load, is left out.
"""

import re
import shutil
from pathlib import Path

from rows import *

CALLER = 10  # instructions of the program itself in a call
ROUNDS = 102
PERIODS = 8, 17  # calls, after which what only some calls do comes again; with a report one in 17 is timed (GR_TIMED_EACH)
WRAPPER = ["valgrind", "--tool=callgrind", "--toggle-collect=measured", "--dump-after=measured",
           f"--callgrind-out-file={WORK}/%q{{OMPI_COMM_WORLD_RANK}}"]
WHY = (
    "MPI's own part is that of Open MPI 4.1"
    if OMPI_SERIES != 4
    else None if shutil.which("valgrind") else "no valgrind"
)


def of_call(dump):
    """Instructions in a file of callgrind's."""
    return int(re.search(r"^totals: (\d+)", dump.read_text(), re.M)[1])


def within(values):
    """Instructions of a call."""

    def judge(job):
        rank = 1 if values.kind == "leaf" else 0
        calls = [of_call(Path(WORK) / f"{rank}.{k + 1}") for k in range(ROUNDS)]
        beyond = sum(sum(min(calls[k::period]) - min(calls) for k in range(period)) / period for period in PERIODS)
        per_call = int(min(calls) + beyond) - CALLER
        note(f"{values.kind}, {values.np} ranks, {values.options}: {per_call} instructions")
        return int(values.least) <= per_call <= int(values.most)

    return wants(judge, f"{values.least} to {values.most} instructions")


# With threads nonblocking calls are not cached: another thread may let Open MPI start one, and change the cache.
test_rows = table(
    row("$what, $np ranks: $least to $most instructions", "$np",
        f"--mca pml ob1 --mca coll gpuring,basic,libnbc,inter,self $options -- instructions $kind {ROUNDS}",
        ended, of_row(within), wrapper=WRAPPER, why=WHY,
        rows="""kind      np least most options     what
root      2  1     215  report=none MPI_Bcast at its root
start     2  1     285  report=none MPI_Start and MPI_Wait of a broadcast
allreduce 2  1     340  report=line MPI_Allreduce with a report
|
allreduce 2  1     300  report=none MPI_Allreduce
leaf      2  1     230  report=none MPI_Bcast at a leaf
barrier   2  1     205  report=none MPI_Barrier
ibcast    2  1     480  report=none MPI_Ibcast and MPI_Wait
threads   2  1500  4000 report=none MPI_Ibcast and MPI_Wait with MPI_THREAD_MULTIPLE
root      2  1     245  report=line MPI_Bcast at its root, with a report
start     2  1     325  report=line MPI_Start and MPI_Wait of a broadcast, with a report
root      16 1     760  report=none MPI_Bcast at its root
leaf      16 1     500  report=none MPI_Bcast at a leaf
start     16 1     870  report=none MPI_Start and MPI_Wait of a broadcast"""),
)
