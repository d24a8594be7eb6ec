# SPDX-License-Identifier: BSD-3-Clause
"""Ranks without a driver, with an old driver, or with one that is loaded after MPI_Init. Programs without devices pay
nothing."""

import os
import re
from pathlib import Path

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
# Open MPI 5's btl/smcuda hangs where rank 0 has no driver, with or without gpuring.
SMCUDA = "--mca btl ^smcuda" if OMPI_SERIES != 4 else ""
CANNOT = "gpuring: rank [0-9]+ of .* cannot use a GPU"
LOG = f"{WORK}/contexts"


def rank_0(*exports):
    return each_rank(f"[ $OMPI_COMM_WORLD_RANK != 0 ] || export {' '.join(exports)}")


def staged(text, options, words, wrapper):
    """One rank cannot use its device."""
    return row(f"{text}: staged", 3, f"{SMALL} {options} -- {ANY_CASE}", good_by_staging, wrapper=wrapper,
               also={f"{text}: said once": lines_seen(1, CANNOT + words)})


# a driver that is too old for the kernels, but can copy; without an older one that will do there is nothing to show
toolkit = int(re.search("^GR_CUDA_TOOLKIT = (.*)", Path(os.environ.get("builddir", "."), "Makefile").read_text(), re.M)[1])
older = toolkit // 1000 * 1000 - 10
if Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists():
    not_late = "there is a device"
elif "\nmca:accelerator:cuda:" in ompi_info("--parsable", env=DEVICES):  # it needs the driver to be loaded itself
    not_late = "this Open MPI loads it in MPI_Init"
else:
    not_late = None


def late(text, options, said, **more):
    """A row whose program loads the driver after MPI_Init."""
    judges = ([lines_seen(1, "gpuring: allreduce on rank 0 of .* has a buffer in device memory, but the CUDA driver")]
              if said else ["!was loaded after MPI_Init"])
    return row(text, 3, f"GPURING_MEMORY=host {options} {SMALL} -- devices late", all_good, *judges, **more)


test_rows = table(
    # rank 0 has its buffers in host memory
    staged("one rank without a driver", f"{SMCUDA} cuda=1", "",
           rank_0(f"LD_LIBRARY_PATH='{WITHOUT}'", "GPURING_MEMORY=host")),
    staged("one rank's driver is too old", f"{SMCUDA} cuda=1", r" .*11\.8",
           rank_0("FAKECUDA_VERSION=11080", "GPURING_MEMORY=host")),
    *([staged("one rank's driver is older than the kernels", "",
              rf" \(the driver is of CUDA .*, but the kernels need {toolkit // 1000}\.0\)",
              rank_0(f"FAKECUDA_VERSION={older}")),
       row("all ranks' drivers are older than the kernels: staged", "| 3",
           f"FAKECUDA_VERSION={older} {SMALL} -- {ANY_CASE}", good_by_staging)] if older >= 12000 else
      [row("a driver that is older than the kernels", 3, "", why="such drivers lack functions, too")]),
    # a program that uses no device pays with no context
    row("host memory only", 3, f"GPURING_MEMORY=host FAKECUDA_LOG={LOG} {SMALL} cuda=1 -- hello_coll", all_good, also={
        "host memory only: no context, no allocation":
            wants(lambda job: not Path(LOG).exists() or not Path(LOG).stat().st_size, "nothing in the log")}),
    # ---- a driver that is loaded after MPI_Init ----
    *([row("a driver that is loaded late", 3, "", why=not_late)] if not_late else [
        late("the driver is loaded late: staged, and said", "GR_HOST=1", True),
        late("the same, where gpuring does nothing in host memory", "", False),
        late("the same where it is expected", "cuda=1", False),
        late("the same where one rank expects it", "GR_HOST=1", False,
             wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK != 0 ] || export OMPI_MCA_coll_gpuring_cuda=1"))]),
)
