# SPDX-License-Identifier: BSD-3-Clause
"""gpuring_bench -d, with --together, too, under mpirun, on the fake driver: results, formats, refusals."""

import re
from pathlib import Path

from rows import *
from rows.bench import *
from rows.devices import *

ENV = {"LD_LIBRARY_PATH": DEVICES["LD_LIBRARY_PATH"], "GR_HOST": ""}
# Where not every rank opens a device: Open MPI 5's btl/smcuda hangs there, also without gpuring.
FEW = "--mca btl ^smcuda"
WITHOUT_IT = "--mca coll ^gpuring"
LOG, TOGETHER, NONE = Path(WORK, "log"), Path(WORK, "together"), Path(WORK, "none")
NONE.mkdir()
(NONE / "libcuda.so.1").write_text("not a library\n")


def bench(text, np, line, *judges, options="", **more):
    return row(text, np, f"{options} priority=90 -- gpuring_bench {line}", *(judges or [ended]), **more)


# an Open MPI that takes device buffers itself is not refused anything
TAKES = Runner(ENV).run(1, "priority=90 -- gpuring_bench sendrecv -d cuda -m 4:4 -i 1 -B 10").rc == 0
ALL = 23 if TAKES else 22  # all but sendrecv
if TAKES:
    note("this Open MPI takes device buffers itself: nothing to refuse")


def right(text, np, what, device="cuda", collectives=None, **more):
    """Every row says 0 errors; of so many collectives. what: COLLECTIVE... OPTIONS."""
    return bench(text, np, f"-d {device} {what} -i 2 -x 1 -B 10 -c -o csv", rows_right(collectives, device), **more)


def kinds(text, np, devices, collectives, what, *judges, **more):
    """Each rank's buffers in the memory that the list says."""
    judge = of_row(lambda v: rows_right(collectives, getattr(v, "kind", devices)))
    return bench(text, np, f"all -d {devices} -i 2 -x 1 -B 10 -c -o csv {what}", judge, *judges, **more)


def logged(number, pattern, log):
    """So many different ones."""
    return wants(lambda job: len(set(re.findall(pattern, text_of(log)))) == number, f"{number} of {pattern}")


def measures(text, devices, what, **more):
    """B: a pattern of its line in the head."""
    return bench(text, 2, f"bcast -d {devices} -m 4:4 -i 2", ended, f"device {devices}, ", f"# *B = {what}", **more)


def together(text, where, *judges, **more):
    return bench(text, 2, f"allreduce --together=1,4 -d {where} -m 8:8 -i 20 -c", ended, lines_seen(2, "^[^#].* 0$"), *judges,
                 **more)


