# SPDX-License-Identifier: BSD-3-Clause
"""Draws what report.py gives as JSON: a program of its own, since matplotlib may be there for another python3."""
import json
import sys


def draw(what):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for name, seconds in what["runs"].items():
        left.plot(range(1, len(seconds) + 1), seconds, "o-", markersize=4, label=name)
    left.set_xlabel("round")
    left.set_ylabel(f"seconds, {what['what']}")
    left.set_ylim(0, 1.1 * max(max(seconds) for seconds in what["runs"].values()))
    left.grid(True, color="0.9")
    left.legend()
    names = [name for name, _, _ in what["calls"]]
    for shift, side, label in ((-0.2, 1, 0), (0.2, 2, 1)):
        right.barh([k + shift for k in range(len(names))], [call[side] for call in what["calls"]], 0.4,
                   label=list(what["runs"])[label])
    right.set_yticks(range(len(names)), names, fontsize=8)
    right.invert_yaxis()
    right.xaxis.set_major_formatter(ticker.EngFormatter(unit="s"))
    right.set_xlabel("time in these calls, mean over ranks")
    figure.suptitle(what["title"], fontsize=9)
    figure.tight_layout()
    figure.savefig(what["path"], dpi=120)


if __name__ == "__main__":
    draw(json.load(sys.stdin))
