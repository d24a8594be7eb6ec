# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the command, and what its ranks left in files."""
import collections
import os
import re
import shutil
import stat
import statistics
import subprocess
import sys
import tempfile
import time

from compare_lib import machine
from compare_lib.progress import Progress

from . import command

SHOWN = 20  # lines of a run that failed
REPORT = "report.json"


class Failure(Exception):
    """A run failed; the text says why, output what the run wrote."""

    def __init__(self, text, output=""):
        super().__init__(text)
        self.output = output


class Off(Failure):
    """gpuring was off."""


# A class of sizes; the ranks' files say which there are, in their order.
Size = collections.namedtuple("Size", "number text")

# wall: seconds of the command. program: from MPI_Init to MPI_Finalize, of the rank that took longest. collectives and
# calls[(name, Size)]: seconds, means over ranks. program and collectives are None where ranks left nothing. counters:
# {name: (value, text)} of gpuring, sums over ranks, None where it was not loaded.
Run = collections.namedtuple("Run", "wall program collectives calls counts ranks counters")


class Rank:
    """What one rank left."""

    def __init__(self, path):
        self.size, self.program, self.calls, self.counters, self.loaded = None, None, {}, {}, None
        sizes = {}
        with open(path) as f:
            for line in f:
                kind, *words = line.rstrip("\n").split(" ", 3)
                if kind == "size":
                    self.size = int(words[0])
                elif kind == "run_ns":
                    self.program = int(words[0]) / 1e9
                elif kind == "class":
                    sizes[words[0]] = Size(int(words[0]), " ".join(words[1:]))
                elif kind == "call":
                    calls, ns = words[2].split()
                    self.calls[words[0], sizes[words[1]]] = int(calls), int(ns) / 1e9
                elif kind == "counter":
                    self.counters[words[0]] = int(words[1]), words[2]
                elif kind == "counters":
                    self.loaded = int(words[0]) > 0


