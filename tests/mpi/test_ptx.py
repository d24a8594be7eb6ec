# SPDX-License-Identifier: BSD-3-Clause
"""Collectives on device buffers with the PTX of the component's image, which the fake driver interprets
(tests/fakes/cuda/README.md): the kernels that ship, between processes. Then mutants of it: flags that other processes reach,
at a scope below .sys."""

import os
import re
import resource
from pathlib import Path

import pytest

from rows import *
from rows.devices import *

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
LOG = Path(WORK, "log")
ENV = DEVICES | {"FAKECUDA_PTX": "1", "FAKECUDA_LOG": str(LOG), "GPURING_MEMORY": "device"}
BENCH = f"priority=90 {SMALL}"


def test_benchmark(mpi):
    for coll in depth(["allreduce"], ["allreduce", "allgather", "reduce_scatter", "bcast", "reduce"]):
        job = mpi.run(3, f"{BENCH} -- gpuring_bench {coll} -d cuda -c -m 4:65536 -i 1 -x 0 -B 10")
        if job.lines("an image without PTX"):
            skip_all("the component's image has machine code only")
        job.check(f"{coll}: right", ended, lambda job: len(job.lines("^ +[0-9]+ .* 0$")) >= 13,
                  "!^ +[0-9]+ .* [1-9][0-9]*$")
    job.check("they were interpreted", lambda job: LOG.exists() and "kernel gr_kernel_f32_sum is interpreted" in LOG.read_text())


test_rows = table(
    row("$protocol, $a, $n ranks, $settings", "$n", f"$settings {SMALL} protocol=$protocol algorithm=$a -- {ANY_CASE}",
        good_on_devices, quick=False, rows="""protocol a n settings
simple auto    3 FAKECUDA_WEAK=3
ll     oneshot 2 FAKECUDA_SCHED=lag:4
ll     ring    3 FAKECUDA_WEAK=5
simple twoshot 4 FAKECUDA_SCHED=rand:3"""),
    row("simple, $a, $n ranks", "$n", f"{SMALL} protocol=simple algorithm=$a -- {ANY_CASE}", good_on_devices,
        quick=False, rows="a n\ntree 4\nflat 3\nchain 3"),
    row("every type with every operation", "| 2", f"{SMALL} -- eight_in every --count=0 --beyond", good_on_devices),
)


@pytest.mark.parametrize("what, protocol, old, new", [
    ("a counter read for the device only", "simple", r"ld\.acquire\.sys", "ld.acquire.gpu"),
    ("a line of LL read for the device only", "ll", r"ld\.relaxed\.sys\.global\.v2", "ld.relaxed.gpu.global.v2"),
    ("a line of LL stored for the device only", "ll", r"st\.relaxed\.sys\.global\.v2", "st.relaxed.gpu.global.v2"),
][:depth(1, 3)])
def test_mutants(mpi, what, protocol, old, new):
    texts = sorted(Path(os.environ["KERNEL_BUILD"]).rglob("*.ptx"))
    if not texts:
        skip(f"{what}: caught", "the build kept no PTX")
        return
    text = texts[-1].read_text()
    mutant = Path(WORK, "mutant.ptx")
    mutant.write_text("".join(re.sub(old, new, line, 1) for line in text.splitlines(keepends=True)))
    if mutant.read_text() == text:
        result(f"{what}: nothing to change", False)
        return
    job = mpi.run(2, f"FAKECUDA_PTX={mutant} {BENCH} protocol={protocol} algorithm=ring -- "
                  "gpuring_bench allreduce -d cuda -c -m 4096:4096 -i 1 -x 0 -B 10")
    job.check(f"{what}: caught", failed, lambda job: job.rc != 124,
              "a scope below .sys on memory that others reach PTX line")
