# SPDX-License-Identifier: BSD-3-Clause
"""Same inputs, ranks and parameters: same bits, in one job and in separate ones, whatever the timing, and in the blocking,
nonblocking and persistent forms."""

import itertools

import pytest

from rows import *

ENV = {"GPURING_SEED": "4711"}
delays = itertools.count(SEED)  # each job has delays of its own
note(f"GPURING_SEED={SEED}")


def hashes(job):
    return job.lines("^# hash ")


def same_bits(mpi, np, options, what, jobs):
    def run(rounds):
        return mpi.run(np, f"GPURING_DELAYS={next(delays)} {options} -- determinism {rounds}")

    job = run(6)
    job.check(f"same bits within a job, {what}", good_through_gpuring)
    first = hashes(job)
    for number in jobs:
        run(3).check(f"same bits in job {number}, {what}", wants(lambda job: first and hashes(job) == first, f"{first}"))


@pytest.mark.parametrize("np", depth([3], [2, 3, 5, 8]))
def test_ranks(mpi, np):
    same_bits(mpi, np, "", f"{np} ranks", depth([2], [2, 3]))


@pytest.mark.parametrize("algorithm", depth(["flat"], ["ring", "chain", "tree", "flat", "mailbox"]))
def test_algorithms(mpi, algorithm):
    same_bits(mpi, depth(3, 5), f"algorithm={algorithm} channels=2 slot_bytes=4096", algorithm, [2])
