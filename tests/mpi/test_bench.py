# SPDX-License-Identifier: BSD-3-Clause
"""gpuring_bench under mpirun: formats, keys, checks, exit status, error lines."""

from pathlib import Path

import pytest

from rows import *
from rows.bench import *

ENV = {"GR_DIR": "", "GR_HOST": ""}
KEYS = {"collective", "ranks", "nodes", "device", "type", "op", "results"}
ROW = {"bytes", "avg_us", "min_us", "max_us", "p50_us", "p99_us", "algbw_GBs", "busbw_GBs",
       "ideal_GBs", "efficiency", "errors", "algorithm", "cycle_us"}


def bench(text, np, line, *judges, **more):
    return row(text, np, f"gpuring_bench {line}", *(judges or [ended]), **more)


def right(text, np, line, collectives=None, **more):
    """Every row says 0 errors; of so many collectives."""
    return bench(text, np, f"{line} -i 2 -x 1 -B 10 -c -o csv", rows_right(collectives), **more)


def refuses(text, pattern, line, np=0, **more):
    return bench(f"refuses {text}", np, line, complains(f"^gpuring_bench: .*{pattern}"), **more)


def each(condition, *more):
    """It is true of each result, of one collective or of several."""
    return lambda d: all(condition(r) for x in (d if isinstance(d, list) else [d]) for r in x["results"])


