# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of small cached calls, MPI's own part included, on a rank that waits for nobody.

valgrind counts them, so that the numbers do not depend on the machine's load or its clock.
"""

import re
import shutil
from pathlib import Path

from rows import *

ROUNDS = 50
CALLER = 10  # instructions of the program itself in a call
WRAPPER = ["valgrind", "--tool=callgrind", "--toggle-collect=measured",
           f"--callgrind-out-file={WORK}/%q{{OMPI_COMM_WORLD_RANK}}"]
WHY = (
    "MPI's own part is that of Open MPI 4.1"
    if OMPI_SERIES != 4
    else None if shutil.which("valgrind") else "no valgrind"
)


def within(values):
    """Instructions of a call."""

    def judge(job):
        counted = [int(w) for f in Path(WORK).glob("[01]") for w in re.findall(r"^totals: (\d+)", f.read_text(), re.M)]
        per_call = sum(counted) // ROUNDS - CALLER
        note(f"{values.kind}, {values.np} ranks: {per_call} instructions")
        return int(values.least) <= per_call <= int(values.most)

    return wants(judge, f"{values.least} to {values.most} instructions")


# With threads nonblocking calls are not cached: another thread may let Open MPI start one, and change the cache.
test_rows = table(
    row("$what, $np ranks: $least to $most instructions", "$np",
        f"--mca pml ob1 --mca coll gpuring,basic,libnbc,inter,self -- instructions $kind {ROUNDS}",
        ended, of_row(within), wrapper=WRAPPER, why=WHY,
        rows="""kind np least most what
root      2  1    250  MPI_Bcast at its root
start     2  1    310  MPI_Start and MPI_Wait of a broadcast
|
allreduce 2  1    390  MPI_Allreduce
leaf      2  1    270  MPI_Bcast at a leaf
barrier   2  1    245  MPI_Barrier
ibcast    2  1    495  MPI_Ibcast and MPI_Wait
threads   2  1500 4000 MPI_Ibcast and MPI_Wait with MPI_THREAD_MULTIPLE
root      16 1    760  MPI_Bcast at its root
leaf      16 1    500  MPI_Bcast at a leaf
start     16 1    870  MPI_Start and MPI_Wait of a broadcast"""),
)
