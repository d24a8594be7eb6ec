#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Planted faults: which tests see which.

    mutation.py --check                       does every fault of faults.toml still apply to the sources? (a second)
    mutation.py run --build=DIR ...           plant them in a copy, one at a time, and run tests on each
    mutation.py report [--results=FILE]...    which tests catch which, by the tables and results; do the quick ones suffice?
    mutation.py measure --build=DIR ...       which quick test catches which drawn fault of draw.tsv first (measure.py)
    mutation.py coverage --build=DIR ...      which test executes which function, which lines no test executes

run needs a built tree (--build=DIR: configured, with kernels.fatbin; nvcc is never started). It copies sources and makes a
build of its own in --work=DIR (default: BUILD/mutation), once. Results go to --results=FILE, a line for each test on each
fault; what is there already is not run again, so a run can be killed, and goes on when it is started again.

    --area=AREA --fault=NAME   only these; can be given several times, and words separated by commas
    --tests=NAMES              only these tests, by name or the beginning of one, or @FILE with a name a line
    --map=FILE                 map.tsv of coverage: only tests that execute what was changed, and those of which it knows
                               nothing. Without it: all tests
    --all                      all rows of the tests, not those of ./check
    --first                    at most up to the first test that catches the fault; else all of them
    --known                    only tests that catch the fault by caught.tsv; faults that it does not name are left out
    --one-in=N                 one fault in N, by GPURING_SEED which
    --seconds=N                end after that time (exit status 3)

Tests that are known to catch the fault come first, then the others, the cheapest first. Each test runs once without a
fault before; with --known only where table.tsv does not have its seconds, or behind a fault that it catches in another row
than caught.tsv says. One that fails then is an error. Exit status 0: each fault was caught; 1: not, or an error.

report: --quick=FILE (a name a line) or, without it, make's print-quick-tests in --build=DIR says which tests are quick; exit
status 1 when they catch less than 95% of what any test catches, which it also does from the tables alone. --write: the tables beside this file.

coverage: --out=DIR (default: WORK/cover) gets map.tsv, lines.txt and uncovered.txt; --tests as above. --write: the
last two are written beside this file, too.
"""
import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import faults as table
from results import Known, Results

HERE = Path(__file__).resolve().parent


def words(values):
    return [w for value in values or [] for w in value.split(",") if w]


def check(faults, source):
    """Whether every fault applies; counts by area."""
    wrong = table.check(faults, lambda file: (source / file).read_text())
    for line in wrong:
        print(f"stale: {line}")
    counts = Counter(f.area for f in faults)
    print(f"{len(faults)} faults: " + ", ".join(f"{n} {area}" for area, n in counts.items()))
    return 1 if wrong else 0


def chosen_faults(options, faults, known):
    """Those that the options ask for."""
    areas, names = words(options.area), words(options.fault)
    unknown = set(names) - {f.name for f in faults}
    if unknown:
        sys.exit(f"mutation.py: no fault {', '.join(sorted(unknown))}")
    some = [f for f in faults if (not areas or f.area in areas) and (not names or f.name in names)]
    if options.known:
        some = [f for f in some if f.name in known.caught]
    seed = int(os.environ.get("GPURING_SEED", os.getpid()))
    return [f for k, f in enumerate(some) if (k + seed) % options.one_in == 0]


def chosen_tests(options, tests):
    """Those that the options ask for."""
    names = []
    for word in words(options.tests):
        names += Path(word[1:]).read_text().split() if word.startswith("@") else [word]
    return [t for t in tests if not names or any(t.path.startswith(n) for n in names)]


def quick_tests(options, known):
    """Names of the quick tests."""
    from work import clean_environment

    if options.quick:
        return set(Path(options.quick).read_text().split())
    if options.build:
        said = subprocess.run(["make", "-s", "print-quick-tests", "not_sanitized="], cwd=options.build,
                              capture_output=True, text=True, env=clean_environment())
        if said.returncode == 0:
            return set(said.stdout.split())
    return {t for t, which in known.lists.items() if which == "quick"}


def do_run(options, faults, source):
    from campaign import Campaign
    from cover import read_map
    from work import Work

    known = Known(HERE)
    work = Work(source, Path(options.build).resolve(), Path(options.work or f"{options.build}/mutation").resolve())
    work.prepare()
    tests = chosen_tests(options, work.tests())
    if options.all or options.known:
        tests = ([] if options.all else tests) + [t.with_all_rows() for t in tests]
    campaign = Campaign(work, tests, Results(options.results[:1]), known,
                        read_map(options.map), options.seconds)
    return campaign.run(chosen_faults(options, faults, known), options.first, options.known)


def do_report(options, faults):
    from report import report
    from work import LEFT_OUT, Test, make_variables

    known, tests = Known(HERE), []
    if options.build:
        names = ("core", "device", "mpi")
        values = make_variables(options.build, [f"{n}_tests" for n in names])
        tests = [Test(t, n) for n in names for t in values[f"{n}_tests"] if not LEFT_OUT.search(t)]
    return report(Results(options.results), known, tests, faults, quick_tests(options, known), options.write)


def do_coverage(options, source):
    from cover import FLAGS, coverage
    from work import Work

    folder = Path(options.work or f"{options.build}/mutation").resolve() / "cover"
    work = Work(source, Path(options.build).resolve(), folder, FLAGS)
    out = Path(options.out or folder).resolve()
    status = coverage(work, lambda: chosen_tests(options, work.tests()), out)
    for name in ("lines.txt", "uncovered.txt") if options.write else ():
        shutil.copy(out / name, HERE)
    return status


def do_measure(options, source):
    import drawn
    from measure import Measure, switched_sources
    from work import Work

    faults = drawn.load(HERE / "draw.tsv")
    work = Work(source, Path(options.build).resolve(), Path(options.work or f"{options.build}/switched").resolve(),
                texts=switched_sources(source, faults))
    work.prepare()
    work.make(["all", "programs-core", "programs-device", "programs-mpi"])
    tests = [t.with_all_rows() if options.all else t for t in chosen_tests(options, work.tests())]
    return Measure(work, faults, tests, Results(options.results[:1]), Known(HERE), options.jobs, options.seconds).run()


def parse():
    parser = argparse.ArgumentParser(usage="mutation.py --help says how", add_help=False)
    parser.add_argument("command", nargs="?", choices=["run", "report", "coverage", "measure"])
    for name in ("check", "all", "first", "known", "write", "help"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("area", "fault", "tests", "results"):
        parser.add_argument(f"--{name}", action="append")
    for name in ("build", "work", "map", "quick", "out", "source"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--one-in", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse()
    if options.help or not (options.check or options.command):
        print(__doc__, end="")
        return 0
    source = Path(options.source or HERE.parent.parent).resolve()
    try:
        faults = table.load(HERE / "faults.toml")
    except ValueError as error:
        print(error)
        return 1
    if options.check:
        return check(faults, source)
    if options.command in ("run", "coverage", "measure") and not options.build:
        sys.exit("mutation.py: --build=DIR, please: a built tree")
    options.results = options.results or []
    if options.command == "measure":
        return do_measure(options, source)
    if options.command == "run":
        return do_run(options, faults, source)
    return do_report(options, faults) if options.command == "report" else do_coverage(options, source)


if __name__ == "__main__":
    sys.exit(main())
