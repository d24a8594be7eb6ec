# SPDX-License-Identifier: BSD-3-Clause
"""The plot. matplotlib may be there for another python3 than the one that runs this (a distribution's package and a
python3 of one's own): the drawing is a process of its own, this file run as a program, fed with JSON."""
import json
import math
import os
import subprocess
import sys

if __package__:  # not as the program
    from .spread import TOO_NOISY, half_width, is_noisy

PACKAGE = "python3-matplotlib"
PYTHONS = [sys.executable, "/usr/bin/python3"]


def find_python():
    """A python3 that has matplotlib, or None."""
    for python in dict.fromkeys(PYTHONS):
        try:
            if subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
                return python
        except OSError:
            pass
    return None


def run(python, program, what):
    """Has a program draw what it gets as JSON. Returns None, or what went wrong in one line."""
    done = subprocess.run([python, "-B", os.path.realpath(program)], input=json.dumps(what), universal_newlines=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = done.stderr.strip().split("\n")
    return None if done.returncode == 0 else f"no plot: {lines[-1]}"


def write(python, path, data, cells, limit):
    """Returns None, or what went wrong in one line."""
    drawn = {name: [(c.bytes, c.ratio, c.same, is_noisy(half_width(c.same))) for c in rows if c.ratio and c.same]
             for name, rows in cells.items()}
    where = "{hosts} hosts x ranks, {rate}, delay {delay}".format(**data.meta) if "hosts" in data.meta \
        else f"{data.ranks()} ranks"
    title = f"{data.meta.get('mpi', '')}, {data.meta.get('machine', '')}\n{where}, " \
            f"{data.meta.get('form', 'blocking')}, {len(data.rounds)} rounds"
    what = {"path": path, "limit": limit, "noisy": f"noisy: A/A spread above {TOO_NOISY:g}", "title": title,
            "regret": data.against_choices(), "panels": [p for p in drawn.items() if p[1]]}
    if not what["panels"]:
        return "no plot: no cell has a ratio"
    return run(python, __file__, what)


def size_name(size):
    """131072 as 128K."""
    for unit, shift in (("G", 30), ("M", 20), ("K", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.4g}{unit}"
    return f"{size:g}"


def label_sizes(axes, sizes):
    """At most nine of the sizes, which have equal distances on the axis."""
    axes.set_xscale("log", base=2)
    shown = sizes[::-(-len(sizes) // 9)]
    axes.set_xticks(shown, [size_name(size) for size in shown])
    axes.minorticks_off()


def ratio_ticks(low, high):
    """Ratios to label on a logarithmic axis: round ones, which are far enough from each other; rounder ones first."""
    chosen = []
    for ticks in [[m * 10.0 ** e for e in range(-4, 5) for m in (1, 2, 5)]] + \
            [[1 + k / n for k in range(1 - n, 4 * n)] for n in (2, 10, 50, 100, 1000)]:
        for tick in ticks if len(chosen) < 4 else []:
            if low <= tick <= high and all(abs(math.log(tick / other)) > math.log(high / low) / 9 for other in chosen):
                chosen.append(tick)
    return sorted(chosen)


def shade(axes, size, label):
    """A cell that stock's own noise makes worthless."""
    axes.axvspan(size / 2 ** 0.5, size * 2 ** 0.5, color="C1", alpha=0.15, linewidth=0, label=label)


def draw_panel(axes, name, points, limit, noisy):
    sizes = [size for size, _, _, _ in points]
    ratio, same = [[row[i] for row in points] for i in (1, 2)]
    for size in [size for size, _, _, is_noisy in points if is_noisy]:
        shade(axes, size, noisy)
        noisy = None  # one line of the legend
    axes.fill_between(sizes, [s[1] for s in same], [s[2] for s in same], color="0.8", label="A/A: stock / stock")
    axes.fill_between(sizes, [r[1] for r in ratio], [r[2] for r in ratio], color="C0", alpha=0.3)
    axes.plot(sizes, [r[0] for r in ratio], "o-", color="C0", markersize=3, label="stock / gpuring")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.axhline(limit, color="C3", linewidth=0.8, linestyle="--", label=f"{limit:g}")
    axes.set_yscale("log")
    ticks = ratio_ticks(*axes.get_ylim())
    axes.set_yticks(ticks, [f"{tick:.4g}" for tick in ticks])
    label_sizes(axes, sizes)
    axes.set_title(name)
    axes.set_xlabel("bytes")
    axes.set_ylabel("ratio, above 1: gpuring is faster")
    axes.grid(True, color="0.9")


def draw_regret(pyplot, what):
    """A heat map: a row per collective, a column per size."""
    panels = what["panels"]
    sizes = sorted({size for _, points in panels for size, _, _, _ in points})
    noisy = [{size for size, _, _, is_noisy in points if is_noisy} for _, points in panels]
    grid = [[{size: 1 / ratio[0] for size, ratio, _, _ in points}.get(size, float("nan")) for size in sizes]
            for _, points in panels]
    figure, axes = pyplot.subplots(figsize=(0.55 * len(sizes) + 3, 0.5 * len(panels) + 2))
    image = axes.imshow(grid, cmap="RdYlGn_r", vmin=0.8, vmax=1.25, aspect="auto")
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            if value == value:  # not where there is no result
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=7)
            if sizes[x] in noisy[y]:
                axes.add_patch(pyplot.Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, hatch="////", alpha=0.3, linewidth=0))
    axes.set_xticks(range(len(sizes)), [size_name(size) for size in sizes], rotation=90, fontsize=7)
    axes.set_yticks(range(len(panels)), [name for name, _ in panels])
    axes.set_xlabel("bytes; hatched, " + what["noisy"])
    figure.colorbar(image, label="time / time of the best choice")
    return figure


def draw(what):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = draw_regret(pyplot, what) if what["regret"] else draw_panels(pyplot, what)
    figure.suptitle(what["title"], fontsize=8 if what["regret"] else None)
    figure.tight_layout()
    figure.savefig(what["path"], dpi=120)


def draw_panels(pyplot, what):
    panels = what["panels"]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(5 * columns, 3.8 * rows + 0.6), squeeze=False)
    for a in axes.flat[len(panels):]:
        a.set_visible(False)
    for a, (name, points) in zip(axes.flat, panels):
        draw_panel(a, name, points, what["limit"], what["noisy"])
    entries = {label: handle for a in axes.flat for handle, label in zip(*a.get_legend_handles_labels())}
    figure.legend(entries.values(), entries, loc="upper right", fontsize="small", ncols=2)
    return figure


if __name__ == "__main__":
    draw(json.load(sys.stdin))
