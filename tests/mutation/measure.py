# SPDX-License-Identifier: BSD-3-Clause
"""Which test catches which fault first.

All faults are in one build, behind switches (fault_switch.h). Tests run in the order of their
seconds. A test runs once without a fault, which notes the faults whose place it executes; then once
with each of these that no test caught yet. A fault counts as caught where the test fails twice in a
row, the second time with twice the time: beside other work a row may fail, or be slow, by chance.
A test that caught something then runs without a fault again: where it fails now, its failures have
another cause, and nothing of what it caught counts.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from tempfile import NamedTemporaryFile

from faults import numbered
from results import BASE
from runner import run_test

AGAIN, MORE = 3, 10  # a test with a fault may take 3 times its seconds, and 10
LONGEST = 1200  # seconds of a test without a fault
BYTES = 65536  # GR_FAULTS of fault_switch.h


class Measure:
    """The faults, the tests, and what is known of both."""

    def __init__(self, work, faults, tests, results, jobs, seconds):
        self.work, self.results, self.jobs = work, results, jobs
        self.numbers = numbered(faults)
        self.tests = tests
        self.until = time.monotonic() + seconds if seconds else float("inf")

    @property
    def caught(self):
        return self.results.caught()

    def over(self):
        return time.monotonic() > self.until

    def base(self, test):
        """Run the test without a fault, twice where it fails. Whether it passes."""
        with NamedTemporaryFile() as seen:
            seen.truncate(BYTES)
            for _ in range(2):
                result = run_test(self.work, test, {"MUTANT_SEEN": seen.name}, LONGEST)
                if not result.failed:
                    break
            executed = seen.read()
        names = [name for name, n in self.numbers.items() if executed[n]]
        self.results.add(
            BASE,
            test.name,
            "failed" if result.failed else "passed",
            result.seconds,
            result.row if result.failed else " ".join(names),
        )
        said = f"fails: {result.row}" if result.failed else f"passes, executes {len(names)} faults"
        print(f"{test.name}: {said}, {result.seconds:.1f} s", flush=True)
        return not result.failed

    def base_once(self, test):
        """The same, unless it is known."""
        if self.results.get(BASE, test.name) is None:
            self.base(test)
        return self.results.seconds(test.name) is not None

    def try_one(self, test, name):
        """Run the test with one fault, twice where it fails."""
        if self.over() or name in self.caught or self.results.get(name, test.name):
            return
        limit = AGAIN * self.results.seconds(test.name) + MORE
        for times in (1, 2):
            result = run_test(
                self.work, test, {"MUTANT_ON": str(self.numbers[name])}, times * limit
            )
            if not result.failed:
                break
        self.results.add(
            name, test.name, "caught" if result.failed else "passed", result.seconds, result.row
        )
        if result.failed:
            print(f"caught {name}: {test.name}: {result.row}", flush=True)

    def run(self, wanted, known):
        """Run the tests with the wanted faults, {test: names}. Whether all was run, and no test
        fails without a fault. known: the tests are known to execute these."""
        good = True
        for test in self.tests:
            if test.name not in wanted:
                continue
            if self.over():
                return False
            if not self.base_once(test):
                good = False
                continue
            before = self.caught
            names = wanted[test.name] - before
            some = names if known else names & set(self.results.executed(test.name))
            with ThreadPoolExecutor(self.jobs) as pool:
                list(pool.map(lambda name: self.try_one(test, name), sorted(some)))
            if self.caught != before and not self.base(test):
                print(f"{test.name}: what it caught does not count", flush=True)
                good = False
        return good and not self.over()
