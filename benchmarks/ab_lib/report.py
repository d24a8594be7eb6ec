# SPDX-License-Identifier: BSD-3-Clause
"""The table, JSON, and what is drawn."""
import json
import os
import shlex
import time

from compare_lib import machine, plot

from . import runs, verdict

MOST_CALLS = 6


def seconds(value):
    unit, factor = next(((u, f) for u, f in (("s", 1), ("ms", 1e3)) if f * value >= 1), ("us", 1e6))
    return f"{factor * value:.{2 if factor * value < 100 else 1}f} {unit}"


def row(text, stock, other, ratio, rest=""):
    return f"  {text:36}{seconds(stock):>10}{seconds(other):>12}{ratio:>8}{rest}"


def counted(run):
    """What gpuring did in a run, in one line."""
    left = ", ".join(f"{text}: {n:,}" for text, n in runs.fell_back(run.counters).items())
    took, made = runs.taken(run.counters), sum(run.counts.values())
    return (f"gpuring took {took:,} collective calls" + (f"; it left others to stock ({left})" if left else "") +
            f"; the program made {made:,}, all ranks together")


def table(opts, sides, found, measured, calls):
    stock, other = sides
    last = found[other.name][-1]
    ranks = f", {last.ranks} ranks" if last.ranks else ""
    yield f"{shlex.join(opts.command)}: {opts.rounds} rounds{ranks}"
    yield f"  {'':36}{stock.name:>10}{other.name:>12}{'ratio':>8}{'interval':>15}{'stock / stock':>17}"
    for m in measured:
        yield row(m.name, m.stock, m.other, f"{m.ratio.median:.2f}",
                  f"{m.ratio.lo:>7.2f} .. {m.ratio.hi:.2f}{m.same.lo:>9.2f} .. {m.same.hi:.2f}")
    for call in calls[:MOST_CALLS]:
        ratio = f"{call.stock / call.other:.2f}" if call.other else ""
        yield row(f"  {call.name} {call.size}", call.stock, call.other, ratio)
    if last.counters is not None:
        yield counted(last)
    if not last.ranks:
        yield "no rank's times: the program calls MPI_Init and MPI_Finalize of no shared libmpi, or not by name"


def as_json(opts, sides, found, measured, calls, decided):
    rounds = [{"round": k + 1, "side": side.name, "wall_s": run.wall, "program_s": run.program,
               "collectives_s": run.collectives,
               "calls": [{"call": name, "size": size.text, "calls": run.counts[name, size], "s": s}
                         for (name, size), s in run.calls.items()],
               "counters": run.counters and {name: value for name, (value, _) in run.counters.items()}}
              for side in sides for k, run in enumerate(found[side.name])]
    spread = lambda s: {"median": s.median, "low": s.lo, "high": s.hi}
    return {"command": opts.command, "date": time.strftime("%Y-%m-%d %H:%M:%S %z"), "machine": machine.model(),
            "rounds": opts.rounds, "sides": {side.name: side.environment for side in sides}, "verdict": decided.kind,
            "text": decided.text,
            "measures": [{"what": m.name, "stock_s": m.stock, "other_s": m.other, "ratio": spread(m.ratio),
                          "stock_against_stock": spread(m.same), "noise": verdict.noise(m.ratio)} for m in measured],
            "calls": [call._asdict() for call in calls], "runs": rounds}


def write_json(path, what):
    with open(path, "w") as f:
        json.dump(what, f, indent=1)
        f.write("\n")


def drawn(opts, sides, found, measured, calls, decided):
    field = "program" if measured[0].name != "whole command" else "wall"
    return {"path": opts.plot, "title": f"{shlex.join(opts.command)}\n{decided.text}", "what": measured[0].name,
            "runs": {side.name: [getattr(run, field) for run in found[side.name]] for side in sides},
            "calls": [(f"{call.name}\n{call.size}", call.stock, call.other) for call in calls[:MOST_CALLS]]}


def write_plot(opts, *rest):
    """None, or what went wrong."""
    return plot.run(opts.python, os.path.join(os.path.dirname(os.path.realpath(__file__)), "draw.py"), drawn(opts, *rest))
