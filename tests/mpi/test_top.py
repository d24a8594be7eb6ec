# SPDX-License-Identifier: BSD-3-Clause
"""gpuring_top, and the table that ranks print: which rank is stopped, computes, or is in another call. Rows wait for what
ranks do, not for a time."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from rows import *

OPTIONS = stock_segments
NP = 3
TOP = os.path.join(os.environ["builddir"], "gpuring_top")
STALLED = r"stalled communicator \(id \d+\), \d ranks, blocking calls:"


def top(*words, program=TOP, **more):
    return subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **more)


def pids(job):
    """Of the ranks, in their order, once all have said theirs."""
    found = dict(re.findall(r"^# rank (\d+) pid (\d+)$", job.text, re.M))
    return [int(found[rank]) for rank in sorted(found)]


def in_table(*patterns):
    """Each is in the table of all ranks, and a line of its own."""
    def judge(job):
        ranks = pids(job)
        job.table = top(*ranks).stdout if ranks else ""
        return all(re.search(f"^{pattern}$", job.table, re.M) for pattern in patterns)
    return wants(judge, f"in the table: {patterns}")


def row_of(rank, call, seq, state):
    return rf" +{rank} \S+ +\d+ {call} +{seq} +\S+( s)?  {state}"


def shown(job, text, *patterns):
    job.check(text, in_table(*patterns), within=60)
    note(getattr(job, "table", ""))


def test_stopped(mpi):
    job = mpi.start(NP, "timeout=0 signal=10 -- stall stop allreduce")
    shown(job, "a stopped rank is named as stopped, with its calls, and who waits for it", STALLED,
          row_of(0, "allreduce", 6, ".*waits for ranks?.* 1"), row_of(1, "-", 5, "stopped; last call: allreduce"),
          row_of(2, "allreduce", 6, ".*"),
          "behind, with 5 calls begun, another rank with 6: rank 1")
    first = top(pids(job)[0]).stdout
    result("of one process, only its rows", re.search(row_of(0, "allreduce", 6, ""), first) and "2 ranks are not seen" in first
           and "stopped" not in first, first)
    job.signal(signal.SIGUSR1, 2)
    job.check("SIGUSR1, as coll_gpuring_signal says: a rank prints the table", rf"gpuring: {row_of(1, '-', 5, 'stopped')}",
              within=60)
    job.resume().check("SIGUSR1 ends no rank", good_through_gpuring)
    gone = top(*pids(job))
    result("nothing is left of ranks that have ended", gone.returncode == 1 and gone.stdout.count("\n") == 1, gone.stdout)


def ranks_in(job, pattern):
    return {re.search(r"rank (\d+) of", line)[1] for line in job.lines(pattern)}


def test_reported(mpi):
    job = mpi.start(NP, "timeout=1 -- stall stop allreduce")
    table = rf"gpuring: {STALLED}"
    job.check("after the timeout: the table, with the rank for which the others wait", table,
              rf"gpuring: {row_of(1, '-', 5, '(stopped|not waiting here)')}", within=60)
    job.wait_for(60, wants(lambda job: len(job.lines("waits [0-9]+ s in")) >= 2 * NP, "reported again"))
    # on a slow machine there may have been waits before this one, which have ended
    job.check("once for a wait, however often it is reported", wants(
        lambda job: 1 <= len(job.lines(table)) < NP + len(job.lines("goes on after")), "a table or two"))
    job.resume().check("all finish right", good_through_gpuring)
    job.check("each rank that has reported says that it goes on", wants(
        lambda job: ranks_in(job, "waits [0-9]+ s in") == ranks_in(job, r"goes on after [0-9]+ s"), "ranks go on"))


def left_behind():
    """Files of ours."""
    return [str(path) for folder in ("/dev/shm", "/tmp") for path in Path(folder).glob("*gpuring*")]


def looks_again(text, ranks, pattern):
    """Until a line is as wanted, or the ranks have ended."""
    with subprocess.Popen([TOP, "-s", "0.2", *map(str, ranks)], stdout=subprocess.PIPE, text=True) as looks:
        lines = []
        for line in looks.stdout:
            lines.append(line)
            if re.match(pattern, line):
                break
        looks.kill()
    result(text, re.match(pattern, lines[-1]), "".join(lines[-20:]))


def test_computes(mpi):
    before = set(left_behind())
    job = mpi.start(NP, "timeout=0 -- stall sleep allreduce 200")
    shown(job, "a rank that computes, and its last call", row_of(0, "allreduce", 6, ".*waits for ranks?.* 1"),
          row_of(1, "-", 5, "not waiting here: computes, or is in another library; last call: allreduce"))
    ranks = pids(job)
    looks_again("looked at again: since when it has made no call", ranks,
                row_of(1, "-", 5, r"not waiting here: .*; last call: allreduce, none for [1-9]\d* s"))
    job.check("timeout = 0: no rank says that it waits", "!gpuring: .* waits [0-9]+ s in")
    job.kill()
    result("killed: nothing is left", within(60, lambda: top(*ranks).returncode == 1) and set(left_behind()) <= before,
           top(*ranks).stdout)


def test_apart(mpi):
    job = mpi.start(NP, "timeout=0 -- stall cross")
    shown(job, "two communicators: both tables, and which rank waits in the other one", STALLED,
          r"other communicator \(id \d+\), 3 ranks, blocking calls:",
          row_of(1, "-", 5, r"in allreduce of other communicator \(id \d+\), blocking"),
          row_of(0, "-", 1, r"in allreduce of stalled communicator \(id \d+\), blocking"))
    job.kill()
    job = mpi.start(2, "timeout=0 -- stall other")
    shown(job, "a rank that calls another collective", row_of(0, "bcast", 6, ".*waits for ranks? 1"),
          row_of(1, "reduce", 6, ".*waits for ranks? 0"), "not in rank 0's bcast, sequence 6, but in another call: rank 1")
    job.kill()


def test_users(mpi):
    text = "ranks of another user are not read"
    if os.geteuid():
        skip(text, "not root")
        return
    job = mpi.start(2, "timeout=0 -- stall sleep allreduce 200")
    job.wait_for(60, in_table(STALLED))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(TOP, folder)
        try:
            own, other = top(*pids(job), program=program), top(*pids(job), program=program, user=65534, group=65534)
        except PermissionError as error:
            skip(text, str(error))
        else:
            result(text, own.returncode == 0 and other.returncode == 1, other.stdout)
    job.kill()


def test_usage():
    wrong = top("x")
    result("what is no process is refused", wrong.returncode == 2 and "allowed" in wrong.stdout, wrong.stdout)