V = "gather gatherv scatter scatterv alltoallv scan exscan"
test_rows = table(
    bench("JSON of one collective", 2, "allreduce -m 64:1k -i 3 -x 1 -B 10 -o json", json_says(
        lambda d: KEYS <= d.keys(), each(lambda r: ROW <= r.keys()),
        lambda d: d["collective"] == "allreduce" and d["ranks"] == 2 and d["device"] == "host",
        lambda d: [r["bytes"] for r in d["results"]] == [64, 128, 256, 512, 1024],
        each(lambda r: near(r["busbw_GBs"], r["bytes"] / r["avg_us"] / 1e3)),
        each(lambda r: r["ideal_GBs"] == 10 and r["errors"] is None),
        each(lambda r: near(r["efficiency"], r["busbw_GBs"] / 10)),
        each(lambda r: r["min_us"] <= r["avg_us"] <= r["max_us"] < r["cycle_us"] and r["p50_us"] <= r["p99_us"]))),
    bench("JSON of several is a list", 3, "allgather bcast -m 1k:1k -i 3 -B 10 -o json --fit", json_says(
        lambda d: [x["collective"] for x in d] == ["allgather", "bcast"],
        lambda d: d[0]["results"][0]["bytes"] == 1020 and d[1]["results"][0]["bytes"] == 1024,
        lambda d: all(KEYS <= x.keys() and x["op"] == "none" and x["fit"] is None for x in d))),
    bench("all is every collective", 2, "all -m 16:16 -i 2 -B 10 -o json", json_says(
        lambda d: len({x["collective"] for x in d}) == len(d) == 23)),
    # S and busbw / algbw, on three ranks
    bench("S and factors", 3, f"{V} -m 1k:1k -i 3 -x 1 -B 10 -o json", json_says(
        lambda d: [x["op"] for x in d] == 5 * ["none"] + 2 * ["sum"],
        lambda d: [x["results"][0]["bytes"] for x in d] == 5 * [1020] + 2 * [1024],
        each(lambda r: near(r["algbw_GBs"], r["bytes"] / r["avg_us"] / 1e3) and r["ideal_GBs"] == 10),
        lambda d: each(lambda r: near(r["busbw_GBs"], r["algbw_GBs"] * 2 / 3))(d[:5]),
        lambda d: each(lambda r: near(r["busbw_GBs"], r["algbw_GBs"]))(d[5:]))),
    bench("JSON fit", 2, "bcast -m 64k:1M -i 10 -B 10 -o json --fit", json_says(
        lambda d: d["fit"] is None or d["fit"]["bandwidth_GBs"] > 0)),
    bench("one rank", 1, "all -m 4:64 -i 2 -c -o json", json_says(
        each(lambda r: r["errors"] == 0 and r["ideal_GBs"] is None))),
    bench("CSV", 2, "allreduce bcast -m 4:8 -i 2 -B 10 -o csv", ended,
          lambda job: [line.count(",") for line in job.out.read_text().splitlines()] == [18] * 5),
    bench("table", 2, "reduce -m 4:16 -i 2 -B 10 -c", ended, lambda job: 3 == sum(
        not line.startswith("#") for line in job.out.read_text().splitlines()),
          r"B = 10 GB/s \(option\)", "I = n/a", "library: "),
    bench("B is measured", 2, "bcast -m 4:4 -i 2 -o json", json_says(
        lambda d: d["B"]["source"] == "measured" and d["B"]["GBs"] > 0 and d["I"]["source"] == "n/a")),
    bench("-f", 2, "bcast -m 4:4 -i 2 -B 10 -o json -f $work/file", ended, quiet,
          lambda job: '"collective": "bcast"' in text_of(Path(WORK, "file"))),
    bench("-h", 2, "-h", ended, lines_seen(1, "^usage: "), "sendrecv, or all$", "!^.{96}"),
    *[right(f"all, {what}, {np} ranks", np, f"all {options} -r {np - 1}", number, quick=np == 3) for np in (1, 2, 3, 4)
      for what, options, number in (("float sum", "-m 4:40k", 23), ("in place", "--in-place -m 1k:40k", 16))],
    bench("barrier: one row, a latency", 2, "barrier -m 4:1k -i 3 -B 10 -c -o json", json_says(
        lambda d: [r["bytes"] for r in d["results"]] == [0],
        each(lambda r: r["avg_us"] > 0 and r["busbw_GBs"] is None and r["errors"] == 0))),
    right("all, $form", 3, "all $form -m 1k:40k -r 1", 23, form="| --nonblocking --persistent"),
    right("all, $form --in-place", 3, "all $form --in-place -m 1k:40k -r 1", 16, form="--nonblocking --persistent"),
    right("large enough to segment", 3, "all -m 1M:1M"),
    right("reductions, $type $op", 4, "allreduce reduce_scatter scan exscan -T $type -O $op -m 64:8k", rows="""type op
int8 sum
int32 bxor
double max
|
uint8 prod
int16 min
uint16 max
uint32 band
int64 bor
uint64 sum
double prod
float min
byte bor
char max"""),
    bench("a wrong element is found", "| 2", "all -m 64:64 -i 2 -B 10 -c -o csv", corrupted(23), GPURING_BENCH_CORRUPT="1"),
    bench("a wrong element is found, in place", 2, "all -m 64:64 -i 2 -B 10 -c -o csv --in-place -r 1", corrupted(16),
          GPURING_BENCH_CORRUPT="1"),
    refuses("a collective, on two ranks", "'nosuch'.*allreduce .* all", "nosuch", np=2),
    refuses("no collective, and names all",
            "no COLLECTIVE named; allowed: allreduce .* neighbor_alltoallw sendrecv all$", ""),
    refuses("an unknown collective, and names all", "COLLECTIVE: 'x{200}' is not valid; allowed: allreduce .* "
            "neighbor_alltoallw sendrecv all$", "x" * 300),
    refuses("a size", "-m: '8:4'", "-m 8:4 bcast"),
    refuses("a size without limit", "-m: '8'", "-m 8 bcast"),
    refuses("a type", "-T: 'complex'.*double", "-T complex bcast"),
    refuses("an operation", "-O: 'avg'.*sum prod", "-O avg allreduce"),
    refuses("bits of floats", "-O: 'band'.*float", "-O band allreduce"),
    refuses("a root", "-r: '1'.*0 to 0", "-r 1 bcast"),
    refuses("no iterations", "-i: '0'", "-i 0 bcast"),
    refuses("a bandwidth", "-B: 'fast'", "-B fast bcast"),
    refuses("a format", "-o: 'xml'.*table csv json", "-o xml bcast"),
    refuses("an ideal", "--ideal: 'best'.*published", "--ideal=best bcast"),
    *[refuses(f"{kind} where there is no device", f"-d: '{kind}'.*allowed: host", f"-d {kind} bcast", CUDA_VISIBLE_DEVICES="")
      for kind in ("cuda", "managed", "pinned")],
    *[refuses(f"the kinds '{kinds}'", f"-d: '{kinds}' is not valid; allowed: host cuda managed pinned, or up to 64 of them "
              "with commas", f"-d '{kinds}' bcast")
      for kinds in ("fpga", "", ",", "cuda,", ",host", "cuda,,host", "cuda,fpga", "host:cuda")],
    # where the launcher does not say before MPI_Init which rank it starts, a list cannot be followed
    refuses("a list where ranks are not known", "rank 1: -d: 'host,pinned': the launcher sets no OMPI_COMM_WORLD_RANK; "
            "allowed: one kind", "-d host,pinned bcast -m 4:4", np=2, wrapper=["env", "-u", "OMPI_COMM_WORLD_RANK"]),
    refuses("an option", "--bogus: is not an option", "--bogus bcast"),
    refuses("a missing value", "-m: needs a value", "bcast -m"),
    refuses("sendrecv in place", "--in-place: 'sendrecv'", "--in-place sendrecv"),
    refuses("neighbors in place", "--in-place: 'neighbor_alltoall'", "--in-place neighbor_alltoall"),
    refuses("what an int of bytes cannot say",
            "-m: '4294967296' is too large for alltoallw of type float; allowed: up to 536870911", "-m 4G:4G alltoallw"),
    refuses("two forms", "only one", "--persistent --nonblocking bcast"),
    refuses("a file", f"-f: '{WORK}/no/file'", "-f $work/no/file bcast"),
)
COPIES = [1 << k for k in (10, 12, 14, 16, 18, 20, 22, 25)]
DEVICES = "host,host"


