#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Planted faults: which tests catch which.

    mutation.py --check                   do the faults of draw.tsv and planted.tsv apply?
    mutation.py measure --build=DIR ...   run tests on them; prints each that is caught
    mutation.py report [--results=FILE]   by folder: caught by quick tests, by --all, or missed by
                                          the tests that ran so far

measure needs a built tree (--build=DIR: configured, with kernels.fatbin; nvcc is never started). It
makes a copy of the sources with all faults behind switches, and a build of that, in --work=DIR
(default: BUILD/mutation). What --results=FILE has already is not run again: a run that was killed
goes on.

    --folder=NAME --fault=NAME   only these; several times, or several words separated by commas
    --tests=NAMES                only these tests, by name or the beginning of one
    --all                        all rows of the tests, not those of ./check
    --known                      with each fault only the test that catches it by caught.tsv
    --one-in=N                   one fault in N, by GPURING_SEED which
    --jobs=N                     so many faults at a time
    --seconds=N                  end after that time

Exit status of measure: 0 if each fault was caught. Of report: 0 if quick tests (of --build=DIR,
else those without --all) catch at least 95% of what any test catches. report --write: caught.tsv.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import faults as table
from results import Results, read_caught, write_caught

HERE = Path(__file__).resolve().parent
LEAST = 0.95  # of what any test catches, the quick ones must catch
USUAL = 100  # seconds of a test of which nothing is known


def words(values):
    return [w for value in values or [] for w in value.split(",") if w]


def check(faults, source):
    """Whether every fault applies."""
    wrong = table.check(faults, source)
    for line in wrong:
        print(f"stale: {line}")
    print(f"{len({f.name for f in faults})} faults")
    return 1 if wrong else 0


def chosen(options, faults, caught):
    """Names of the faults that the options ask for."""
    folders, names = words(options.folder), words(options.fault)
    unknown = set(names) - {f.name for f in faults}
    if unknown:
        sys.exit(f"mutation.py: no fault {', '.join(sorted(unknown))}")
    some = [
        n
        for n in dict.fromkeys(f.name for f in faults if not folders or f.folder in folders)
        if (not names or n in names) and (not options.known or caught.get(n, "-")[0] != "-")
    ]
    seed = int(os.environ.get("GPURING_SEED", os.getpid()))
    return [n for k, n in enumerate(some) if (k + seed) % options.one_in == 0]


def known_seconds(build):
    """{test: seconds}, of the build's last run of the tests."""
    path = Path(build) / "tests/seconds"
    rows = (line.split() for line in path.read_text().splitlines()) if path.exists() else ()
    return {test.removeprefix("../"): int(ms) / 1000 for ms, test, *_ in rows}


def measure(options, faults, source):
    from measure import Measure
    from work import Work

    caught = read_caught(HERE / "caught.tsv")
    results = Results(options.results[:1])
    names = chosen(options, faults, caught)
    work = Work(
        source,
        Path(options.build).resolve(),
        Path(options.work or f"{options.build}/mutation").resolve(),
        table.switched_sources(source, faults),
    )
    work.prepare()
    seconds = known_seconds(options.build)
    prefixes = tuple(words(options.tests)) or ""
    tests = [t for t in work.tests() if t.path.startswith(prefixes)]
    if options.known:
        tests = [t for x in tests for t in (x, x.with_all_rows())]
        names = [n for n in names if caught[n][0] in {t.name for t in tests}]
        wanted = {}
        for name in names:
            wanted.setdefault(caught[name][0], set()).add(name)
    else:
        quick = quick_tests(work.build)
        tests = [
            t.with_all_rows() if options.all else t for t in tests if options.all or t.path in quick
        ]
        wanted = {t.name: set(names) for t in tests}
    tests.sort(
        key=lambda t: results.seconds(t.name)
        or seconds.get(t.path, USUAL if t.group == "mpi" else 1)
    )
    # as ./check: ranks that yield get their turn beside other work
    subprocess.run(
        [sys.executable, source / "tools/short_slices.py", str(os.getpid())], check=False
    )
    run = Measure(work, faults, tests, results, options.jobs, options.seconds)
    done = run.run(wanted, options.known)
    missed = [n for n in names if n not in run.caught]
    for name in missed if done else ():
        print(f"missed {name}")
    return 0 if done and not missed else 1


def quick_tests(build):
    """Names of the quick tests of a build."""
    from work import clean_environment

    said = subprocess.run(
        ["make", "-s", "print-quick-tests", "not_sanitized="],
        cwd=build,
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    )
    return set(said.stdout.split())


def report(options, faults):
    """Print it. 0: the quick tests catch enough; 1: they do not."""
    caught, results = read_caught(HERE / "caught.tsv"), Results(options.results)
    for name in {f.name for f in faults}:
        first, passed = results.first_catch(name), results.passed(name)
        if first or passed:
            caught[name] = first or ("-", f"{passed} tests passed")
    quick = quick_tests(options.build) if options.build else None
    counts = {}
    for name, folder in {f.name: f.folder for f in faults}.items():
        test = caught.get(name, ("?",))[0]
        how = {"-": "missed", "?": "not run"}.get(test) or (
            "quick" if (test in quick if quick is not None else "--all" not in test) else "all"
        )
        counts.setdefault(folder, Counter())[how] += 1
    total = sum(counts.values(), Counter())
    print(f"{'folder':18}{'faults':>8}{'quick':>8}{'all':>8}{'missed':>8}{'not run':>8}")
    for folder, row in [*sorted(counts.items()), ("together", total)]:
        print(
            f"{folder:18}{sum(row.values()):8}"
            + "".join(f"{row[n]:8}" for n in ("quick", "all", "missed", "not run"))
        )
    if options.write:
        write_caught(HERE / "caught.tsv", faults, caught)
    share = total["quick"] / max(total["quick"] + total["all"], 1)
    print(f"quick tests catch {100 * share:.1f}% of what any test catches")
    return 0 if share >= LEAST else 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("command", nargs="?", choices=["measure", "report"])
    for name in ("check", "all", "known", "write", "help"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("folder", "fault", "tests", "results"):
        parser.add_argument(f"--{name}", action="append")
    for name in ("build", "work", "source"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--one-in", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.results = options.results or []
    source = Path(options.source or HERE.parent.parent).resolve()
    if options.help or not (options.check or options.command):
        print(__doc__, end="")
        return 0
    try:
        faults = table.load(HERE / "draw.tsv", HERE / "planted.tsv")
    except ValueError as error:
        print(error)
        return 1
    if options.check:
        return check(faults, source)
    if options.command == "report":
        return report(options, faults)
    if not options.build:
        sys.exit("mutation.py: --build=DIR, please: a built tree")
    return measure(options, faults, source)


if __name__ == "__main__":
    sys.exit(main())
