# SPDX-License-Identifier: BSD-3-Clause
"""The options, and what is refused before anything runs."""
import argparse
import os
import sys

from compare_lib import plot, spread

HELP = f"""\
usage: gpuring_ab [-n ROUNDS] [--json FILE] [--plot FILE] [-t SECONDS] [--control] mpirun ... ./app
       gpuring_ab [OPTION...] srun ... ./app
Say whether a program is faster with gpuring.

Runs the command with stock Open MPI and with gpuring in turn, and nothing else changed. The
table has the times of whole runs and of their collectives; the last line is the verdict.

  -n ROUNDS       so many runs of either side, after one that is not timed (10; {spread.LEAST} at least)
  --json FILE     all times and the verdict as JSON
  --plot FILE     the runs and the calls as a picture; needs matplotlib
  -t SECONDS      how long one run may take (no limit)
  --control       stock against stock: what this machine takes for a difference
  --dir FOLDER    where ranks leave their times: all nodes must see it (the current folder)
  -h              this text

Exit status: 0 with a verdict, whatever it is; 1 if a run failed or gpuring was off; 2 for wrong use."""


class Refused(Exception):
    """A wrong use; the text says which, and what to do."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(f"{message} (gpuring_ab -h lists the options)")


def number(least, text):
    if not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from {least} on")
    return int(text)


def writable(option, path):
    if path and (os.path.isdir(path) or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)):
        raise Refused(f"{option} {path}: no file can be written there")


def parse(argv):
    p = Parser(prog="gpuring_ab", add_help=False, allow_abbrev=False)
    p.add_argument("-h", "--help", action="store_true")
    p.add_argument("-n", dest="rounds", type=lambda text: number(spread.LEAST, text), default=10)
    p.add_argument("--json")
    p.add_argument("--plot")
    p.add_argument("-t", dest="limit", type=lambda text: number(1, text))
    p.add_argument("--control", action="store_true")
    p.add_argument("--dir")
    p.add_argument("command", nargs=argparse.REMAINDER)
    opts = p.parse_args(argv)
    if opts.help:
        print(HELP, flush=True)
        sys.exit(0)
    if opts.command[:1] == ["--"]:
        del opts.command[0]
    if not opts.command:
        raise Refused("no command: gpuring_ab mpirun -np 4 ./app")
    writable("--json", opts.json)
    writable("--plot", opts.plot)
    if opts.dir and not (os.path.isdir(opts.dir) and os.access(opts.dir, os.W_OK)):
        raise Refused(f"--dir {opts.dir}: no folder that can be written to")
    opts.python = plot.find_python() if opts.plot else None
    if opts.plot and not opts.python:
        raise Refused(f"--plot: no python3 here has matplotlib; install the package {plot.PACKAGE}, or leave --plot out")
    return opts
