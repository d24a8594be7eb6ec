# SPDX-License-Identifier: BSD-3-Clause
"""Results: one line for each test that ran on a fault, and caught.tsv, which is made of them.

results      fault test verdict seconds row
                 fault "-": none, and row names the faults that the test executes
                 verdict: caught, passed; failed: without a fault, and rows of this test above do
                 not count
caught.tsv   fault test row
                 the first test, in the order of their seconds, that caught the fault
                 test "-": none; row then says how many tests ran on it and passed
"""

from pathlib import Path

BASE = "-"


def clean(text):
    return " ".join(text.split())


def read_rows(path):
    """Rows of a table, as lists of words; none where there is no file. An unfinished last line is
    left out."""
    path = Path(path)
    text = path.read_text() if path.exists() else ""
    return [
        line.rstrip("\n").split("\t")
        for line in text.splitlines(keepends=True)
        if line.endswith("\n") and line[0] != "#"
    ]


class Results:
    """What is known so far; each new row is appended to the first file at once."""

    def __init__(self, paths):
        self.path = Path(paths[0]) if paths else None
        self.rows = {}  # (fault, test): (verdict, seconds, row)
        for path in paths:
            for fault, test, verdict, seconds, row in read_rows(path):
                self.note(fault, test, (verdict, float(seconds), row))

    def note(self, fault, test, row):
        if row[0] == "failed":
            self.rows = {key: old for key, old in self.rows.items() if key[1] != test}
        self.rows[fault, test] = row

    def add(self, fault, test, verdict, seconds, row):
        row = clean(row)
        self.note(fault, test, (verdict, seconds, row))
        if self.path:
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(f"{fault}\t{test}\t{verdict}\t{seconds:.1f}\t{row}\n")

    def get(self, fault, test):
        return self.rows.get((fault, test))

    def seconds(self, test):
        """Of a test without a fault; None: it was not run, or fails."""
        row = self.get(BASE, test)
        return row[1] if row and row[0] == "passed" else None

    def executed(self, test):
        """Names of the faults that the test executes."""
        return self.get(BASE, test)[2].split()

    def caught(self):
        """Names of the faults that a test caught."""
        return {fault for (fault, _), row in self.rows.items() if row[0] == "caught"}

    def first_catch(self, fault):
        """(test, row) of the first test that caught it; None: none."""
        rows = ((t, r) for (f, t), (v, _, r) in self.rows.items() if f == fault and v == "caught")
        return next(rows, None)

    def passed(self, fault):
        """How many tests were run with the fault, and passed."""
        return sum(f == fault and v == "passed" for (f, _), (v, _, _) in self.rows.items())


def read_caught(path):
    """{fault: (test, row)} of caught.tsv."""
    return {fault: (test, row) for fault, test, row in read_rows(path)}


def write_caught(path, faults, caught):
    with open(path, "w", encoding="utf-8") as f:
        f.write("# fault\ttest\trow\n")
        f.writelines(
            f"{n}\t{caught[n][0]}\t{caught[n][1]}\n"
            for n in dict.fromkeys(x.name for x in faults)
            if n in caught
        )
