# SPDX-License-Identifier: BSD-3-Clause
"""gpuring's own choices, each of which is forced in a configuration: what could have been chosen."""
import subprocess

from . import stock

# How messages in host memory are copied: always through slots, or as the built-in constants say, which is by single copy
# from 4 KiB on. Between nodes there are slots only.
COPIES = {"slots": ["--mca", "coll_gpuring_single_copy", "0"],
          "single": ["--mca", "coll_gpuring_measure", "0", "--mca", "coll_gpuring_tune_file", "none"]}


def algorithms(build, collectives):
    """Names of those that can do one of the collectives, and mailboxes."""
    said = subprocess.run([build.sched, "--list"], stdout=subprocess.PIPE, universal_newlines=True, env=build.env,
                          check=True).stdout
    found = []
    for line in said.split("\n"):
        name, _, rest = line.partition(" ")
        if set(rest.rpartition("(")[2].rstrip(")").split()) & set(collectives):
            found.append(name)
    return found + ["mailbox"]


def config(opts, name, copy):
    args = stock.gpuring(opts).args + ["--mca", "coll_gpuring_algorithm", name] + COPIES.get(copy, [])
    return stock.Config(name + ("+" + copy if copy else ""), None, name, args)


def is_used(opts, build, tried, bench_rows):
    """Whether these ranks can use the algorithm in some collective; or why it does not run."""
    result, failure = stock.call_once(opts, build, tried, opts.collectives, 4096)
    return failure or any(row[3] == tried.coll for row in bench_rows(result.out))


def find(opts, build, bench_rows):
    """The configurations, and a line per reason why others are not."""
    found, unused, reasons = [], [], []
    for name in algorithms(build, opts.collectives):
        used = is_used(opts, build, config(opts, name, None), bench_rows)
        if used is True:
            one = name == "mailbox" or opts.hosts
            found += [config(opts, name, copy) for copy in ([None] if one else COPIES)]
        elif used is False:
            unused.append(name)
        else:
            reasons.append(f"left out: {name}: {used}")
    if unused:
        reasons.append(f"left out: {', '.join(unused)}: not for these collectives on these ranks")
    return found, reasons
