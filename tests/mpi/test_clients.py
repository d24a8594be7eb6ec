# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the distribution under gpuring: mpi4py with arrays in host memory and on the fake driver's devices, and the HPC
Challenge benchmark. Installs nothing; missing programs are skipped.
Environment: MPI4PY_SUITE: where benchmarks/clients/mpi4py_suite.sh has fetched mpi4py."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from rows import *
from rows.clients import *

FAKE, SUITE = os.environ["FAKECUDA"], os.environ.get("MPI4PY_SUITE")  # only where somebody has fetched it
ENV = CLIENTS | {"PROGDIR": "", "FAKECUDA_SMS": "64", "FAKECUDA_DEVICES": "2"}
GPURING = "--mca coll gpuring report=summary"
OURS = "allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block", "bcast", "reduce"
WRONG = failed, "!^ok ", "^not ok"
COUNTS = depth("--counts 1 9000", "")  # the second is more than what goes through a mailbox, or in lines
RECENT = 'import mpi4py, numpy, sys; sys.exit(mpi4py.__version__ < "3.1")'
SERVES = 'from mpi4py import MPI; print("library", MPI.Get_library_version().rstrip("\\0"))'


def find_python():
    """A python3 that has mpi4py for this Open MPI; or why there is none."""
    why = "no python3 has mpi4py 3.1 or newer (package python3-mpi4py)"
    version = re.search("^Open MPI v(.*)", ompi_info("--version"), re.M)[1]
    for python in "python3", "/usr/bin/python3":
        if subprocess.run([python, "-c", RECENT], stderr=subprocess.DEVNULL, check=False).returncode:
            continue
        job = Runner(ENV).run(1, f"{python} -c '{SERVES}'")
        if job.lines(rf"^library Open MPI v{version}[, ]"):
            return shutil.which(python), None
        why = f"mpi4py does not run on Open MPI {version}"
    return None, why


PYTHON, WHY = find_python()


def python(text, np, memory, options, line, *judges, **more):
    """A row of the client: by default gpuring carries out all of its own, on buffers there."""
    small = "device_channels=2 device_slot_bytes=16384 --mca op ^avx"
    client = f"{os.environ['srcdir']}/benchmarks/clients/mpi4py_collectives.py"
    return row(f"mpi4py: {text}", np, f"{GPURING} {small} {options} -- {PYTHON} {client} {COUNTS} {line}",
               *(judges or (all_good, *did(memory, *OURS))), **more)


def on_devices(text, np, options, line, *judges, **more):
    """Where a node has a GPU, or MPI_Init finds the driver loaded, gpuring looks for device buffers by itself."""
    libraries = f"{FAKE}:{ENV.get('LD_LIBRARY_PATH') or os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    return python(text, np, "cuda", options, line, *judges, LD_LIBRARY_PATH=libraries, **more)


OTHERS = {"GR_HOST": "0"}
test_mpi4py = table(row("mpi4py", 1, "", why=WHY)) if WHY else table(
    python("NumPy arrays, $np ranks", "5 | 2", "host", "", "--memory host"),
    python("a wrong element is found", 2, "host", "", "--corrupt --counts 100", *WRONG),
    *([on_devices("arrays on devices, driver opened before MPI_Init", 3, "", "--memory device --early", **OTHERS),
       on_devices("arrays on devices, driver opened after MPI_Init", 4, "cuda=1", "--memory device", **OTHERS),
       # kernels of ranks that share a device run at the same time with MPS only; else the host does the calls
       on_devices("arrays on devices and in host memory", "| 3", "cuda=1", "--memory mixed", FAKECUDA_MPS="1", **OTHERS),
       on_devices("a wrong element on a device is found", 2, "cuda=1", "--memory device --corrupt --counts 100", *WRONG)]
      if Path(FAKE, "fakecuda_kernels.so").exists() else
      [row("mpi4py: arrays on devices", 1, "", why="no CUDA toolkit: nothing to run on devices with")]),
)
MAIN = next(Path(SUITE).glob("mpi4py-*/test/main.py"), "") if SUITE else None
test_suite = table(*[row("mpi4py's own tests", 3, f"{GPURING} -- {PYTHON} {MAIN} -q -i test_cco", ended, lines_seen(3, "^OK"),
                         "!^FAILED", *did("host", *OURS), why=WHY, TEST_LIMIT="1200", PYTHONPATH=f"{SUITE}/lib",
                         PYTHONDONTWRITEBYTECODE="1")][:bool(SUITE)])
# N, NB, P, Q: 300, 32, 2, 2
INPUT = "HPL HPCC HPL.out 8 1 300 1 32 0 1 2 2 16.0 1 2 1 4 1 2 1 1 1 1 1 0 2 64 0 0 1 8 ---- 0 40 0 40"


def test_hpcc(mpi):
    """HPC Challenge: HPL, PTRANS, RandomAccess, FFT; it checks itself."""
    if not shutil.which("hpcc"):
        skip("HPC Challenge", "no hpcc (package hpcc)")
        return
    folder = Path(WORK, "hpcc")
    folder.mkdir()
    (folder / "hpccinf.txt").write_text(INPUT.replace(" ", "\n") + "\n")
    job = mpi.run(4, f"{GPURING} --wdir {folder} -- hpcc")
    text = text_of(folder / "hpccoutf.txt")
    right = re.search("^Success=1$", text, re.M) and "FAILED" not in text and re.search(
        "^ *1 tests completed and passed residual checks", text, re.M)
    job.check("HPC Challenge, 4 ranks", ended, wants(lambda job: bool(right), "its own checks"),
              *did("host", "allreduce", "bcast", "reduce", "allgather"))
