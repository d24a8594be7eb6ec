# SPDX-License-Identifier: BSD-3-Clause
"""What benchmarks/compare and benchmarks/regret do."""
import os
import signal
import sys

from . import choices, machine, options, plot, raw, runs, stats, stock, table


def say(text):
    print(options.Parser.name + ": " + text, file=sys.stderr, flush=True)


def measure(opts):
    """Runs all rounds; returns the data. Whole rounds are in opts.csv even if it is interrupted."""
    build = machine.find_build(opts.builddir)
    bench = runs.find_programs(opts, build, say)
    configs, left_out = choices.find(opts, build, runs.bench_rows) if opts.choices else stock.find(opts, build)
    for line in left_out:
        say(line)
    if not configs:
        raise runs.Failure("no configuration is left to compare with")
    data = raw.Data(runs.describe(opts, build, configs, left_out))
    os.makedirs(os.path.dirname(os.path.abspath(opts.csv)), exist_ok=True)
    with raw.Writer(opts.csv, data.meta) as writer:
        try:
            runs.run_rounds(opts, build, bench, configs, data, writer, say)
        except KeyboardInterrupt:
            say(f"interrupted after {len(data.rounds)} whole rounds, which are in {opts.csv}")
            raise
    return data


def main(name):
    """benchmarks/NAME with the arguments of this process; returns the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return compare(options.parse(name, sys.argv[1:]))
    except KeyboardInterrupt:
        return 130


def compare(opts):
    python = opts.png and plot.find_python()
    if opts.png_given and not python:
        options.refuse("--png", opts.png, "only with matplotlib; install the package " + plot.PACKAGE)
    try:
        data = raw.read(opts.from_csv) if opts.from_csv else measure(opts)
        cells = stats.analyse(data, opts.limit, opts.step)
    except (runs.Failure, raw.Malformed, OSError) as e:
        say(str(e))
        return 1
    show = table.print_csv if opts.format == "csv" else table.print_table
    bad = show(sys.stdout, data, cells, opts.limit)
    if not opts.from_csv:
        say("raw data: " + opts.csv)
    if opts.png and not python:
        say(f"no plot: no python3 here has matplotlib; install the package {plot.PACKAGE}")
    elif opts.png:
        problem = plot.write(python, opts.png, data, cells, opts.limit)
        say(problem or "plot: " + opts.png)
    return 1 if bad and opts.strict else 0
