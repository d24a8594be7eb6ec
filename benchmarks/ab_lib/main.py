# SPDX-License-Identifier: BSD-3-Clause
"""What gpuring_ab does."""
import os
import signal
import sys

from . import command, options, report, runs, verdict


def say(text):
    print("gpuring_ab: " + text, file=sys.stderr, flush=True)


def compare(opts):
    sides = command.sides(opts.command, opts.control)
    stock, other = sides
    try:
        found = runs.all_runs(opts, stock, other)
    except runs.Off as e:
        if opts.json:
            report.write_json(opts.json, {"command": opts.command, "verdict": "off", "text": str(e)})
        raise
    measured = verdict.measures(found[stock.name], found[other.name])
    calls = verdict.calls(found[stock.name], found[other.name])
    decided = verdict.judge(other.name, measured[0])
    for line in report.table(opts, sides, found, measured, calls):
        print(line)
    print(decided.text, flush=True)
    problem = None
    if opts.json:
        report.write_json(opts.json, report.as_json(opts, sides, found, measured, calls, decided))
    if opts.plot:
        problem = report.write_plot(opts, sides, found, measured, calls, decided)
    if problem:
        say(problem)
    return 1 if problem else 0


def main(argv):
    """The exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        opts = options.parse(argv)
        command.check(opts.command)
        return compare(opts)
    except options.Refused as e:
        say(str(e))
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except (runs.Failure, OSError) as e:
        if getattr(e, "output", ""):
            print(e.output, file=sys.stderr)
        say(str(e))
        return 1
    except KeyboardInterrupt:
        return 130