NO_DRIVER = "needs a CUDA driver and a device: .*"
test_rows = table(
    bench("no driver: one line", 2, "-d cuda bcast -m 4:4", complains(f"{NO_DRIVER}libcuda.so.1"),
          LD_LIBRARY_PATH=f"{NONE}:{WITHOUT}".rstrip(":")),
    bench("no device: one line, $kind", 2, "bcast -d $kind -m 4:4", of_row(
        lambda v: complains(f"^gpuring_bench: -d: '{v.kind}' {NO_DRIVER}NO_DEVICE; allowed: host")),
          kind="managed | cuda pinned", CUDA_VISIBLE_DEVICES=""),
    # ranks on the host lack nothing
    bench("no device for a list: the first rank and its kind", "| 3", "bcast -d host,pinned,cuda -m 4:4",
          complains(f"^gpuring_bench: rank 1: -d: 'pinned' {NO_DRIVER}NO_DEVICE"), options=FEW, CUDA_VISIBLE_DEVICES=""),
    bench("no device at one rank: it is named", 2, "bcast -d cuda -m 4:4", complains("rank 1: -d: 'cuda' needs a CUDA driver"),
          options=FEW, wrapper=each_rank('[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export CUDA_VISIBLE_DEVICES=')),
    # two of four have devices, in memory of two kinds: the log says which process did what
    *([] if TAKES else [
        bench("only ranks that need the driver open it", 4, "bcast -d host,managed,host,pinned -m 4:4 -i 2 -c", ended,
              logged(2, " pid ([0-9]*) retain ", LOG), logged(2, " alloc device . (kind [0-9]*) ", LOG), options=WITHOUT_IT,
              FAKECUDA_LOG=str(LOG)),
        bench("refuses what no one takes, $devices", 2, "bcast -d $devices -m 4:4", of_row(
            lambda v: complains(f"-d: '{v.devices}': this MPI takes no device buffers")), options=WITHOUT_IT,
              devices="host,cuda | cuda"),
        bench("refuses sendrecv, $devices", 2, "sendrecv -d $devices -m 4:4", of_row(
            lambda v: complains(f"-d: '{v.devices}': 'sendrecv' needs an MPI with CUDA support")),
              devices="host,cuda | cuda")]),
    # what the host reaches too is for any MPI, and messages: gpuring is not there
    kinds("managed and pinned memory without gpuring", "| 2", "managed,pinned,host", 23, "-m 1k:1k", options=WITHOUT_IT),
    bench("host buffers", "| 2", "bcast -m 4:4 -i 2 -B 10 -c -o json", json_says(lambda d: d["device"] == "host")),
    bench("JSON, and B is measured between devices", 2, "-d cuda allreduce -m 64:128 -i 2 -x 1 -c -o json", json_says(
        lambda d: d["device"] == "cuda" and all(r["errors"] == 0 for r in d["results"]),
        lambda d: d["B"]["source"] == "measured" and "CUDA IPC" in d["B"]["how"] and d["B"]["GBs"] > 0)),
    bench("ranks that share a device: the limit is one pass over its memory", 2,
          "-d cuda allreduce -m 64:128 -i 2 -x 1 -o json", json_says(
              lambda d: "share" in d["memory"]["how"] and d["memory"]["source"] == "measured",
              lambda d: all(near(r["ideal_GBs"] * 4, d["memory"]["GBs"]) for r in d["results"])), FAKECUDA_DEVICES="1"),
    bench("ranks on two devices: it is B", "| 2", "-d cuda allreduce -m 64:128 -i 2 -x 1 -o json", json_says(
        lambda d: d["memory"]["GBs"] is None and all(r["ideal_GBs"] == d["B"]["GBs"] for r in d["results"])),
          FAKECUDA_DEVICES="2", FAKECUDA_PEER="all"),
    bench("table", "| 2", "-d cuda bcast -m 64:64 -i 2 -B 10 -c", ended, "device cuda"),
    measures("B of managed memory: as on devices", "managed", ".*CUDA IPC", quick=False),
    measures("B of pinned and host memory: the host's", "pinned,host", ".*memcpy", options=FEW, quick=False),
    measures("B of a mixture: not known", "cuda,host", r"n/a \(not measured: some ranks' buffers are on devices", options=FEW,
             quick=False),
    bench("B of a mixture, JSON", 2, "bcast -d cuda,host -m 4:4 -i 2 -o json", json_says(
        lambda d: d["B"]["GBs"] is None and d["B"]["source"] == "n/a" and "not measured" in d["B"]["how"],
        lambda d: d["device"] == "cuda,host" and all(r["ideal_GBs"] is None for r in d["results"])), options=FEW),
    *[right(f"all, {np} ranks", np, f"all -m 4:40k -r {np - 1}", collectives=ALL, quick=np == 2) for np in (1, 2, 4)],
    *[right(f"all, {form}", 3, f"all {form} -m 1k:8k -r 1", collectives=16 if "--in-place" in form else ALL,
            quick=form == "--persistent --in-place") for form in (
                "--in-place", "--nonblocking", "--nonblocking --in-place", "--persistent", "--persistent --in-place")],
    kinds("all, $kind", "| 3", "$kind", 23, "-m 1k:40k -r 1", kind="managed pinned"),
    kinds("all, $kind, --persistent --in-place", "| 3", "$kind", 16, "-m 1k:8k -r 1 --persistent --in-place",
          kind="managed pinned"),
    kinds("a list: cuda,host", "| 3", "cuda,host", ALL, "-m 1k:8k", options=FEW),
    kinds("a list: cuda,host, in place", "| 3", "cuda,host", 16, "-m 1k:8k -r 1 --in-place", options=FEW),
    kinds("a list: all kinds", "| 4", "host,cuda,pinned,managed", ALL, "-m 1k:8k -r 2 --nonblocking", options=FEW),
    kinds("a list: no host", "| 3", "managed,cuda", ALL, "-m 1k:8k --persistent"),
    # the host's rank says by a parameter that gpuring is on there: it has no device
    kinds("gpuring takes a call of a device and a host", 3, "cuda,host", ALL, "-m 1k:8k",
          "^allreduce,.*,(leader|flat|ring|tree|oneshot|twoshot),[0-9.]*,0$", options=f"{FEW} host=1"),
    right("allreduce and reduce_scatter, $type $op", 3, "allreduce reduce_scatter -T $type -O $op -m 64:8k", rows="""type op
int32 bxor
|
int8 sum
uint16 max
uint64 prod
double min"""),
    right("two devices", "| 3", "allreduce bcast -m 1k:8k", FAKECUDA_DEVICES="2", FAKECUDA_PEER="all"),
    bench("a wrong element is found", "| 2", "all -d cuda -m 64:64 -i 2 -B 10 -c -o csv", corrupted(ALL),
          GPURING_BENCH_CORRUPT="1"),
    bench("a wrong element is found, managed and pinned", 2, "all -d managed,pinned -m 64:64 -i 2 -B 10 -c -o csv",
          corrupted(23), GPURING_BENCH_CORRUPT="1"),
    together("--together, $devices", "$devices", devices="pinned | cuda"),
    together("--together, cuda,host", "cuda,host", options=FEW, quick=False),
    # the buffers of all calls are in the memory asked for: of two ranks, one allocates there
    together("--together follows a list", "host,managed", logged(1, " pid ([0-9]*) alloc ", TOGETHER),
             options=f"{FEW} {WITHOUT_IT}", FAKECUDA_LOG=str(TOGETHER)),
)
