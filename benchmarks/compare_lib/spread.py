# SPDX-License-Identifier: BSD-3-Clause
"""Medians of ratios, and how sure they are."""
import collections
import math
import statistics

# A median and the quartiles around it; of interval(), the ends of the interval.
Spread = collections.namedtuple("Spread", "median lo hi")
SURE = 0.975  # how often an interval has the true ratio, at least
TOO_NOISY = 0.1  # half a width of stock against itself, above which a ratio says little
LEAST = 7  # ratios of which there is such an interval


def quantile(values, q):
    """Linear between the two nearest of the sorted values."""
    v = sorted(values)
    at = q * (len(v) - 1)
    low = int(at)
    return v[low] + (at - low) * (v[min(low + 1, len(v) - 1)] - v[low])


def spread(values):
    return Spread(statistics.median(values), quantile(values, 0.25), quantile(values, 0.75))


def half_width(same):
    return max(abs(1 - same.lo), abs(same.hi - 1))


def is_noisy(width):
    """Of a half width: whether ratios beside it mean nothing."""
    return round(width, 6) > TOO_NOISY


def left_out(n):
    """Of n ratios, how many at either end of the interval are left out: the sign test's number."""
    wrong, k = 0, -1
    while 2 * (wrong + math.comb(n, k + 1)) <= (1 - SURE) * 2 ** n:
        k += 1
        wrong += math.comb(n, k)
    return k


def interval(ratios):
    """The median of these ratios, LEAST at least, and between which of them the true one is: whatever their distribution, if a
    ratio and its inverse are equally likely where nothing differs. A few runs that were disturbed do not move the ends."""
    v = sorted(ratios)
    k = left_out(len(v))
    return Spread(statistics.median(v), v[k], v[-1 - k])
