# SPDX-License-Identifier: BSD-3-Clause
"""What a row wants of a job. A judge is a function of the job; some here make one."""

import re

__all__ = [
    "all_good",
    "all_taken",
    "calls_counted",
    "counted",
    "ended",
    "failed",
    "good_through_gpuring",
    "good_without_gpuring",
    "judge_of",
    "lines_seen",
    "not_seen",
    "of_row",
    "seen",
    "wants",
]


def wants(function, name):
    """A function as a judge, by the name that a failed row shows."""
    function.__name__ = name
    return function


def judge_of(want):
    """A pattern in the place of a judge: a line of the output matches, or with "!" none does."""
    if not isinstance(want, str):
        return want
    return not_seen(want[1:]) if want.startswith("!") else seen(want)


def of_row(judge):
    """A judge that follows from the row's values: judge(VALUES)."""
    return wants(lambda job: judge_of(judge(job.row))(job), "what the row's values say")


def seen(pattern):
    """A line of the output matches."""
    return wants(lambda job: bool(job.lines(pattern)), f"seen {pattern!r}")


def not_seen(pattern):
    return wants(lambda job: not job.lines(pattern), f"not seen {pattern!r}")


def lines_seen(number, pattern):
    """So many lines match."""
    return wants(lambda job: len(job.lines(pattern)) == number, f"{number} lines {pattern!r}")


def ended(job):
    return job.rc == 0


def failed(job):
    return job.rc not in (0, None)


def number(job, pattern):
    """The last one that matches, or 0."""
    return int(([0] + re.findall(pattern, job.text, re.MULTILINE))[-1])


def calls_counted(job):
    """Calls that rank 0's gpuring carried out, as the program said at its end."""
    return number(job, r"^# gpuring calls (\d+) handovers")


def counted(job, words):
    """The number behind these words in what the last program said of its calls."""
    return number(job, rf"^# gpuring {words} (\d+)$")


def all_good(job):
    """It ended well, and every one of its TAP lines is good."""
    plan = number(job, r"^1\.\.(\d+)$")
    good = len(job.lines(r"^ok \d+ - "))
    return job.rc == 0 and 0 < plan == good and not job.lines("^not ok")


def good_through_gpuring(job):
    return all_good(job) and calls_counted(job) > 0


def good_without_gpuring(job):
    return all_good(job) and calls_counted(job) == 0


def all_taken(job):
    """Of random programs of the eight: no call fell back. Those without elements are not counted."""
    asked = number(job, r"^# \d+ programs from .*, (\d+) collective calls")
    taken = asked and calls_counted(job) >= asked * 2 // 3
    return all_good(job) and taken and bool(job.lines(r"^# gpuring calls \d+ handovers 0 "))
