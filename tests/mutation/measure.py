# SPDX-License-Identifier: BSD-3-Clause
"""Which test catches which drawn fault first.

All faults are in one build, behind switches (fault_switch.h). Tests run in the order of their seconds. Each
runs once without a fault, which notes the faults whose place it executes; then once with each of these that
no test caught yet. A fault counts as caught where the test fails twice in a row.

    results      fault test verdict seconds row      as campaign.py's; "-": no fault
    reach        test, and the numbers of the faults that it executes
"""
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import drawn
from results import BASE, read_rows
from runner import run_test

AGAIN, MORE = 3, 10  # a test with a fault may take 3 times its seconds, and 10
LONGEST = 1200       # seconds of a test without a fault
BYTES = 65536        # GR_FAULTS of fault_switch.h


def numbered(faults):
    """{name: number}, from 1. Rows of one name are one fault."""
    return {name: n for n, name in enumerate(dict.fromkeys(f.name for f in faults), 1)}


def switched_sources(source, faults):
    """{file: text} of the sources with all faults."""
    files = {}
    numbers = numbered(faults)
    for fault in faults:
        files.setdefault(fault.file, []).append((numbers[fault.name], fault))
    texts = {file: drawn.switched((source / file).read_text(), some) for file, some in files.items()}
    texts["coll_gpuring/fault_switch.h"] = (source / "tests/mutation/fault_switch.h").read_text()
    return texts


class Measure:
    """The faults, the tests, and what is known of both."""

    def __init__(self, work, faults, tests, results, known, jobs, seconds):
        self.work, self.results, self.known, self.jobs = work, results, known, jobs
        self.faults = {n: f for f, n in numbered(faults).items()}
        self.tests = sorted(tests, key=lambda t: known.seconds.get(t.name, 100))
        self.until = time.monotonic() + seconds if seconds else float("inf")
        self.reach_path = Path(f"{results.path}.reach")
        self.reach = {row[0]: [int(n) for n in row[1].split()] for row in read_rows(self.reach_path)}
        self.caught = {f for (f, _), row in results.rows.items() if row[0] == "caught" and f != BASE}

    def over(self):
        return time.monotonic() > self.until

    def base(self, test):
        """Run the test without a fault. Whether it passes."""
        if self.results.get(BASE, test.name) is None or test.name not in self.reach:
            seen = self.work.folder / "seen"
            seen.write_bytes(bytes(BYTES))
            result = run_test(self.work, test, {"MUTANT_SEEN": str(seen)}, LONGEST)
            self.results.add(BASE, test.name, "caught" if result.failed else "passed", result.seconds, result.row)
            self.reach[test.name] = [n for n, byte in enumerate(seen.read_bytes()) if byte]
            with open(self.reach_path, "a") as f:
                f.write(f"{test.name}\t{' '.join(map(str, self.reach[test.name]))}\n")
            print(f"{test.name}: {'fails: ' + result.row if result.failed else 'passes'}, {result.seconds:.1f} s, "
                  f"{len(self.reach[test.name])} faults executed", flush=True)
        return self.results.base(test.name) is not None

    def try_one(self, test, number):
        """Run the test with one fault, twice where it fails."""
        name = self.faults[number]
        if self.over() or name in self.caught or self.results.get(name, test.name):
            return
        limit = AGAIN * self.results.base(test.name) + MORE
        for _ in range(2):
            result = run_test(self.work, test, {"MUTANT_ON": str(number)}, limit)
            if not result.failed:
                break
        self.results.add(name, test.name, "caught" if result.failed else "passed", result.seconds, result.row)
        if result.failed:
            self.caught.add(name)
            print(f"caught {name}: {test.name}: {result.row} ({len(self.caught)} of {len(self.faults)})", flush=True)

    def run(self):
        """0: all was run; 3: the time was over before."""
        for test in self.tests:
            if self.over():
                return 3
            if self.base(test):
                left = [n for n in self.reach[test.name] if n in self.faults and self.faults[n] not in self.caught]
                with ThreadPoolExecutor(self.jobs) as pool:
                    list(pool.map(lambda n: self.try_one(test, n), left))
        return 0
