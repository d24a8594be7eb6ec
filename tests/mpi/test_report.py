# SPDX-License-Identifier: BSD-3-Clause
"""The report of a job: the line that says whether gpuring was on, and the table of all ranks (docs/parameters.md#report)."""

import json
import re
from pathlib import Path

from rows import *

# calls.py LIBMPI COLLECTIVE CALLS COUNT[,COUNT...] [RANK SECONDS]: so many calls of each count, to each of which the rank
# comes that much later
PROGRAM = """
import ctypes, sys, time
mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
at = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
world, double, add = at("ompi_mpi_comm_world"), at("ompi_mpi_double"), at("ompi_mpi_op_sum")
mpi.MPI_Init(None, None)
rank = ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
name, calls, counts = sys.argv[2], int(sys.argv[3]), [int(count) for count in sys.argv[4].split(",")]
late = sys.argv[5:] and int(sys.argv[5]) == rank.value
given, got = ((ctypes.c_double * max(counts))() for _ in "ab")
for count in calls * counts:
    if late:
        time.sleep(float(sys.argv[6]))
    if name == "barrier":
        mpi.MPI_Barrier(world)
    else:
        mpi.MPI_Allreduce(given, got, count, double, add, world)
mpi.MPI_Finalize()
"""
Path(WORK, "calls.py").write_text(PROGRAM)
CALLS = "PROGDIR= -- python3 $work/calls.py $libmpi"
LIBMPI = in_make("print-libmpi")
JSON = Path(WORK, "report.json")
OFF = r"^\[.*\] gpuring: off: "
# A rank without a report, where the others have one; and one that has other parameters.
UNREPORTED = each_rank("[ ${OMPI_COMM_WORLD_RANK:-0} != 1 ] || export OMPI_MCA_coll_gpuring_report=none")
ABSENT = each_rank("[ ${OMPI_COMM_WORLD_RANK:-0} != 1 ] || export OMPI_MCA_coll_gpuring_priority=0")


def calls(options, arguments):
    return CALLS.replace("PROGDIR=", f"PROGDIR= {options}") + f" {arguments}"


def number(text):
    return int(text.replace(",", ""))


def adds_up(job):
    """gpuring did all calls, and those of each collective are as many; others are named apart."""
    (line,) = job.lines(r"gpuring: .* collective call")
    found = re.search(r"\] gpuring: ([\d,]+) of \1 collective calls \(([^)]+)\), \d+\.\d% of the run(, waiting another "
                      r"\d+\.\d%)?; not gpuring's: gather 1, alltoallv 1, scan 1, neighbor_allgather 1(; latest rank: \d)?$",
                      line)
    each = dict(part.split() for part in found[2].split(", "))
    return number(found[1]) == sum(map(number, each.values())) and each["reduce"] == "1" and each["alltoall"] == "1"


def ranges(job, name):
    """Of the collective's row: waits and moves, each the least and the most of ranks, in us."""
    (line,) = job.lines(rf"^# {name} +host")
    return [tuple(map(float, text.split(".."))) for text in re.findall(r"[\d.]+\.\.[\d.]+", line)]


def waits_apart(job):
    """Rank 1 comes 400 ms late to each call: others wait for it, on a loaded machine not quite as long; it waits less, and
    what calls take apart from that is less, too."""
    (wait_least, wait_most), (_, move_most) = ranges(job, job.row.name)
    return wait_most > 100000 and max(wait_least, move_most) < wait_most / 2


def waits_once(job):
    """Of most calls only a long wait is timed. Rank 1 comes 20 ms late to each of 100: others wait about as long, and no
    longer than the job runs."""
    row, *_, total = json.loads(JSON.read_text())
    waits = 100 * row["wait_us_most"] / 1e6
    return row["calls"] == 100 and 100 * 0.02 / 4 < waits < total["run_s"] / total["ranks"]


def classes(job):
    """Calls and class of each row."""
    return [re.search(r"host +\S+ +(\d+) .* ((?:to|above) .*iB)", line).groups() for line in job.lines("^# allreduce +host")]


def totals(job):
    """The JSON's last element says what the line says; rows have the waiting and the size."""
    *rows, total = json.loads(JSON.read_text())
    found = {row["size"]: row["calls"] for row in rows if row.get("collective") == "allreduce"}
    return (found == {"to 1 KiB": 7} and total["ranks"] == total["ranks_of_job"] == 3 and total["run_s"] > total["move_s"] > 0
            and total["total"].startswith("gpuring: 7 of 7 collective calls (allreduce 7), ")
            and all(row["wait_us_least"] <= row["wait_us"] <= row["wait_us_most"] for row in rows))


