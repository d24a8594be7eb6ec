# SPDX-License-Identifier: BSD-3-Clause
"""A Fortran program's collectives, of fortran.f90: Fortran's types and logical values, MPI_IN_PLACE, operations. Compiled
here, without the component. Skipped where mpifort compiles no program."""

import os
import subprocess
from pathlib import Path

import pytest

from rows import *
from rows.clients import *

ENV = CLIENTS | {"PROGDIR": WORK}


def mpifort(*arguments):
    return subprocess.run([PREFIX / "bin/mpifort", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)


Path(WORK, "one.f90").write_text("program one\n  use mpi\nend program one\n")
try:
    if mpifort("-o", f"{WORK}/one", f"{WORK}/one.f90").returncode:
        raise OSError
except OSError:
    pytest.skip("mpifort compiles no program", allow_module_level=True)


def test_compiled():
    built = mpifort("-O1", "-J", WORK, "-o", f"{WORK}/fortran", f"{os.environ['srcdir']}/tests/mpi/fortran.f90")
    result("it is compiled", built.returncode == 0, built.stdout)


test_rows = table(
    row("$np ranks", "3 | 2 4 5", "--mca coll gpuring report=summary -- fortran", all_good, lines_seen(18, "^ok"),
        *did("host", "allreduce", "allgather", "reduce_scatter", "bcast", "reduce", "alltoall")),
    row("the same without gpuring", 2, "--mca coll ^gpuring -- fortran", all_good),
)
