# SPDX-License-Identifier: BSD-3-Clause
"""Judges of the statistics of timed steps in the report at a job's end."""

import os
import re
import signal
import time
from pathlib import Path

from .judge import wants
from .run import WORK

__all__ = ["report_fits", "reported", "starts_fit", "stop_in_turn"]


def reported(job):
    """What rank 0's report says: mode, calls, countdowns, and how many of these were inside a call
    to synchronise again."""
    found = re.search(r"^# step_sync (\w+): .*?(\d+) calls, (\d+) countdowns.*\n(?:#.*\n)*?# +(\d+) .*resynchronised",
                      job.text, re.MULTILINE)
    return (found[1], *map(int, found.groups()[1:])) if found else ("", 0, 0, 0)


def report_fits(least, mode=None):
    """So many calls or more; each has a countdown at its begin, and only `barrier` more in any case."""

    def fits(job):
        found, calls, countdowns, again = reported(job)
        expected = {"start": countdowns == calls, "timed": countdowns == calls + again,
                    "barrier": countdowns > 2 * calls}
        return found == (mode or job.row.mode) and calls >= least and expected[found]

    return wants(fits, f"the report has {least} calls or more, with their countdowns")


def starts_fit(least):
    """The same where only starts are timed: a countdown at each begin and no other, and no step."""

    def fits(job):
        found, calls, countdowns, _ = reported(job)
        return found == job.row.mode and least <= calls == countdowns and bool(job.lines("^#   0 timed steps"))

    return wants(fits, f"the report has {least} calls or more, whose starts are timed")


def stop_in_turn(pids):
    """Each process stands still for a while, one after the other, while the program makes its calls; the program then ends,
    which waits for the file. How many were stopped."""
    stops = 0
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.3)
            stops += 1
    except ProcessLookupError:
        pass
    Path(WORK, "stopped").touch()
    return stops
