# SPDX-License-Identifier: BSD-3-Clause
"""Running faults against tests: which, in which order, and what is noted."""
import time
from collections import Counter

from faults import planted
from results import BASE
from runner import run_test
from work import KERNEL_MODES, KERNEL_SOURCE, TEAM_TEST, BuildError

LONGEST = 2400  # seconds of a test of which nothing is known, as in make check
AGAIN = 4       # times its usual seconds that a test may take with a fault,
MORE = 30       # and seconds besides
DEVICE_MPI = ("device", "zero")  # tests under mpirun that run kernels


class TimeOver(Exception):
    """--seconds are over."""


class Campaign:
    """Faults, tests, and what is known of both."""

    def __init__(self, work, tests, results, known, coverage, seconds):
        self.work, self.tests, self.results, self.known = work, tests, results, known
        self.coverage = coverage
        self.mapped = {t for functions in coverage.values() for names in functions.values() for t in names}
        self.until = time.monotonic() + seconds if seconds else float("inf")
        self.errors = []
        self.areas = {}  # of faults

    def left(self):
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeOver
        return left

    # ---- which tests ----

    def executes(self, fault, test):
        """Whether the test may execute what the fault changes."""
        if any(e.file.endswith((".cu", ".cuh")) for e in fault.edits):
            return test.path in (KERNEL_MODES, TEAM_TEST) or \
                (test.group == "mpi" and any(w in test.path for w in DEVICE_MPI))
        if test.path not in self.mapped:
            return True
        if test.path == KERNEL_MODES and any(KERNEL_SOURCE.match(f) for f in fault.files()):
            return True
        for file, function in fault.functions():
            names = self.coverage.get(file, {})
            if test.path in (names.get(function, ()) if function in names else set().union(*names.values())):
                return True
        return False

    def price(self, test):
        """Seconds, as far as they are known."""
        base = self.results.base(test.name)
        return base if base is not None else self.known.seconds.get(test.name, LONGEST)

    def candidates(self, fault, only_known):
        """The tests for a fault: those that are known to catch it, then what costs least for a catch, by faults of its area."""
        caught = self.known.caught.get(fault.name, {})
        hits = Counter(t for (f, t), row in self.results.rows.items() if row[0] == "caught" and self.areas.get(f) == fault.area)
        tests = [t for t in self.tests if (t.name in caught if only_known else self.executes(fault, t))]
        return sorted(tests, key=lambda t: (t.name not in caught, self.price(t) / (1 + hits[t.name])))

    # ---- running ----

    def measure(self, test, kernels):
        """Run the test without a fault. Whether it passes."""
        row = self.results.get(BASE, test.name)
        if row is None:
            self.work.restore()
            try:
                extra = self.work.prepare_test(test, kernels)
                result = run_test(self.work, test, extra, LONGEST, self.left())
            except BuildError as error:
                self.results.add(BASE, test.name, "error", 0, str(error))
            else:
                if result.cut:
                    raise TimeOver
                self.results.add(BASE, test.name, "caught" if result.failed else "passed", result.seconds, result.row)
            row = self.results.get(BASE, test.name)
        if row[0] != "passed" and test.name not in self.errors:
            self.errors.append(test.name)
            print(f"error: {test.name} fails without a fault: {row[2]}", flush=True)
        return row[0] == "passed"

    def known_row(self, fault, test):
        """The row by which the test is known to catch the fault; "": there is none."""
        return self.known.caught.get(fault.name, {}).get(test.name, (0, ""))[1]

    def mode_of(self, fault, test):
        """The mode of the kernels' test that is known to see the fault, alone."""
        row = self.known_row(fault, test)
        # no mode: the limit of time caught it
        return {"KERNEL_MODES": row} if test.path == KERNEL_MODES and row and not row.startswith("no end") else {}

    def try_one(self, fault, test, only_known):
        """Run a test on a fault, and note how it ended."""
        usual = self.known.seconds.get(test.name) if only_known else None
        if usual is None:
            if not self.measure(test, []):
                return
            usual = self.results.base(test.name)
        self.left()
        if not self.work.changed:
            self.work.plant(planted(fault, self.work.read))
        try:
            extra = self.work.prepare_test(test, fault.kernels)
        except BuildError as error:
            self.results.add(fault.name, test.name, "error", 0, str(error))
            return
        if only_known:
            extra |= self.mode_of(fault, test)
        limit = AGAIN * usual + MORE
        result = run_test(self.work, test, extra, limit, self.left())
        if result.cut:
            raise TimeOver
        if result.failed and result.row != self.known_row(fault, test) and not self.measure(test, []):
            return
        self.results.add(fault.name, test.name, "caught" if result.failed else "passed", result.seconds, result.row)

    def run_fault(self, fault, first, only_known):
        """Run a fault against its tests, but those that were run already; at most up to the first that catches it."""
        for test in self.candidates(fault, only_known):
            row = self.results.get(fault.name, test.name)
            if row is None:
                self.try_one(fault, test, only_known)
                row = self.results.get(fault.name, test.name)
            if row and (row[0] == "error" or (first and row[0] == "caught")):
                break
        self.work.restore()

    def say(self, fault):
        """One line on a fault. Whether it is caught."""
        rows = [(t, *r) for (f, t), r in self.results.rows.items() if f == fault.name]
        caught = [f"{t} ({r}, {s:.0f} s)" for t, v, s, r in rows if v == "caught"]
        error = [r for _, v, _, r in rows if v == "error"]
        if error:
            print(f"error   {fault.name}: does not compile: {error[0]}", flush=True)
        elif caught:
            print(f"caught  {fault.name}: {'; '.join(caught)}", flush=True)
        else:
            print(f"missed  {fault.name}: {fault.what} ({len(rows)} tests)", flush=True)
        return bool(caught) and not error

    def run(self, faults, first, only_known):
        """Run them all. 0: each is caught; 1: not; 3: the time was over before."""
        good = True
        self.areas = {f.name: f.area for f in faults}
        try:
            for fault in faults:
                self.run_fault(fault, first, only_known)
                good = self.say(fault) and good
        except TimeOver:
            print("time is over; the same command goes on from here", flush=True)
            return 3
        finally:
            self.work.restore()
        return 0 if good and not self.errors else 1
