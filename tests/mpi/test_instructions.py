# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of small calls with plans, MPI's own part included, on a rank that waits for nobody.

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


def at_most(values):
    """Instructions of a call."""

    def judge(job):
        counted = [int(w) for f in Path(WORK).glob("[01]") for w in re.findall(r"^totals: (\d+)", f.read_text(), re.M)]
        per_call = sum(counted) // ROUNDS - CALLER
        note(f"{values.kind}: {per_call} instructions")
        return 0 < per_call <= int(values.most)

    return wants(judge, f"at most {values.most} instructions")


test_rows = table(
    row("$what: at most $most instructions", 2,
        f"--mca pml ob1 --mca coll gpuring,basic,libnbc,inter,self -- instructions $kind {ROUNDS}",
        ended, of_row(at_most), wrapper=WRAPPER, why=WHY,
        rows="""kind most what
root      250 MPI_Bcast at its root
start     420 MPI_Start and MPI_Wait of a broadcast
|
allreduce 450 MPI_Allreduce
leaf      300 MPI_Bcast at a leaf
barrier   300 MPI_Barrier
ibcast    600 MPI_Ibcast and MPI_Wait"""),
)
