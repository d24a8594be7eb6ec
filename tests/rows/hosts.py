# SPDX-License-Identifier: BSD-3-Clause
"""Rows between hosts (hosts/hosts.sh). A file that includes this is skipped where there can be none."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from .judge import wants
from .table import np_of, row

__all__ = ["HOSTS", "MARK", "STOCK", "between", "continue_stopped", "has_ucx", "marked", "marked_is", "nodes", "waits_for_1"]

HOSTS = str(Path(__file__).parent.parent / "hosts/hosts.sh")
# What starts hosts has slots for all ranks. With that option Open MPI 5 places them all on the first one.
STOCK = os.environ["MPIRUN"].replace(" --oversubscribe", "")
MARK = str(100000000 + os.getpid())  # an argument of programs, by which their processes are found
os.environ.pop("OMPI_MCA_pml", None)  # which Open MPI chooses for the network
waits_for_1 = "rank 0 of stalled communicator .*waits for rank 1$"

possible = subprocess.run([HOSTS, "possible"], stdout=subprocess.PIPE, text=True, check=False)
if possible.returncode:
    pytest.skip(possible.stdout.strip(), allow_module_level=True)


def has_ucx():
    """Else the file is skipped."""
    if not Path(os.environ["GR_DIR"], "gpuring_net_ucx.so").exists():
        pytest.skip("gpuring was built without UCX", allow_module_level=True)


def between(layout, *before):
    """What Runner.start is given for a job between hosts. before: commands that run mpirun's line."""
    return {"launcher": [HOSTS, "run", *layout.split(), *before], "MPIRUN": STOCK}


def nodes(text, layout, line, *judges, **more):
    """A row between hosts, through gpuring; environment variables are given with -x. layout: as row's
    values, or None: a column of `rows` has it."""
    options, dashes, program = f" {line}".partition(" -- ")
    line = f"nodes=1 --mca op ^avx {options if dashes else ''} -- {program if dashes else line}"
    values = {"layout": layout} if layout else {}
    return row(text, "$layout", line, *judges, **between("$layout"), **values, **more)


def marked():
    """Processes with MARK among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if MARK in path.read_bytes().decode(errors="replace").split("\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def continue_stopped():
    for pid in marked():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def marked_is(number):
    return wants(lambda job: len(marked()) == number, f"{number} processes")
