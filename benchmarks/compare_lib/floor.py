# SPDX-License-Identifier: BSD-3-Clause
"""The floor of a cell, from what gpuring_floor measured. docs/measuring.md derives it.

    floor = e E + V / (N R)      E: exchange of a cache line; R: rate of the best single copy of V/N bytes
    e: the waits for another rank, a mean over ranks; V: the bytes that must cross from rank to rank, of all ranks
gpuring_bench's limit of a size is the same formula (benchmarks/common/ideal.c): a change is to be made there, too.
"""
import collections
import math

LEAST_BLOCK = 64 << 10  # below, a copy's time is not its rate
MOST_BLOCK = 64 << 20   # above, no cache matters
SINGLE = ("direct", "cma")

# exchanges(N), crossing(N): e, and V in units of S, the size as docs/measuring.md defines it
Kind = collections.namedtuple("Kind", "exchanges crossing")
_shares = Kind(lambda n: 1, lambda n: n - 1)
KINDS = {
    "allreduce": Kind(lambda n: 1, lambda n: 2 * (n - 1)),
    "allgather": _shares, "allgatherv": _shares, "reduce_scatter": _shares, "reduce_scatter_block": _shares,
    "alltoall": _shares,
    "bcast": Kind(lambda n: (n - 1) / n, lambda n: n - 1),
    "reduce": Kind(lambda n: 1 / n, lambda n: n - 1),
}
# OSU's programs print the bytes of one rank's block here, not S
OSU_BLOCKS = ("allgather", "allgatherv", "alltoall")


def block_sizes(largest):
    """MIN and MAX of the blocks to be copied, doubling, for cells of up to S = largest bytes."""
    most = LEAST_BLOCK
    while most < 2 * largest and most < MOST_BLOCK:  # V/N is below 2S
        most *= 2
    return LEAST_BLOCK, most


def size_of(collective, size, ranks, program):
    return size * ranks if program == "osu" and collective in OSU_BLOCKS else size


def rate(times, size):
    """Bytes per microsecond of the best single copy of size bytes; times: {(measure, bytes): us} of one round.
    Between two sizes the rate is interpolated on the logarithm of the size."""
    best = {}
    for (measure, measured), us in times.items():
        if measure in SINGLE:
            best[measured] = max(best.get(measured, 0), measured / us)
    if not best:
        return None
    known = sorted(best)
    above = next((k for k in known if k >= size), known[-1])
    below = next((k for k in reversed(known) if k <= size), known[0])
    part = 0 if above == below else math.log(size / below) / math.log(above / below)
    return best[below] + part * (best[above] - best[below])


def of_cell(times, collective, size, ranks):
    """Microseconds, from one round's measures; None where they do not say."""
    kind = KINDS.get(collective)
    lines = [us for (measure, _), us in times.items() if measure == "exchange"]
    if not kind or not lines:
        return None
    block = kind.crossing(ranks) * size / ranks
    speed = rate(times, block)
    return kind.exchanges(ranks) * lines[0] + block / speed if speed else None
