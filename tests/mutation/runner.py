# SPDX-License-Identifier: BSD-3-Clause
"""Running one test as make check does, up to its first failed row, with a limit of time."""

import itertools
import os
import re
import selectors
import signal
import subprocess
import time

from work import clean_environment

# Waits that a fault makes vain are cut short, and few kernels stand for all. The tests pass with
# these where there is no fault.
SHORT = {
    "GPURING_STOP": "1",
    "TEST_LIMIT": "60",
    "FAKECUDA_TIMEOUT": "20",
    "KERNEL_TEST_STOP": "1",
    "KERNEL_TEST_LIMIT": "20",
    "TEAM_TEST_PATIENCE": "30",
    "KERNEL_TEST_FEW": "f32_sum,f64_max,bits_bxor,f64_i32_minloc",
}
FAILED = re.compile(r"not ok (?!\d+ # (?:SKIP|TODO))\d+(?: - )?(.*)")
GRACE = 10  # seconds that a test has for cleaning up
MARK = "GPURING_MUTATION_RUN"
count = itertools.count(1)


class Result:
    """How a test ended: whether it failed, in how many seconds, in which row."""

    def __init__(self, failed, seconds, row):
        self.failed, self.seconds, self.row = failed, seconds, row


def marked(mark):
    """Processes, but those that are dying, whose environment has the mark."""
    word = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    if word in f.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end(process, mark):
    """End a test and all that it started: politely, then not."""
    until = time.monotonic() + GRACE
    if process.poll() is None:
        send(marked(mark), signal.SIGTERM)
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    for _ in range(20):
        pids = marked(mark)
        if not pids:
            break
        send(pids, signal.SIGKILL)
        time.sleep(0.05)
    process.wait()


def first_failed_row(process, until):
    """Read what it prints up to a failed row: that; "": it ended; None: its time was over."""
    buffer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return None
            ready = selector.select(min(left, 0.5))
            data = os.read(process.stdout.fileno(), 65536) if ready else b""
            if ready and not data:
                return ""
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                row = FAILED.match(line.decode(errors="replace"))
                if row:
                    return row[1].strip() or "a row without a title"
            if not ready and process.poll() is not None:
                return ""  # who still holds its output is not the test


def run_test(work, test, extra, limit):
    """Run a test in the work copy for at most `limit` seconds."""
    mark = f"{os.getpid()}.{next(count)}"
    command = f"{test.starter(work.src)} {work.src / test.path}" if test.script else f"./{test.path}"
    env = (
        clean_environment()
        | {"GPURING_SEED": os.environ.get("GPURING_SEED", "1"), MARK: mark}
        | SHORT
        | extra
    )
    if test.all_rows:
        env["GPURING_ALL"] = "1"
    begin = time.monotonic()
    process = subprocess.Popen(
        ["bash", "-c", f"{work.environment} exec {command}"],
        cwd=work.build,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        row = first_failed_row(process, begin + limit)
        if row is not None and (test.script or not row):  # it ends by itself in a moment
            try:
                process.wait(1 if row else max(begin + limit - time.monotonic(), 1))
            except subprocess.TimeoutExpired:
                row = row or None
    finally:
        end(process, mark)
        process.stdout.close()
    seconds = time.monotonic() - begin
    if row is None:
        return Result(True, seconds, f"no end within {limit:.0f} s")
    if row:
        return Result(True, seconds, row)
    failed = process.returncode != 0
    return Result(failed, seconds, f"exit status {process.returncode}" if failed else "")
