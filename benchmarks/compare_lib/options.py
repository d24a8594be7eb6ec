# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""
import argparse
import os
import re
import shlex
import shutil
import sys
import time

from . import floor, raw, stock

COLLECTIVES = ["allreduce", "allgather", "reduce_scatter", "bcast", "reduce"]
FORMS = ["blocking", "nonblocking", "persistent"]
DEVICES = ["host", "cuda", "managed"]
LEAST_ROUNDS, LEAST_QUICK = 7, 2
SIZES = 4, 16 << 20  # bytes, doubling
SUFFIXES = {"": 0, "k": 10, "m": 20, "g": 30}
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

EPILOG = "Exit status: 0 measured; 1 nothing could be measured, or --strict and a cell does not hold; 2 usage."


def refuse(option, value, allowed):
    """Prints a line about a value that is not allowed, and exits."""
    print(f"{Parser.name}: {option}: '{value}' is not valid; allowed: {allowed}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    name = "compare"  # of the program, for messages

    def error(self, message):
        print(self.name + ": " + message.replace("argument ", "", 1), file=sys.stderr)
        sys.exit(2)


def checked(convert, allowed):
    """A converter for argparse; ValueError becomes a line with the value and what is allowed."""
    def check(text):
        try:
            return convert(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not valid; allowed: {allowed}") from None
    return check


def whole(least):
    def convert(text):
        if int(text) < least:
            raise ValueError
        return int(text)
    return checked(convert, f"a whole number of at least {least}")


def among(names):
    return checked(lambda text: names[names.index(text)], " ".join(names))


def size(text):
    number, suffix = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "")
    if not number.isdigit() or int(number) < 1 or suffix not in SUFFIXES:
        raise ValueError
    return int(number) << SUFFIXES[suffix]


def sizes(text):
    first, colon, second = text.partition(":")
    low = size(first) if colon else min(SIZES[0], size(first))
    high = size(second if colon else first)
    if low > high:
        raise ValueError
    return low, high


def limit(text):
    if not 0 < float(text) < 100:
        raise ValueError
    return float(text)


def layout(text):
    if not re.fullmatch(r"[1-9]\d?x[1-9]\d?", text):
        raise ValueError
    return text


def rate(text):
    if not re.fullmatch(r"[1-9]\d*[mg]bit", text):
        raise ValueError
    return text


def words(text):
    """A quoted list of mpirun options."""
    found = shlex.split(text)
    if not found:
        raise ValueError
    return found


DESCRIPTIONS = {"compare": "Stock Open MPI and gpuring side by side, in interleaved rounds.",
                "regret": "What gpuring chooses and what it could have chosen side by side, in interleaved rounds."}


def peer(text):
    """NAME=COMMAND as a configuration."""
    name, _, launch = text.partition("=")
    if not shutil.which((shlex.split(launch) + [""])[0]) or not re.fullmatch(r"[\w.-]+", name) or name in stock.NAMES + [raw.FLOOR, raw.GPURING]:
        raise ValueError
    return stock.peer(name, words(launch))


def add_stock_options(add):
    add("--configs", metavar="LIST",
        help="stock configurations, with commas, or none; default: all of " + ",".join(stock.NAMES))
    add("--peer", metavar="NAME=COMMAND", dest="peers", action="append", default=[],
        type=checked(peer, "a new NAME, =, and a command that is there and ends with a gpuring_bench"),
        help="one more configuration: a gpuring_bench built for another MPI, and what launches it; may be repeated")
    add("--osu", metavar="DIR", help="run the osu_COLLECTIVE found below DIR instead of gpuring_bench")


def make_parser(name):
    Parser.name = name
    p = Parser(prog=name, description=DESCRIPTIONS[name], epilog=EPILOG, allow_abbrev=False)
    p.set_defaults(choices=name == "regret", configs=None, osu=None, peers=[])
    add = p.add_argument
    names = sorted(floor.KINDS)
    add("collectives", nargs="*", metavar="COLLECTIVE", type=among(names),
        help=" ".join(names) + "; default: " + " ".join(COLLECTIVES))
    add("-n", dest="ranks", metavar="RANKS", type=whole(2), default=2, help="2")
    add("-m", dest="sizes", metavar="MIN:MAX", default=SIZES,
        type=checked(sizes, "MIN:MAX or MAX in bytes, 1 <= MIN <= MAX, suffixes k M G"), help="or MAX: bytes, doubling (4:16M)")
    add("--step", metavar="2|4", type=checked(lambda t: {"2": 2, "4": 4}.get(t) or int(""), "2 4"), default=2,
        help="4: every second size is left out of the results")
    add("--rounds", metavar="N", type=whole(LEAST_QUICK), default=None, help="9; at least 7 without --quick")
    add("--quick", action="store_true", help="2 rounds, or any --rounds from 2; nothing to quote")
    add("-i", "--iters", metavar="N", type=whole(1), help="timed calls per size, else the program's own numbers")
    add("-x", "--warmup", metavar="N", type=whole(0), help="untimed calls before them")
    add("--form", metavar="FORM", type=among(FORMS), default="blocking", help=" ".join(FORMS))
    add("-d", dest="device", metavar="KIND", type=among(DEVICES), default="host",
        help=" ".join(DEVICES) + ": where buffers live; stock needs an Open MPI with CUDA support for the last two")
    add("--hosts", metavar="LAYOUT", type=checked(layout, "QxP, hosts x ranks, as 4x2"),
        help="between Q hosts of P ranks, which are namespaces of this machine (tests/hosts/hosts.sh): needs root")
    add("--rate", metavar="RATE", type=checked(rate, "a rate of a host, as 200mbit or 1gbit"),
        help="of each host's interface, with --hosts; no limit")
    add("--delay", metavar="MS", type=whole(1), help="milliseconds that each packet takes longer, with --hosts")
    if name == "compare":
        add_stock_options(add)
    add("--gpuring-arg", metavar="'OPTIONS'", action="append", default=[], type=checked(words, "mpirun options"),
        help="more mpirun options for gpuring's runs; may be repeated")
    add("--limit", type=checked(limit, "a ratio above 0 and below 100"), default=0.95,
        help="the ratio that a cell should have (0.95)")
    add("--strict", action="store_true", help="exit status 1 when a cell does not hold")
    add("--builddir", metavar="DIR", default=os.path.join(TOP, "build"), help="build/ beside this script's sources")
    add("--timeout", metavar="S", type=whole(1), default=300, help="seconds that one run may take (300)")
    add("--seed", metavar="N", type=whole(0), default=None, help="of the order within rounds")
    add("-o", dest="format", metavar="table|csv", type=among(["table", "csv"]), default="table")
    add("--csv", metavar="FILE", help=f"raw data; default: a new file in BUILDDIR/{name}")
    add("--png", metavar="FILE", help="plot; default: beside the raw data")
    add("--from-csv", metavar="FILE",
        help="measure nothing: evaluate the raw data of an earlier run; options that say what to run are ignored")
    return p


def check_files(opts):
    for name, path in (("--csv", opts.csv), ("--png", opts.png)):
        if path and (os.path.isdir(path) or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)):
            refuse(name, path, "a file that can be written")
    if opts.from_csv and not os.access(opts.from_csv, os.R_OK):
        refuse("--from-csv", opts.from_csv, "a file that can be read")
    if opts.from_csv and opts.csv:
        refuse("--csv", opts.csv, "not with --from-csv, which measures nothing")
    if not opts.from_csv and not os.access(os.path.join(opts.builddir, "env.sh"), os.R_OK):
        refuse("--builddir", opts.builddir, "a directory in which gpuring was built")
    if opts.osu and not os.path.isdir(opts.osu):
        refuse("--osu", opts.osu, "a directory")


