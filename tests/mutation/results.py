# SPDX-License-Identifier: BSD-3-Clause
"""Results: one line for each test that was run on a fault, and the committed tables.

    results        fault test verdict seconds row        "-": no fault; verdict: caught, passed, or error (does not compile)
    caught.tsv     fault test seconds row                the tests that catch each fault
    table.tsv      test group list seconds faults        list: quick or all; faults: how many it catches
"""
from pathlib import Path

BASE = "-"


def clean(text):
    return " ".join(text.split())[:200]


def read_rows(path):
    """Rows of a table, as lists of words; none where there is no file. An unfinished last line is left out."""
    path = Path(path)
    text = path.read_text() if path.exists() else ""
    return [line.split("\t") for line in text.splitlines(keepends=True) if line.endswith("\n") and line[0] != "#"
            for line in [line.rstrip("\n")]]


class Results:
    """What is known so far; each new row is appended to the file at once."""

    def __init__(self, paths):
        self.path = Path(paths[0]) if paths else None
        self.rows = {}  # (fault, test): (verdict, seconds, row)
        for path in paths:
            for fault, test, verdict, seconds, row in (r for r in read_rows(path) if len(r) == 5):
                self.rows[fault, test] = (verdict, float(seconds), row)

    def add(self, fault, test, verdict, seconds, row):
        self.rows[fault, test] = (verdict, seconds, row)
        if self.path:
            with open(self.path, "a") as f:
                f.write(f"{fault}\t{test}\t{verdict}\t{seconds:.1f}\t{clean(row)}\n")

    def get(self, fault, test):
        return self.rows.get((fault, test))

    def base(self, test):
        """Seconds of a test without a fault; None: not known."""
        row = self.get(BASE, test)
        return row[1] if row and row[0] == "passed" else None

    def catchers(self, fault):
        """{test: (seconds, row)} of the tests that caught it."""
        return {t: (s, r) for (f, t), (v, s, r) in self.rows.items() if f == fault and v == "caught"}


class Known:
    """The committed tables."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.seconds, self.lists, self.caught = {}, {}, {}
        for test, _, which, seconds, _ in read_rows(self.folder / "table.tsv"):
            self.seconds[test] = float(seconds)
            self.lists[test] = which
        for fault, test, seconds, row in read_rows(self.folder / "caught.tsv"):
            self.caught.setdefault(fault, {})[test] = (float(seconds), row)
