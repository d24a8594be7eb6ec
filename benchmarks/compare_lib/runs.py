# SPDX-License-Identifier: BSD-3-Clause
"""Rounds: in each, every stock configuration twice, gpuring once and the floor once, in an order drawn anew. Where gpuring is
compared with its own choices: each of these once, and gpuring twice."""
import csv
import os
import random
import re
import time

from . import floor, machine, raw, stock
from .progress import Progress


class Failure(Exception):
    """Nothing can be measured; the text says why."""


def describe(opts, build, configs, left_out):
    """The head of the raw data: all that is needed to judge it, or to repeat it."""
    meta = {
        "command": opts.command, "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "machine": f"{build.model}, {len(build.cores)} cores", "mpi": build.version,
        "program": "osu" if opts.osu else "gpuring_bench", "form": opts.form, "device": opts.device,
        "ranks": str(opts.ranks), "against": "choices" if opts.choices else "stock",
        "cores": str(len(build.cores)), "seed": str(opts.seed),
    }
    if opts.hosts:
        meta.update(hosts=opts.hosts, rate=opts.rate or "unlimited", delay=f"{opts.delay or 0} ms",
                    time="mean of the rank that takes longest (max_rank_us of gpuring_bench)")
    for config in configs + [stock.gpuring(opts)]:
        meta["config " + config.name] = " ".join(config.launch or stock.command(opts, build, config, [])[1:])
    for i, line in enumerate(left_out):
        meta[f"note {i + 1}"] = line
    return meta


# ---- a run of a configuration: a list of (command line, parser of its output) ----

def bench_rows(text, time="avg_us"):
    """Rows (collective, bytes, us, algorithm) of gpuring_bench -o csv; ranks may have written between them. time: the column."""
    lines = text.split("\n")
    heads = [i for i, line in enumerate(lines) if line.startswith("collective,")]
    if heads:
        for row in csv.DictReader(lines[heads[0]:]):
            if row[time] and re.fullmatch(r"[0-9.e+-]+", row[time]) and row["errors"] is not None:
                yield row["collective"], int(row["bytes"]), float(row[time]), row["algorithm"]


def last_rank_rows(text):
    """The same with the mean of the rank that takes longest: between hosts others return while their data wait in queues."""
    return bench_rows(text, "max_rank_us")


def osu_rows(collective):
    """The same of an OSU program: lines of a size and an average, and perhaps more."""
    def parse(text):
        for line in text.split("\n"):
            found = re.match(r"\s*(\d+)\s+(\d+(?:\.\d+)?)(\s|$)", line)
            if found:
                yield collective, int(found.group(1)), float(found.group(2)), ""
    return parse


def counts(opts):
    found = [] if opts.iters is None else ["-i", str(opts.iters)]
    return found + ([] if opts.warmup is None else ["-x", str(opts.warmup)])


def find_below(folder, name):
    """The least deep executable of that name, or None."""
    found = []
    for where, _, files in os.walk(folder):
        path = os.path.join(where, name)
        if name in files and os.access(path, os.X_OK):
            found.append((where.count(os.sep), path))
    return min(found)[1] if found else None


def find_programs(opts, build, say):
    size_args = ["-m", f"{opts.sizes[0]}:{opts.sizes[1]}"]
    if opts.device != "host":  # OSU's programs built without CUDA refuse -d, even -d host
        size_args += ["-d", opts.device]
    if not os.access(build.bench, os.X_OK):
        raise Failure(f"{build.bench} is not there; run make in {opts.builddir}")
    if not opts.osu:
        form = [] if opts.form == "blocking" else ["--" + opts.form]
        program = [build.bench] + opts.collectives + size_args + counts(opts) + form + stock.NOT_MEASURED + ["-o", "csv"]
        return [(program, last_rank_rows if opts.hosts else bench_rows)]
    programs = []
    for collective in opts.collectives:
        path = find_below(opts.osu, "osu_" + collective)
        if path:
            programs.append(([path] + size_args + counts(opts), osu_rows(collective)))
        else:
            say(f"left out: {collective}: there is no osu_{collective} below {opts.osu}")
    if not programs:
        raise Failure(f"there is no program of OSU's below {opts.osu} for any of: {' '.join(opts.collectives)}")
    return programs


# ---- one run ----

def run_config(opts, build, config, programs):
    """Returns rows, the first failure's reason or None, and whether to run it again in later rounds."""
    rows, reason = [], None
    for program, parse in programs:
        result = machine.run(stock.command(opts, build, config, program), build.env, opts.timeout)
        found = list(parse(result.out))
        # what is forced is passed over where it cannot be done
        rows += [row for row in found if config.coll in ("gpuring", row[3])] if opts.choices else found
        if result.status != 0 or result.late or not found:
            # a program that printed nothing with status 0 has failed, too
            reason = reason or os.path.basename(program[0]) + ": " + machine.why(result, opts.timeout)
        if result.late:
            return rows, reason, False
    return rows, reason, bool(rows)


def run_floor(opts, build):
    """Rows (measure, bytes, us, "") of gpuring_floor, and the reason why there are none."""
    if opts.device != "host":
        return [], "no floor: it is that of host memory"
    if opts.hosts:
        return [], "no floor: it is that of one node"
    if len(build.cores) < opts.ranks:
        return [], f"no floor: it holds for no more ranks than cores, here {len(build.cores)}"
    if not os.access(build.floor, os.X_OK):
        return [], f"no floor: {build.floor} is not there; run make in {opts.builddir}"
    sizes = floor.block_sizes(opts.sizes[1] * (opts.ranks if opts.osu else 1))
    program = [build.floor, "-c", "%d,%d" % tuple(build.cores[:2]), "-m", "%d:%d" % sizes]
    result = machine.run(program, build.env, opts.timeout)
    if result.status != 0 or result.late:
        return [], "no floor: " + machine.why(result, opts.timeout)
    rows = csv.DictReader(result.out.split("\n"))
    return [(row["measure"], int(row["bytes"]), float(row["us"]), "") for row in rows], None


# ---- all rounds ----

def run_rounds(opts, build, programs, configs, data, writer, say):
    """Fills data and the file, round by round."""
    gpuring = stock.gpuring(opts)
    runs, own_runs = (raw.ONCE, raw.TWICE) if opts.choices else (raw.TWICE, raw.ONCE)
    jobs = [(config, run) for config in configs for run in runs] + [(gpuring, run) for run in own_runs]
    jobs += [] if opts.choices else [(None, "a")]
    order = random.Random(opts.seed)
    progress = Progress("regret" if opts.choices else "compare", opts.rounds, len(jobs))
    given_up, said = set(), set()
    for number in range(1, opts.rounds + 1):
        records, notes = [], []
        for done, (config, run) in enumerate(order.sample(jobs, len(jobs))):
            name = config.name if config else raw.FLOOR
            if name in given_up:
                continue
            progress.step(number, done, name)
            again = True
            if config:
                rows, reason, again = run_config(opts, build, config, programs)
                reason = reason and f"{name} failed in round {number}: {reason}" + ("" if again else "; not run again")
            else:
                rows, reason = run_floor(opts, build)
                again = bool(rows)
            if reason and name not in said:
                say(reason)
                notes.append(reason)
                said.add(name)
            if not again:
                given_up.add(name)
            if gpuring.name in given_up or given_up.issuperset(c.name for c in configs):
                raise Failure("nothing is left to compare: " + reason)
            records += [raw.Record(number, name, run, *row) for row in rows]
        data.add_round(records, notes)
        writer.add_round(records, notes)
        progress.round_done(number)