def check_rounds(opts):
    least = LEAST_QUICK if opts.quick else LEAST_ROUNDS
    if opts.rounds is None:
        opts.rounds = LEAST_QUICK if opts.quick else 9
    if opts.rounds < least:
        refuse("--rounds", opts.rounds, f"at least {least}, or with --quick at least {LEAST_QUICK}")


def set_files(opts):
    """Default names of output files, with the time of day: no earlier result is overwritten."""
    opts.png_given = opts.png is not None
    if opts.from_csv:
        return
    if opts.csv is None:
        opts.csv = os.path.join(opts.builddir, Parser.name, time.strftime("%Y%m%d-%H%M%S") + f"-n{opts.ranks}.csv")
    if opts.png is None:
        opts.png = os.path.splitext(opts.csv)[0] + ".png"


def parse(name, argv):
    """Options of benchmarks/NAME: compare or regret."""
    opts = make_parser(name).parse_intermixed_args(argv)
    opts.command = f"benchmarks/{name} " + " ".join(shlex.quote(a) for a in argv)
    opts.collectives = list(dict.fromkeys(opts.collectives)) or COLLECTIVES
    opts.configs = stock.NAMES if opts.configs is None else [] if opts.configs == "none" else opts.configs.split(",")
    for name in opts.configs:
        if name not in stock.NAMES:
            refuse("--configs", name, " ".join(stock.NAMES) + ", or none")
    if opts.osu and opts.form != "blocking":
        refuse("--form", opts.form, "blocking, with --osu")
    if opts.osu and opts.peers:
        refuse("--peer", opts.peers[0].name, "not with --osu")
    if opts.hosts and opts.peers:
        refuse("--peer", opts.peers[0].name, "not with --hosts")
    if opts.seed is None:
        opts.seed = int(time.time())
    if not opts.hosts and (opts.rate or opts.delay):
        refuse("--rate" if opts.rate else "--delay", opts.rate or opts.delay, "only with --hosts")
    if opts.hosts:
        hosts, ranks = opts.hosts.split("x")
        opts.ranks = int(hosts) * int(ranks)
    opts.gpuring_arg = [word for group in opts.gpuring_arg for word in group]
    opts.builddir = os.path.abspath(opts.builddir)
    check_files(opts)
    check_rounds(opts)
    set_files(opts)
    return opts
