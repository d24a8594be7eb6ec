# SPDX-License-Identifier: BSD-3-Clause
"""gpuring_bench under mpirun: formats, keys, checks, exit status, error lines."""

from pathlib import Path

import pytest

from rows import *
from rows.bench import *

ENV = {"GR_DIR": "", "GR_HOST": ""}
KEYS = {"collective", "ranks", "nodes", "device", "type", "op", "results"}
ROW = {"bytes", "avg_us", "min_rank_us", "max_rank_us", "p50_us", "p95_us", "p99_us", "algbw_GBs", "busbw_GBs",
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


# mpirun has a terminal of its own, of which the test sees what is written
TERMINAL = ["python3", f"{WORK}/terminal.py"]
Path(WORK, "terminal.py").write_text("import pty, sys\nsys.exit(pty.spawn(sys.argv[1:]) >> 8)\n")


def limited(name, **files):
    """A folder in the place of / where 30 MiB are left. Of a control group, page cache is no use of it."""
    for path, text in files.items():
        file = Path(WORK, name, path.replace("__", "/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return f"{WORK}/{name}"


MIB = 1 << 20
MUCH = {"proc__meminfo": "MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable:   88888888 kB\n"}
LIMITS = {
    "the machine's": limited("machine", proc__meminfo="MemTotal: 99999 kB\nMemAvailable:    30720 kB\n"),
    "a control group's, version 2": limited("v2", **MUCH, proc__self__cgroup="0::/a/b\n", **{
        "sys__fs__cgroup__a__memory.max": f"{100 * MIB}\n", "sys__fs__cgroup__a__b__memory.max": "max\n",
        "sys__fs__cgroup__a__memory.current": f"{99 * MIB}\n", "sys__fs__cgroup__a__b__memory.current": f"{99 * MIB}\n",
        "sys__fs__cgroup__a__memory.stat": f"anon 1\ninactive_file {20 * MIB}\nactive_file {9 * MIB}\n"}),
    "a control group's, version 1": limited("v1", **MUCH, proc__self__cgroup="9:cpu:/x\n4:memory:/job\n0::/\n", **{
        "sys__fs__cgroup__memory__memory.limit_in_bytes": f"{100 * MIB}\n",
        "sys__fs__cgroup__memory__memory.usage_in_bytes": f"{90 * MIB}\n",
        "sys__fs__cgroup__memory__memory.stat": f"total_inactive_file {15 * MIB}\ntotal_active_file {5 * MIB}\n"}),
}


def has(name):
    """What is to be said of a type that some MPIs do not have."""
    line = f"gpuring_bench bcast -T {name} -m 4:4 -i 1 -B 1"
    return rows_right(2) if Runner(ENV).run(1, line).rc == 0 else complains(f"-T: '{name}': the MPI .* has no such type")


HAS = {name: has(name) for name in ("half", "bfloat16")}
V = "gather gatherv scatter scatterv alltoallv scan exscan"
test_rows = table(
    bench("JSON of one collective", 2, "allreduce -m 64:1k -i 3 -x 1 -B 10 -o json", json_says(
        lambda d: KEYS <= d.keys(), each(lambda r: ROW <= r.keys()),
        lambda d: d["collective"] == "allreduce" and d["ranks"] == 2 and d["device"] == "host",
        lambda d: [r["bytes"] for r in d["results"]] == [64, 128, 256, 512, 1024],
        each(lambda r: near(r["busbw_GBs"], r["bytes"] / r["avg_us"] / 1e3)),
        each(lambda r: r["ideal_GBs"] == 10 and r["errors"] is None),
        each(lambda r: near(r["efficiency"], r["busbw_GBs"] / 10)),
        each(lambda r: r["min_rank_us"] <= r["avg_us"] <= r["max_rank_us"] < r["cycle_us"]),
        each(lambda r: r["p50_us"] <= r["p95_us"] <= r["p99_us"]),
        lambda d: near(5 * d["avg_busbw_GBs"], sum(r["busbw_GBs"] for r in d["results"])))),
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
          lambda job: [line.count(",") for line in job.out.read_text().splitlines()] == [19] * 5),
    bench("table", 2, "reduce -m 4:16 -i 2 -B 10 -c", ended, lambda job: 3 == sum(
        not line.startswith("#") for line in job.out.read_text().splitlines()),
          r"B = 10 GB/s \(option\)", "I = n/a", "library: ", "^# Avg bus bandwidth    : [0-9.e-]+ GB/s$",
          "^# +bytes +avg +min rank +max rank +p50 +p95 +p99 +algbw +busbw +ideal +efficiency +algorithm +errors$",
          r"^# +\(B\)( +\(us\)){6}( +\(GB/s\)){3} +\(%\)$", "percentiles of the slowest rank"),
    bench("B is measured", 2, "bcast -m 4:4 -i 2 -o json", json_says(
        lambda d: d["B"]["source"] == "measured" and d["B"]["GBs"] > 0 and d["I"]["source"] == "n/a")),
    bench("-f", 2, "bcast -m 4:4 -i 2 -B 10 -o json -f $work/file", ended, quiet,
          lambda job: '"collective": "bcast"' in text_of(Path(WORK, "file"))),
    bench("-h", 2, "-h", ended, lines_seen(1, "^usage: "), "sendrecv, or all$", "!^[^[].{95}"),  # not Open MPI's own lines
    bench("--version", 2, "--version", ended, lines_seen(1, "^gpuring_bench [0-9]+[.]"), lines_seen(1, "^MPI: Open MPI v")),
    # as for OSU's programs and nccl-tests
    *[bench(f"sizes, {options}", 1, f"bcast -i 1 {options} -o json", json_says(
        lambda d, sizes=sizes: [r["bytes"] for r in d["results"]] == sizes)) for options, sizes in (
            ("-m 16", [4, 8, 16]), ("-m 1M:", [1 << 20, 2 << 20, 4 << 20]), ("-m 8M:", [8 << 20]), ("-m 2 -T char", [2]),
            ("-b 1K -e 16k -f 4", [1024, 4096, 16384]), ("--minbytes 4 --maxbytes 40 --stepfactor 3", [4, 12, 36]),
            ("-e 8", [4, 8]))],
    bench("nccl-tests' letters", 1, "allreduce -b 8 -e 8 -n 3 -w 1 -g 1 -t 1 -o max -d int -G 1 -c 1 -o json", json_says(
        lambda d: d["op"] == "max" and d["type"] == "int32" and d["device"] == "host" and d["form"] == "persistent",
        each(lambda r: r["errors"] == 0))),
    bench("-c 0, -G 0, OSU's type", 1, "-c 0 bcast -m 4 -i 1 -G 0 -T mpi_int -o json", json_says(
        lambda d: d["form"] == "blocking" and d["type"] == "int32", each(lambda r: r["errors"] is None))),
    # stdout and stderr of mpirun are a terminal; or stderr alone
    bench("progress on a terminal", 2, "bcast -m 4:4 -i 2 -B 10", ended, lambda job: (
        b"\rgpuring_bench: bcast, 4 bytes, 2 iterations\x1b[K\r\x1b[K" in job.out.read_bytes()), launcher=TERMINAL),
    bench("progress to a file", 2, "bcast -m 4:4 -i 2 -B 10 --progress", ended,
          "^gpuring_bench: bcast, 4 bytes, 2 iterations$"),
    bench("no progress to a file", 2, "bcast -m 4:4 -i 2 -B 10", ended, "!iterations"),
    # 30 MiB are left
    *[bench(f"too little memory: {limit}", 2, "allreduce -m 32M: -i 1", complains(
        "too little memory: the largest size needs 64 MiB on a rank, and this node has 13 MiB for each of its 2 ranks"),
            GPURING_BENCH_ROOT=root) for limit, root in LIMITS.items()],
    bench("a measurement takes what fits", 2, "bcast -m 4 -i 1 -o json", json_says(
        lambda d: "for which there is memory" in d["B"]["how"],
        lambda d: len({c["GBs"] for c in d["by_size"]["copies"][-2:]}) == 1), GPURING_BENCH_ROOT=LIMITS["the machine's"]),
    *[bench(f"-T {name}, where MPI has it", 2, f"allreduce allgather -T {name} -m 4:4k -i 1 -x 0 -B 1 -c -o csv", HAS[name])
      for name in HAS],
    *[right(f"all, {what}, {np} ranks", np, f"all {options} -r {np - 1}", number, quick=np == 3) for np in (1, 2, 3, 4)
      for what, options, number in (("float sum", "-m 4:40k", 23), ("in place", "--in-place -m 1k:40k", 16))],
    bench("barrier: one row, a latency", 2, "barrier -m 4:1k -i 3 -B 10 -c -o json", json_says(
        lambda d: [r["bytes"] for r in d["results"]] == [0],
        each(lambda r: r["avg_us"] > 0 and r["busbw_GBs"] is None and r["errors"] == 0))),
    right("all, $form", 3, "all $form -m 1k:40k -r 1", 23, form="| --nonblocking --persistent"),
    right("all, $form --in-place", 3, "all $form --in-place -m 1k:40k -r 1", 16, form="--nonblocking --persistent"),
    right("large enough to segment", 3, "all -m 1M:1M"),
    right("reductions, $type $op", 4, "allreduce reduce_scatter scan exscan -T $type -O $op -m 64:8k", rows="""type op
int32 bxor
|
int8 sum
double max
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
    refuses("a size that is none", "-m: '8x'", "-m 8x bcast"),
    refuses("sizes in the wrong order", "-b: '8' is above -e: '4'", "-b 8 -e 4 bcast"),
    refuses("a factor", "-f: '1' is not valid; allowed: .*2 to 1024", "-f 1 bcast"),
    refuses("OSU's -f", "-f: '-m' is not valid; .*min and max over ranks are always shown", "bcast -f -m 8"),
    refuses("several GPUs of a rank", "-g: '2'.*allowed: 1: a rank has one thread and one GPU", "-g 2 bcast"),
    refuses("a type", "-T: 'complex'.*double", "-T complex bcast"),
    refuses("an operation", "-O: 'avg'.*sum prod", "-O avg allreduce"),
    refuses("bits of floats", "-O: 'band'.*float", "-O band allreduce"),
    refuses("a root", "-r: '1'.*0 to 0", "-r 1 bcast"),
    refuses("no iterations", "-i: '0'", "-i 0 bcast"),
    refuses("a bandwidth", "-B: 'fast'", "-B fast bcast"),
    refuses("a format", "-o: 'xml'.*table csv json", "-o xml bcast"),
    *[refuses(f"{kind} where there is no device", f"-d: '{kind}'.*allowed: host", f"-d {kind} bcast", CUDA_VISIBLE_DEVICES="")
      for kind in ("cuda", "managed", "pinned")],
    *[refuses(f"the kinds '{kinds}'", f"-d: '{kinds}' is not valid; allowed: host cuda managed pinned, or up to 64 of them "
              "with commas", f"-d '{kinds}' bcast")
      for kinds in ("fpga", "", ",", "cuda,", ",host", "cuda,,host", "cuda,fpga", "host:cuda")],
    # where the launcher does not say before MPI_Init which rank it starts, a list cannot be followed
    refuses("a list where ranks are not known", "rank 1: -d: 'host,pinned': the launcher sets no OMPI_COMM_WORLD_RANK; "
            "allowed: one kind", "-d host,pinned bcast -m 4:4", np=2, wrapper=["env", "-u", "OMPI_COMM_WORLD_RANK"]),
    refuses("an option", "--nonblokking: is not an option; the nearest is --nonblocking; see -h", "--nonblokking=1 bcast"),
    refuses("a letter", "-X: is not an option; the nearest is -x; see -h", "-X 3 bcast"),
    refuses("a letter that is like none", "-q: is not an option; the nearest is -h", "-q bcast"),
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
