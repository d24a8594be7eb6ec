# SPDX-License-Identifier: BSD-3-Clause
"""From raw data to a verdict per cell. docs/measuring.md says why it is done this way."""
import collections
import statistics

from . import floor
from .raw import GPURING, ONCE, TWICE
from .spread import half_width, spread

# stock: names of the best configuration in the rounds of either half; same: the A/A control.
# ratio and same are Spreads; without a result of gpuring or of stock those fields are None.
Cell = collections.namedtuple("Cell", "collective bytes stock stock_us gpuring_us ratio same floor_us over_floor "
                                      "algorithm holds")


def complete(runs, rounds, needed):
    """Does a configuration have a result of each of its runs in every round?"""
    return all(round in runs.get(run, {}) for run in needed for round in rounds)


def runs_of(data):
    """The runs that a configuration to compare with has in a round."""
    return ONCE if data.against_choices() else TWICE


def uncounted(data):
    """For each configuration to compare with the cells that it has not a result of in every run."""
    names = sorted({name for times in data.times.values() for name in times if name != GPURING})
    found = {name: [cell for cell in sorted(data.times)
                    if not complete(data.times[cell].get(name, {}), data.rounds, runs_of(data))] for name in names}
    return {name: cells for name, cells in found.items() if cells}


def best_in(times, names, rounds):
    """The name with the least median over all its runs in these rounds."""
    return min(names, key=lambda name: statistics.median(us[r] for us in times[name].values() for r in rounds))


def cross(times, names, rounds):
    """For each round, the stock configuration that was best in the OTHER half of the rounds: choosing the best of
    several by the times that are then compared would take their luck for speed."""
    even, odd = rounds[0::2], rounds[1::2]
    chosen = {r: name for here, other in ((even, odd), (odd, even))
              for name in [best_in(times, names, other)] for r in here}
    return [chosen[r] for r in rounds]


def floor_of(data, cell, gpuring):
    """The floor's median over the rounds, and the median of time / floor; None, None where it is not known."""
    collective, size = cell
    size = floor.size_of(collective, size, data.ranks(), data.meta.get("program"))
    floors, overs = [], []
    for r in data.rounds:
        times = {measure: us[r] for measure, us in data.floors.items() if r in us}
        us = floor.of_cell(times, collective, size, data.ranks())
        if us:
            floors.append(us)
            overs.append(gpuring[r] / us)
    return (statistics.median(floors), statistics.median(overs)) if floors else (None, None)


def analyse_cell(data, cell, limit):
    times, rounds = data.times[cell], data.rounds
    names = [n for n in sorted(times) if n != GPURING and complete(times[n], rounds, runs_of(data))]
    algorithm = data.algorithms[cell].most_common(1)[0][0] if data.algorithms[cell] else ""
    stock, stock_us, gpuring_us, ratio, same, floor_us, over = [], None, None, None, None, None, None
    if names:
        stock = cross(times, names, rounds)
        stock_us = statistics.median(times[name]["a"][r] for name, r in zip(stock, rounds))
        again = [GPURING] * len(rounds) if data.against_choices() else stock
        if all(complete(times[name], rounds, TWICE) for name in again):
            same = spread([times[name]["a"][r] / times[name]["b"][r] for name, r in zip(again, rounds)])
    if complete(times[GPURING], rounds, ("a",)):
        gpuring = times[GPURING]["a"]
        gpuring_us = statistics.median(gpuring.values())
        floor_us, over = floor_of(data, cell, gpuring)
        if names:
            ratio = spread([times[name]["a"][r] / gpuring[r] for name, r in zip(stock, rounds)])
    holds = None if ratio is None or same is None else ratio.median >= limit - half_width(same)
    return Cell(cell[0], cell[1], list(dict.fromkeys(stock)), stock_us, gpuring_us, ratio, same, floor_us, over,
                algorithm, holds)


def thin(cells, step):
    """Every second size of a collective where sizes shall step by 4; the largest always."""
    return [cell for i, cell in enumerate(cells) if step == 2 or i % 2 == 0 or i == len(cells) - 1]


def analyse(data, limit, step):
    """A list of cells per collective, by size: {collective: [Cell]}, in the order of the data."""
    found = {}
    for cell in data.times:
        found.setdefault(cell[0], []).append(analyse_cell(data, cell, limit))
    return {collective: thin(sorted(cells, key=lambda c: c.bytes), step) for collective, cells in found.items()}