@pytest.mark.parametrize("text, runs", [
    # inside a node that of the size is from an exchange and the rate of copies of that size
    ("the ideal of a size", [
        (2, "allreduce -m 4k:1M -i 2 -x 0 -o json", json_says(
            lambda d: [c["bytes"] for c in d["by_size"]["copies"]] == COPIES,
            lambda d: d["by_size"]["exchange_us"] > 0 and all(c["GBs"] > 0 for c in d["by_size"]["copies"]),
            lambda d: all(near(r["ideal_GBs"], r["bytes"] / (1e3 * d["by_size"]["exchange_us"] + r["bytes"] / c["GBs"]))
                          for r in d["results"] for c in d["by_size"]["copies"] if r["bytes"] == c["bytes"]),
            each(lambda r: near(r["efficiency"], r["busbw_GBs"] / r["ideal_GBs"])))),
        (2, "bcast -m 4:4 -i 2 -B 10 -o json", json_says(lambda d: d["by_size"] is None)),
        (2, "bcast -m 4:4 -i 2 --ideal=published -o json", json_says(lambda d: d["by_size"] is None)),
        (2, "bcast -m 4:4 -i 2", "by size: an exchange .* 16 KiB [0-9.]*, .* GB/s$")]),
    # as it was given; a field of CSV that has a comma is quoted
    ("prints a list of kinds of memory", [
        (3, f"bcast -d {DEVICES} -m 4:4 -i 2 -B 10 -o csv", f'^bcast,3,1,"{DEVICES}",float,'),
        (2, f"bcast -d {DEVICES} -m 4:4 -i 2 -B 10 -o json", json_says(lambda d: d["device"] == DEVICES)),
        (2, f"bcast -d {DEVICES} -m 4:4 -i 2", f" device {DEVICES}, ", "B = .*memcpy")]),
])
def test_several(mpi, text, runs):
    """A row of several runs."""
    for np, line, *judges in runs:
        job = mpi.run(np, f"gpuring_bench {line}")
        if not job.wait_for(0, ended, *judges):
            break
    job.check(text, ended, *judges)
