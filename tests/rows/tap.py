# SPDX-License-Identifier: BSD-3-Clause
"""pytest's results as rows of TAP. A test prints one row or several; GPURING_STOP=1 ends it at the
first one that failed."""

import os
import time

import pytest

__all__ = ["depth", "in_all", "note", "result", "skip", "skip_all"]

in_all = bool(os.environ.get("GPURING_ALL"))  # ./check --all
count = failed = 0
since, since_busy = time.monotonic(), 0
skipped_all = None


def depth(quick, all_rows):
    """The second one in ./check --all."""
    return all_rows if in_all else quick


def note(text):
    """Comments of TAP."""
    print("".join(f"# {line}\n" for line in text.splitlines()), end="", flush=True)


def result(text, passed, why=""):
    """One row; where it failed, `why` is shown."""
    global count, failed, since, since_busy
    count += 1
    print("ok" if passed else "not ok", count, "-", text, flush=True)
    if not passed:
        failed += 1
        note(why)
    now, busy = time.monotonic(), sum(os.times()[:4])  # of what was waited for, too
    note(f"took {1000 * (now - since):.0f} ms, {1000 * (busy - since_busy):.0f} ms of processors")
    since, since_busy = now, busy
    if not passed and os.environ.get("GPURING_STOP"):
        pytest.exit("a row failed", returncode=1)


def skip(text, reason):
    """One row that cannot run here."""
    global count
    count += 1
    print(f"ok {count} - {text} # SKIP {reason}", flush=True)


def skip_all(reason):
    """Instead of all rows."""
    global skipped_all
    skipped_all = reason
    pytest.exit(reason, returncode=0)


# ---- hooks ----


def pytest_collectreport(report):
    global skipped_all
    if report.failed:
        result(f"{report.nodeid} can be read", False, report.longreprtext)
    elif report.skipped:
        skipped_all = report.longrepr[2].removeprefix("Skipped: ")


def pytest_runtest_logreport(report):
    if report.failed:
        result(report.nodeid, False, report.longreprtext)
    elif report.skipped:
        skip(report.nodeid, report.longrepr[2].removeprefix("Skipped: "))


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        return  # without a plan the test has failed
    if skipped_all:
        print(f"1..0 # SKIP {skipped_all}", flush=True)
        session.exitstatus = 0
    elif count:
        print(f"1..{count}", flush=True)
        session.exitstatus = int(failed > 0)
