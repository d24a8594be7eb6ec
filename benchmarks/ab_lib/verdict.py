# SPDX-License-Identifier: BSD-3-Clause
"""From times to a verdict in one line."""
import collections
import statistics

from compare_lib.spread import half_width, interval, spread

LEAST_DIFFERENCE = 1.01  # what is less is no difference, however sure it is
# Where the verdict is "no difference": by how much stock may differ from itself, and how wide the ratio's interval may be.
MOST_NOISE, MOST_WIDTH = 0.1, 0.2

# Seconds of either side (medians), their ratio with its interval, and stock's runs against each other
Measure = collections.namedtuple("Measure", "name stock other ratio same")
Call = collections.namedtuple("Call", "name size calls stock other")
Verdict = collections.namedtuple("Verdict", "kind text")


def measure(name, stock, other):
    """stock, other: seconds, round by round."""
    return Measure(name, statistics.median(stock), statistics.median(other), interval([s / o for s, o in zip(stock, other)]),
                   spread([a / b for a, b in zip(stock, stock[1:])]))


def measures(stock, other):
    """What was measured of both sides, lists of Run; the first one decides."""
    whole = [("MPI_Init to MPI_Finalize", "program"), ("whole command", "wall"), ("in collectives", "collectives")]
    return [measure(name, *([getattr(run, field) for run in side] for side in (stock, other))) for name, field in whole
            if all(getattr(run, field) for run in stock + other)]


def calls(stock, other):
    """Calls by what they won or lost, most first."""
    median = lambda side, key: statistics.median(run.calls.get(key, 0) for run in side)
    keys = sorted({key for run in stock + other for key in run.calls})
    found = [Call(name, "" if "barrier" in name else size.text, max(run.counts.get((name, size), 0) for run in stock),
                  median(stock, (name, size)), median(other, (name, size))) for name, size in keys]
    return sorted(found, key=lambda call: -abs(call.stock - call.other))


def noise(ratio):
    return max(ratio.hi / ratio.median, ratio.median / ratio.lo) - 1


def percent(part):
    return f"{100 * part:.0f}%" if part >= 0.01 else "less than 1%"


def judge(name, measured):
    """name: of the side that is not stock."""
    ratio = measured.ratio
    times = f"{ratio.median:.3g}" if ratio.median >= 10 else f"{ratio.median:.2f}"
    about = f"noise {percent(noise(ratio))}"
    if ratio.lo > 1 and ratio.median >= LEAST_DIFFERENCE:
        return Verdict("faster", f"{name}: {times} times as fast ({about})")
    if ratio.hi < 1 and ratio.median <= 1 / LEAST_DIFFERENCE:
        return Verdict("slower", f"{name} is slower: {times} times as fast ({about})")
    if half_width(measured.same) > MOST_NOISE or noise(ratio) > MOST_WIDTH:
        return Verdict("noisy", f"machine too noisy to say: stock differs from itself by {percent(half_width(measured.same))}, "
                                f"and {name} is between {ratio.lo:.2f} and {ratio.hi:.2f} times as fast; let nothing else run, "
                                "or take more rounds (-n) or a longer run")
    return Verdict("same", f"no difference ({about})")
