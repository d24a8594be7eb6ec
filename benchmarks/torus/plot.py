#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plots of torus_sim's CSV: the three schemes over the size, even or uneven; or which allreduce wins where.

    torus_sim --figure -o csv -f figure.csv
    plot.py figure.csv even.png                 the published figure: even sizes
    plot.py figure.csv uneven.png --uneven 0.5  its variant: senders differ by +-50%
    torus_sim --project -o csv -f project.csv
    plot.py project.csv project.png
"""
import argparse
import csv
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from compare_lib.plot import label_sizes, size_name  # noqa: E402

try:
    import matplotlib
except ImportError:  # a distribution's matplotlib belongs to the distribution's python3
    if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3"):
        sys.exit("plot.py: no matplotlib (package python3-matplotlib)")
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

SCHEMES = [("scheme1_us", "(1) sync before each step", "C3", "s-"), ("scheme2_us", "(2) sync at the start only", "C1", "^-"),
           ("scheme3_us", "(3) sync at the start, then predicted waits", "C0", "o-")]
ALGORITHMS = {"ring": "C2", "tree": "C4", "bucket": "C0", "swing": "C1"}


def points(rows, model, column):
    """Sizes and values of a column, where the rows have it."""
    chosen = [(float(r["bytes"]), float(r[column])) for r in rows if r["model"] == model and r[column]]
    return [size for size, _ in chosen], [value for _, value in chosen]


def draw_times(axes, rows):
    for column, label, color, style in SCHEMES:
        sizes, times = points(rows, "fifo", column)
        axes.plot(sizes, times, style, color=color, markersize=4, label=label)
    sizes, times = points(rows, "packets", "scheme2_us")
    if sizes:
        axes.plot(sizes, times, "^:", color="C1", markersize=7, fillstyle="none", label="(2), links serve packets by turns")
    axes.set_yscale("log")
    axes.set_ylabel("Alltoall, us")
    axes.legend(fontsize="small")


def draw_differences(axes, rows):
    for column, label, color in [("difference13_us", "(1) - (3)", "C3"), ("difference23_us", "(2) - (3)", "C1")]:
        sizes, values = points(rows, "fifo", column)
        axes.plot(sizes, values, "o-", color=color, markersize=3, label=label)
    label_sizes(axes, sizes)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylabel("difference, us")
    axes.set_xlabel("bytes per pair")
    axes.legend(fontsize="small")


def draw_curves(axes, rows, torus):
    """The time of each algorithm over the size, on one torus."""
    chosen = [r for r in rows if r["torus"] == torus]
    for algorithm, color in ALGORITHMS.items():
        points_of = [(float(r["bytes"]), float(r[algorithm + "_us"])) for r in chosen if r[algorithm + "_us"]]
        if points_of:
            axes.plot(*zip(*points_of), "o-", color=color, markersize=3, label=algorithm)
    label_sizes(axes, sorted({float(r["bytes"]) for r in chosen}))
    axes.set_yscale("log")
    axes.set_title(f"{chosen[0]['nodes']} nodes, {torus}")
    axes.set_xlabel("bytes of the vector")
    axes.set_ylabel("allreduce, us")
    axes.grid(True, color="0.9")
    axes.legend(fontsize="small")


def draw_map(axes, rows):
    """The fastest algorithm for each torus and size."""
    tori = list(dict.fromkeys(r["torus"] for r in rows))
    sizes = sorted({float(r["bytes"]) for r in rows})
    names = list(ALGORITHMS)
    for r in rows:
        x, y = sizes.index(float(r["bytes"])), tori.index(r["torus"])
        axes.add_patch(matplotlib.patches.Rectangle((x - 0.5, y - 0.5), 1, 1, color=ALGORITHMS[r["fastest"]], alpha=0.6))
        axes.text(x, y, names[names.index(r["fastest"])], ha="center", va="center", fontsize=7)
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(-0.5, len(tori) - 0.5)
    axes.set_xticks(range(len(sizes)), [size_name(s) for s in sizes])
    axes.set_yticks(range(len(tori)), tori)
    axes.set_xlabel("bytes of the vector")
    axes.set_title("the fastest")


def draw_projection(pyplot, rows, path):
    tori = list(dict.fromkeys(r["torus"] for r in rows))
    shown = [t for t in ("4x4x4", "16x16x16", "32x32x32") if t in tori] or [tori[0]]
    figure, axes = pyplot.subplots(2, 2, figsize=(13, 9), squeeze=False)
    draw_map(axes.flat[0], rows)
    for a, torus in zip(axes.flat[1:], shown):
        draw_curves(a, rows, torus)
    for a in axes.flat[1 + len(shown):]:
        a.set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("png")
    parser.add_argument("--uneven", type=float, default=0, help="rows of senders that differ by so much (0.5)")
    args = parser.parse_args()
    with open(args.csv, newline="") as file:
        rows = list(csv.DictReader(file))
    matplotlib.use("Agg")
    from matplotlib import pyplot

    if rows and "fastest" in rows[0]:
        draw_projection(pyplot, rows, args.png)
        return
    rows = [r for r in rows if float(r["uneven"]) == args.uneven and float(r["skewed"]) == 0]
    if not points(rows, "fifo", "scheme3_us")[0]:
        sys.exit(f"plot.py: {args.csv} has no rows with uneven {args.uneven:g}")
    figure, (times, differences) = pyplot.subplots(2, 1, figsize=(7, 7), sharex=True, height_ratios=[2, 1])
    draw_times(times, rows)
    draw_differences(differences, rows)
    for axes in (times, differences):
        axes.grid(True, color="0.9")
    sizes = f"senders +-{100 * args.uneven:g}%" if args.uneven else "even sizes"
    times.set_title(f"Alltoall on a torus of {rows[0]['torus']}, {rows[0]['algorithm']}, {sizes}")
    figure.tight_layout()
    figure.savefig(args.png, dpi=120)


if __name__ == "__main__":
    main()