def ranks_in(folder):
    found = [Rank(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name != REPORT]
    return [rank for rank in found if rank.program is not None]


def counters_of(ranks):
    if not any(rank.loaded for rank in ranks):
        return None
    total = {}
    for rank in ranks:
        for name, (value, text) in rank.counters.items():
            total[name] = total.get(name, (0, text))[0] + value, text
    return total


def run_of(wall, ranks):
    if not ranks:
        return Run(wall, None, None, {}, {}, 0, None)
    keys = sorted({key for rank in ranks for key in rank.calls})
    calls = {key: statistics.mean(rank.calls.get(key, (0, 0))[1] for rank in ranks) for key in keys}
    counts = {key: sum(rank.calls.get(key, (0, 0))[0] for rank in ranks) for key in keys}
    jobs = len(ranks) > max(rank.size or 1 for rank in ranks)  # one after the other, perhaps: only the whole has a time
    program = None if jobs else max(rank.program for rank in ranks)
    return Run(wall, program, sum(calls.values()), calls, counts, len(ranks), counters_of(ranks))


def last_lines(text):
    return "\n".join(text.rstrip().split("\n")[-SHOWN:])


class Runner:
    """Runs one side or the other; temporary files are gone when it is closed."""

    def __init__(self, opts):
        self.opts, self.number = opts, 0
        here = opts.dir or (os.getcwd() if os.access(os.getcwd(), os.W_OK) else None)
        self.folder = tempfile.mkdtemp(prefix=".gpuring_ab.", dir=here)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def stdin(self):
        """Each run reads a file from its beginning; a terminal or a pipe only one could read."""
        try:
            if stat.S_ISREG(os.fstat(0).st_mode):
                os.lseek(0, 0, os.SEEK_SET)
                return 0
        except OSError:
            pass
        return subprocess.DEVNULL

    def run(self, side, **more):
        """(Run, output). more: further variables."""
        self.number += 1
        folder = os.path.join(self.folder, str(self.number))
        os.mkdir(folder)
        words, env = command.for_mpirun(self.opts.command, {**os.environ, **side.environment, "GPURING_AB": folder, **more})
        since = time.monotonic()
        result = machine.run(words, env, self.opts.limit, self.stdin())
        wall = time.monotonic() - since
        output = result.out + result.err
        if result.late:
            raise Failure(f"the run with {side.name} did not end within {self.opts.limit} s; nothing else was run",
                          last_lines(output))
        if result.status:
            what = f"exit status {result.status}" if result.status > 0 else f"signal {-result.status}"
            hint = ""
            flat = re.sub(r"\s+", " ", output)
            if re.search(r"component.*gpuring|gpuring.*component", flat) and "not found" in flat.lower():
                hint = "; Open MPI found no component gpuring: install it for this Open MPI (gpuring_abi says for which)"
            raise Failure(f"the run with {side.name} failed with {what}; its last lines are above, and nothing else was "
                          f"run{hint}", last_lines(output))
        ranks = ranks_in(folder)
        sizes = [rank.size for rank in ranks if rank.size]
        if sizes and len(ranks) < max(sizes):
            raise Failure(f"times of only {len(ranks)} of {max(sizes)} ranks came back: give a folder that all nodes see "
                          "(--dir)")
        return run_of(wall, ranks), output


# ---- whether gpuring was on ----

def taken(counters):
    return sum(value for name, (value, _) in counters.items() if name.startswith("calls_"))


def fell_back(counters):
    """{reason: calls}"""
    return {re.sub(r"^[^:]*: ", "", text): value for name, (value, text) in counters.items() if name.startswith("handover_")}


def why_off(run, output, reported):
    """None where gpuring was on, by its own counters, or by its report where ranks left none; else why it was off."""
    if run.counters is not None:
        if taken(run.counters):
            return None
        reasons = ", ".join(f"{text}: {n:,}" for text, n in fell_back(run.counters).items())
        made = sum(run.counts.values())
        if not made:
            return "the program calls no collective"
        none = "the program has one rank" if run.ranks == 1 else "coll_gpuring_host is 0, or no communicator has several ranks"
        return f"it took none of the {made:,} collective calls ({reasons or none})"
    if not run.ranks and reported:
        return None
    own = [line for line in output.split("\n") if re.search(r"\bgpuring: ", line)]
    if own:
        return re.sub(r".*?\bgpuring: ", "", own[0]).strip()
    if not run.ranks:
        return "no rank called MPI_Init and MPI_Finalize of a shared libmpi, or Open MPI did not load it"
    return "Open MPI did not load it: install it for this Open MPI (gpuring_abi says for which)"


def first_runs(runner, stock, other):
    """One run of each, not timed: both work, and gpuring is on."""
    runner.run(stock)
    report = os.path.join(runner.folder, REPORT)
    run, output = runner.run(other, OMPI_MCA_coll_gpuring_report=f"json:{report}")
    if other.name == "gpuring":
        why = why_off(run, output, os.path.exists(report))
        if why:
            raise Off(f"gpuring was off: {why}")


def all_runs(opts, stock, other):
    """{side's name: [Run]}, a run of each per round. The order alternates: what slows down or speeds up while time goes on
    hits both alike, and a ratio and its inverse are equally likely where nothing differs."""
    found = {stock.name: [], other.name: []}
    runner = Runner(opts)
    try:
        first_runs(runner, stock, other)
        progress = Progress("gpuring_ab", opts.rounds, 2)
        for number in range(1, opts.rounds + 1):
            for done, side in enumerate((stock, other) if number % 2 else (other, stock)):
                progress.step(number, done, side.name)
                run, output = runner.run(side)
                why = why_off(run, output, None) if side.name == "gpuring" and run.ranks else None
                if why:
                    raise Off(f"gpuring was off in round {number}: {why}")
                found[side.name].append(run)
            if sys.stderr.isatty():
                progress.round_done(number)
    finally:
        runner.close()
    return found