test_rows = table(
    row("report line: calls of each collective, and those that it does not do", 3, "report=line -- hello_coll", all_good,
        wants(adds_up, "the line"), also={
            "report line: one line, from one rank": lines_seen(1, "gpuring: .*collective call"),
            "report line: no table": "!^# gpuring:|^# allreduce +host"}),
    row("by default a job ends in silence", 3, "hello_coll", all_good, also={
        "by default no rank says anything": "!gpuring: [0-9]|gpuring: o[nf]|^# gpuring:"}),
    row("one call: the singular", 2, calls("report=line", "allreduce 1 1"), ended,
        "gpuring: 1 of 1 collective call \\(allreduce 1\\), ", libmpi=LIBMPI),
    row("thousands of calls: with separators", 2, calls("report=line", "allreduce 1234 1"), ended,
        "gpuring: 1,234 of 1,234 collective calls \\(allreduce 1,234\\), ", libmpi=LIBMPI),
    row("no call", 2, calls("report=line", "allreduce 0 1"), ended, "gpuring: on, but no collective call was made", libmpi=LIBMPI),
    row("calls that fall back: how many, and why", 2,
        calls("report=line mailbox_bytes=0 pool_mib=1 slot_bytes=67108864", "allreduce 6 1000"), ended,
        "gpuring: 0 of 6 collective calls; 6 fell back: setup 6$", libmpi=LIBMPI),
    row("gpuring is off on another rank", 2, calls("report=line", "allreduce 6 1"), ended,
        "gpuring: 0 of 6 collective calls; 6 fell back: peers 6$", libmpi=LIBMPI, wrapper=ABSENT, also={
            "    a line says so": lines_seen(1, r"gpuring: on rank 1 of MPI_COMM_WORLD gpuring is not loaded, or off \(.*\), "
                                            "but on rank 0 it is on; allowed: the same on all ranks")}),
    row("off: host memory is left to others", 2, "GR_HOST=0 cuda=0 report=line -- hello_coll", all_good,
        f"{OFF}coll_gpuring_host is 0, and there is no GPU"),
    row("off: by its priority", 2, "priority=0 report=line -- hello_coll", all_good, f"{OFF}coll_gpuring_priority is 0$"),
    row("off: one rank", 1, "report=line cuda=0 -- hello_coll", all_good, f"{OFF}the job has one rank$"),
    row("left out of Open MPI's list: not a word of it", 2, "--mca coll ^gpuring report=line slots=1 -- hello_coll",
        good_without_gpuring, r"!\] gpuring: |A requested component"),
    row("off: below all others", 2, "priority=5 report=line -- hello_coll", all_good,
        f"{OFF}no component below coll_gpuring_priority offers allreduce; raise it"),
    row("behind other components", 2, "priority=20 report=line -- hello_coll", all_good,
        "gpuring: .*other components come before it; raise coll_gpuring_priority$"),
    row("report summary ends with the line", 2, calls("report=summary", "allreduce 3 1"), ended,
        wants(lambda job: job.lines("^# ")[-1].startswith("# gpuring: 3 of 3 collective calls (allreduce 3), "), "the line"),
        libmpi=LIBMPI),
    row("a late rank, $name of $bytes: what others wait is apart from what they move", 3,
        calls("report=summary $options", "$name 4 $count 1 0.4"), ended, wants(waits_apart, "waits of 400 ms"), also={
            "    the line names it": "^# gpuring: .*, waiting another [0-9.]+%; latest rank: 1$"}, libmpi=LIBMPI,
        rows="""name count bytes options
allreduce 1      8-B
allreduce 100000 800-KB  algorithm=ring
|
barrier   1      0-B
allreduce 1      8-B     mailbox_bytes=0
allreduce 100000 800-KB  algorithm=flat
allreduce 100000 800-KB  algorithm=tree"""),
    row("a late rank, 100 calls: their waits are in the sum once", 2, calls(f"report=json:{JSON}", "allreduce 100 1 1 0.02"),
        ended, wants(waits_once, "waits of 20 ms"), libmpi=LIBMPI),
    row("calls of each size class have a row", 2, calls("report=summary algorithm=flat mailbox_bytes=0",
                                                         "allreduce 2 1,1000,2000,100000,200000"), ended,
        wants(lambda job: classes(job) == [("2", "to 1 KiB"), ("4", "to 64 KiB"), ("2", "to 1 MiB"), ("2", "above 1 MiB")],
              "2 calls to 1 KiB, 4 to 64 KiB, 2 to 1 MiB and 2 above"), libmpi=LIBMPI),
    row("report json: rows and totals", 3, calls(f"report=json:{JSON}", "allreduce 7 1"), ended, totals, libmpi=LIBMPI),
    row("a rank without a report: the report is of the others, and the job ends", 2, calls("report=summary", "allreduce 3 1"),
        ended, "^# gpuring: what the collectives of 1 of 2 ranks achieved", libmpi=LIBMPI, wrapper=UNREPORTED),
)

