#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of docs/parameters.md that follow from the code: docs_tables.py [--check] [PAGE]

Needs build/env.sh. Writes into the page, or with --check prints how it differs and exits with 1:
    the table of algorithms, between its two comments               from gpuring_sched --list
    the table of parameters, between its two comments, without those that the page has a row for above it:
                                                                    from ompi_info and coll_gpuring/mpi/param_rows.c
    the defaults in those rows, and the algorithms' names in the row of a counter           from ompi_info
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

BEGIN, END = "<!-- tools/docs_tables.py: {} -->", "<!-- end -->"
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
    """{name: {field: value}} of all parameters, without coll_gpuring_. equal: whether all ranks need the same value."""
    info = output("OMPI_INFO", "ompi_info", "--parsable", "--param", "coll", "gpuring", "--level", "9")
    rows = (ROOT / "coll_gpuring/mpi/param_rows.c").read_text()
    compared = dict(re.findall(r'\{"(\w+)", \w+, \w+,\s*([\w-]+)', rows))
    found = {}
    for name, field, value in re.findall(r'^mca:coll:gpuring:param:coll_gpuring_(\w+):(value|help):"?(.*?)"?$', info, re.M):
        found.setdefault(name, {"equal": "" if compared.get(name) == "-1" else "yes"})[field] = value
    if "algorithm" not in found:
        sys.exit("ompi_info shows no parameters of gpuring")
    return found


def name_of(line):
    name = re.match(r"\| `(\w+)` \|", line)
    return name[1] if name else None


def row(line, known):
    """A row that is written by hand, with what the code says: a parameter's default, a counter's algorithms."""
    if line.startswith("| `coll_gpuring_algorithm_A` |"):
        names = re.match(r"Algorithm of [^:]*: ([^,]*), or auto", known["algorithm"]["help"])
        return re.sub(r"(: )[^|]* \|$", rf"\g<1>{names[1].strip()} |", line)
    if name_of(line) not in known:
        return line
    cells = line.split(" | ")
    cells[1] = known[name_of(line)]["value"] or "empty"
    return " | ".join(cells)


def table(known, written):
    """The table of those parameters that are not written by hand. The default has a column of its own."""
    rows = []
    for name, of in known.items():
        if name not in written:
            text = re.sub(r", or auto \(default\): as coll_gpuring_algorithm says$", "", of["help"])
            text = re.sub(r" \(default( [\w-]+)?\)", "", text)
            rows.append(f"| `{name}` | {of['value'] or 'empty'} | {of['equal']} | {text} |".replace("|  |", "| |"))
    return ["| parameter | default | equal | effect |", "|---|---|---|---|", *rows]


def put(lines, what, new):
    """These lines between the two comments of WHAT."""
    begin = BEGIN.format(what)
    if begin not in lines or END not in lines[lines.index(begin) :]:
        sys.exit(f"the page lacks the lines {begin} and {END}")
    at = lines.index(begin) + 1
    lines[at : lines.index(END, at)] = new


def made(page):
    known = parameters()
    lines = page.splitlines()
    put(lines, "algorithms", algorithms())
    put(lines, "parameters", [])
    written = {name_of(line) for line in lines}
    lines = [row(line, known) for line in lines]
    put(lines, "parameters", table(known, written))
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
