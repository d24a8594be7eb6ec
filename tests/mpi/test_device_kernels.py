# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm and protocol of the kernels, on the fake CUDA driver, and the benchmark that measures them."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
SIZES = f"--max-bytes={depth(200000, 1 << 30)}"


def chosen(protocol):
    """What is chosen, as rank 0 says it."""
    return of_row(lambda v: seen(rf"bytes on devices .*: {v.a} \(forced\), {protocol or v.protocol}, [0-9]+ threads"))


def rows_right(least):
    """The benchmark's: so many or more, all without errors."""
    return ended, lambda job: len(job.lines("^ +[0-9]+ .* 0$")) >= least, "!^ +[0-9]+ .* [1-9][0-9]*$"


def by_protocol(np, rows, protocol=None):
    """also: those of an algorithm that is forced are what was chosen."""
    return row("$protocol, $a, $np ranks, $memory memory", np,
               f"GPURING_MEMORY=$memory {SMALL} verbose=2 protocol=$protocol algorithm=$a -- {ANY_CASE} {SIZES}", good_on_devices,
               memory="device", rows=f"protocol a n\n{rows}",
               also={"$protocol, $a: they are what was chosen": chosen(protocol)})


NVLINK = "ll128 over NVLink"


def over_nvlink(algorithms, **also):
    """Each of two ranks has a device of its own, and NVML says that NVLink joins them."""
    return row(f"{NVLINK}, $a", 2, f"LD_LIBRARY_PATH={DEVICES['LD_LIBRARY_PATH']}:{NVML} FAKENVML_BUSSES=16,17 {SMALL} "
               "verbose=2 protocol=ll128 algorithm=$a -- " + ANY_CASE, good_on_devices, a=algorithms,
               wrapper=each_rank("export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK"),
               also={f"{NVLINK}, $a: it is what was chosen": chosen("ll128")} | also)


test_rows = table(
    # ---- every algorithm ----
    row("$a, $channels channels, $slots slots of $bytes bytes, $n ranks", "$n", "--mca op ^avx algorithm=$a "
        f"device_channels=$channels device_slots=$slots device_slot_bytes=$bytes -- {ANY_CASE} {SIZES}", good_on_devices,
        rows="""a channels slots bytes n
ring  1 4 4096  4
tree  2 2 4096  3
|
tree  2 2 4096  5
flat  3 2 8192  4
chain 2 3 16384 3
tree  4 4 65536 2
ring  3 2 256   3"""),
    # ---- every protocol ----
    row("ll, auto, 3 ranks, mixed memory", "| 3", f"GPURING_MEMORY=mixed {SMALL} verbose=2 protocol=ll algorithm=auto -- {ANY_CASE}",
        good_on_devices),
    by_protocol("$n", "ll oneshot 4\nsimple twoshot 4\n|\nll ring 4\nll tree 3\nll flat 5\nll twoshot 5\nsimple oneshot 3"),
    by_protocol("$n", "ll128 ring 3", "(ll|simple)"),  # what auto chooses: these ranks share devices
    row("ll128 where stores may not arrive whole: said once", 3,
        f"{SMALL} protocol=ll128 -- gpuring_bench allreduce -d cuda -c -m 8:4096 -i 2 -x 1 -B 10", lines_seen(
            1, "gpuring: coll_gpuring_protocol ll128 is not possible in MPI_COMM_WORLD, where links go over PCIe")),
    *([over_nvlink("tree", **{f"{NVLINK}: nothing to say": "!ll128 is not possible"}),
       over_nvlink("| ring oneshot twoshot")] if NVML else [row(NVLINK, 2, "", why="no fake NVML was built")]),
    # ---- the benchmark ----
    row("gpuring_bench -d cuda -c: five collectives of all sizes are right", 4, f"priority=90 {SMALL} -- gpuring_bench allreduce "
        "allgather reduce_scatter bcast reduce -d cuda -c -m 4:65536 -i 2 -x 1 -B 10", *rows_right(65)),
    row("gpuring_bench -d cuda -c --persistent", 3,
        f"{SMALL} -- gpuring_bench allreduce bcast -d cuda -c -m 64:16384 -i 2 -x 1 --persistent -B 10", *rows_right(18)),
)
