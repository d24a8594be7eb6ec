# SPDX-License-Identifier: BSD-3-Clause
"""Judges of what gpuring_bench prints."""

import csv
import json
import re

from .judge import wants

__all__ = ["columns", "complains", "corrupted", "csv_rows", "json_says", "near", "quiet", "rows_right"]


def near(a, b):
    return abs(a - b) <= 1e-6 * abs(b)


def quiet(job):
    """It wrote nothing but messages."""
    return not job.out.read_text()


def csv_rows(job):
    """The fields of each line below the head."""
    text = job.out.read_text(errors="replace").partition("collective,")[2]
    return [line for line in csv.reader(text.splitlines()[1:]) if line]


def columns(job, *numbers):
    return [[line[n] for n in numbers] for line in csv_rows(job)]


def rows_right(collectives=None, device=None):
    """It ended well, every row says 0 errors, and where it ran; of so many collectives."""

    def right(job):
        rows = csv_rows(job)
        return job.rc == 0 and rows and all(r[-1] == "0" and device in (None, r[3]) for r in rows) and (
            collectives in (None, len({r[0] for r in rows})))

    return wants(right, f"no errors of {collectives or 'any'} collectives")


def corrupted(collectives):
    """A wrong element was found in each, in the check before and in that after the timed calls."""
    return wants(lambda job: job.rc == 1 and [r[-1] for r in csv_rows(job)].count("2") == collectives,
                 f"2 errors in each of {collectives} collectives")


def json_says(*conditions):
    """Of the output, a function each."""

    def right(job):
        try:
            said = json.loads(job.out.read_text())
            return job.rc == 0 and all(condition(said) for condition in conditions)
        except (LookupError, TypeError, ValueError):
            return False

    return wants(right, "what its JSON says")


def complains(pattern):
    """Exit status 2 and one line of ours, which has the pattern."""

    def right(job):
        lines = job.lines("^gpuring_[a-z]*: ")
        return job.rc == 2 and len(lines) == 1 and re.search(pattern, lines[0])

    return wants(right, f"one line with {pattern!r}")
