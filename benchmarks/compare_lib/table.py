# SPDX-License-Identifier: BSD-3-Clause
"""What is printed."""
import csv
import statistics

from . import stats
from .spread import TOO_NOISY, half_width, is_noisy, quantile

FIELDS = ["collective", "bytes", "stock_us", "stock", "gpuring_us", "ratio", "ratio_lo", "ratio_hi", "same", "same_lo",
          "same_hi", "floor_us", "over_floor", "algorithm", "verdict"]
ENOUGH = 7


def verdict(cell):
    return {None: "missing", True: "holds", False: "below"}[cell.holds]


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def head(data):
    other = "best" if data.against_choices() else "stock"
    return (f"{'bytes':>12} {other + ' us':>10} {'gpuring us':>10} {'ratio':>6} {'lo .. hi':>13} {'A/A':>6} "
            f"{'lo .. hi':>13} {'floor us':>10} {'x floor':>8}  {'algorithm':<10} {other}")


def spread(s):
    return ("-", "-") if s is None else (f"{s.median:.2f}", f"{s.lo:.2f} .. {s.hi:.2f}")


def line(cell):
    ratio, around = spread(cell.ratio)
    same, same_around = spread(cell.same)
    mark = {None: "  << no result", True: "", False: "  << below"}[cell.holds]
    return (f"{cell.bytes:>12} {number(cell.stock_us):>10} {number(cell.gpuring_us):>10} {ratio:>6} {around:>13} "
            f"{same:>6} {same_around:>13} {number(cell.floor_us):>10} {number(cell.over_floor, 1):>8}  "
            f"{cell.algorithm or '-':<10} {'|'.join(cell.stock) or '-'}{mark}")


def named(cells):
    """Cells (collective, bytes), by collective: allreduce 4, 8; bcast 64"""
    sizes = {}
    for collective, size in cells:
        sizes.setdefault(collective, []).append(str(size))
    return "; ".join(f"{collective} {', '.join(some)}" for collective, some in sizes.items())


def copy_rates(data):
    """One line about what the floor is made of: medians of the exchange, and of each way to copy at three sizes."""
    def median(us):
        return statistics.median(us.values())
    said = [f"exchange {median(us):.3f} us" for (what, _), us in data.floors.items() if what == "exchange"]
    sizes = sorted({size for what, size in data.floors if what != "exchange"})
    for size in sizes[::len(sizes) // 2 or 1]:
        rates = ", ".join(f"{what} {size / median(us) / 1e3:.1f}" for (what, s), us in data.floors.items()
                          if s == size and what != "exchange")
        said.append(f"{size >> 10} KiB {rates} GB/s")
    return "; ".join(said)


def what(data):
    """What the column of ratios is, in words."""
    if data.against_choices():
        return ("# ratio: best choice / gpuring's, below 1 where another one is faster; median, lo .. hi: quartiles over rounds\n"
                "# A/A: the same of gpuring against itself. More: docs/measuring.md\n")
    return ("# ratio: stock / gpuring, above 1 where gpuring is faster; median, lo .. hi: quartiles over rounds\n"
            "# A/A: the same of stock against itself; x floor: gpuring / floor. More: docs/measuring.md\n")


def print_head(out, data):
    for key, value in data.meta.items():
        out.write(f"# {key}: {value}\n")
    few = "" if len(data.rounds) >= ENOUGH else f" (fewer than {ENOUGH}: nothing to quote)"
    out.write(f"# rounds: {len(data.rounds)}{few}\n")
    if data.floors:
        out.write(f"# floor: {copy_rates(data)}\n")
    for text in data.failures:
        out.write(f"# failed: {text}\n")
    for name, some in stats.uncounted(data).items():
        out.write(f"# not counted, no result from every run: {name} in {named(some)}\n")
    out.write(what(data))


def print_table(out, data, cells, limit):
    """Returns the number of cells that do not hold."""
    print_head(out, data)
    for collective, rows in cells.items():
        out.write(f"\n{collective}, {data.ranks()} ranks, {data.meta.get('form', 'blocking')}\n{head(data)}\n")
        out.writelines(line(cell) + "\n" for cell in rows)
    every = [cell for rows in cells.values() for cell in rows]
    below = [cell[:2] for cell in every if cell.holds is False]
    missing = [cell[:2] for cell in every if cell.holds is None]
    noise = [(half_width(cell.same), cell) for cell in every if cell.same]
    out.write("\n")
    if noise:
        worst = max(noise, key=lambda pair: pair[0])
        out.write(f"A/A spread: {statistics.median(w for w, _ in noise):.2f} in the median cell, "
                  f"{worst[0]:.2f} at most, in {named([worst[1][:2]])}\n")
    ratios = sorted((cell.ratio.median, cell[:2]) for cell in every if cell.ratio)
    if ratios and not data.against_choices():
        if noise and is_noisy(statistics.median(w for w, _ in noise)):
            said = f"no mean ratio, this machine is too noisy: the median cell's A/A spread is above {TOO_NOISY:g}"
        else:
            said = f"ratio: geometric mean {statistics.geometric_mean(r for r, _ in ratios):.2f}, " \
                   f"lowest {ratios[0][0]:.2f}, in {named([ratios[0][1]])}"
        out.write(f"{said}; gpuring is behind in {sum(r < 1 for r, _ in ratios)} of {len(ratios)} cells\n")
    regrets = sorted((1 / cell.ratio.median, cell[:2]) for cell in every if cell.ratio)
    if regrets and data.against_choices():
        values = [value for value, _ in regrets]
        out.write(f"regret: median {statistics.median(values):.2f}, 95% of cells at most {quantile(values, 0.95):.2f}, "
                  f"worst {values[-1]:.2f}, in {named([regrets[-1][1]])}\n")
    if missing:
        out.write(f"{len(missing)} cells without a result of stock or of gpuring from every round: {named(missing)}\n")
    out.write(f"{len(every)} cells, {len(below)} below {limit:g} by more than the A/A spread" +
              (f": {named(below)}\n" if below else "\n"))
    return len(below) + len(missing)


def print_csv(out, data, cells, limit):
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(FIELDS)
    every = [cell for some in cells.values() for cell in some]
    for c in every:
        rows.writerow([c.collective, c.bytes, c.stock_us, "|".join(c.stock), c.gpuring_us, *(c.ratio or [None] * 3),
                       *(c.same or [None] * 3), c.floor_us, c.over_floor, c.algorithm, verdict(c)])
    return sum(not c.holds for c in every)
