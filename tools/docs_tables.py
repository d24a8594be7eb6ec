#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of docs/parameters.md that follow from the code: docs_tables.py [--check] [PAGE]

Needs build/env.sh. Writes into the page, or with --check prints how it differs and exits with 1:
    the table of algorithms, between its two comments      from gpuring_sched --list
    defaults, and the names of algorithms in the rows of parameters and counters             from ompi_info
What a parameter's row says besides is written by hand.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

BEGIN, END = "<!-- tools/docs_tables.py: algorithms -->", "<!-- end -->"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(variable, program, *arguments):
    command = [os.environ.get(variable, program), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def algorithms():
    """The table, from lines "NAME  WHAT IT IS (COLLECTIVES)"."""
    rows = re.findall(r"^(\S+) +(.+) \(([a-z_ ]+)\)$", output("SCHED", "gpuring_sched", "--list"), re.M)
    if not rows:
        sys.exit("gpuring_sched --list lists no algorithm")
    table = ["| algorithm | what it is | collectives |", "|---|---|---|"]
    return table + [f"| {name} | {text} | {colls} |" for name, text, colls in rows]


def parameters():
    """{name: {field: value}} of all parameters, without coll_gpuring_."""
    info = output("OMPI_INFO", "ompi_info", "--parsable", "--param", "coll", "gpuring", "--level", "9")
    found = {}
    for name, field, value in re.findall(r'^mca:coll:gpuring:param:coll_gpuring_(\w+):(value|help):"?(.*?)"?$', info, re.M):
        found.setdefault(name, {})[field] = value
    if "algorithm" not in found:
        sys.exit("ompi_info shows no parameters of gpuring")
    return found


def names_of(known, parameter):
    names = re.match(r"Algorithm of [^:]*: ([^,]*), or auto", known[parameter].get("help", ""))
    return names[1].strip() if names else None


def row(line, known):
    """A row of a table of parameters or counters, with what the code says."""
    if line.startswith("| `coll_gpuring_algorithm_A` |"):
        return re.sub(r"(: )[^|]* \|$", rf"\g<1>{names_of(known, 'algorithm')} |", line)
    name = re.match(r"\| `(\w+)` \|", line)
    if not name or name[1] not in known:
        return line
    cells = line.split(" | ")
    value = known[name[1]]["value"] or "empty"
    if names_of(known, name[1]):
        cells[1] = "auto " + names_of(known, name[1])
    if cells[2] != value and not cells[2].startswith(value + " "):
        cells[2] = value
    return " | ".join(cells)


def made(page):
    known = parameters()
    lines = [row(line, known) for line in page.splitlines()]
    if BEGIN not in lines or END not in lines:
        sys.exit(f"the page lacks the lines {BEGIN} and {END}")
    lines[lines.index(BEGIN) + 1 : lines.index(END)] = algorithms()
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    files = [a for a in arguments if a != "--check"]
    path = pathlib.Path(files[0]) if files else ROOT / "docs/parameters.md"
    old = path.read_text()
    new = made(old)
    if not check:
        path.write_text(new)
        return 0
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "the page", "the code", n=0))
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
