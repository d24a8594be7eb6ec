# SPDX-License-Identifier: BSD-3-Clause
"""Planted faults: their places in the sources, and the sources with all of them behind switches.

draw.tsv has faults that draw.py drew by rules, planted.tsv those that no rule makes. A row of both:

    name         the rows of one name are one fault
    folder       of coll_gpuring/
    file, function
    what         the rule; in planted.tsv what goes wrong
    ordinal      the text stands in the function more than once: which of these, from 1
    text         a statement where it ends with ; or }, else an expression. Blanks and line breaks
                 between tokens do not matter
    replacement
"""

import re

HEAD = re.compile(r"(\w+)\s*\(")
PART = re.compile(r"\+(?!\+)|[/%|^<>=?:,.)]|&&|->")  # what no expression begins with
ATTRIBUTES = {"__attribute__", "__launch_bounds__", "_Alignas"}
FIELDS = 8


class Fault:
    """One fault."""

    def __init__(self, name, folder, file, function, what, ordinal, old, new):
        self.name, self.folder, self.what = name, folder, what
        self.file, self.function = file, function
        self.ordinal, self.old, self.new = int(ordinal), old, new

    def row(self):
        return "\t".join(
            (
                self.name,
                self.folder,
                self.file,
                self.function,
                self.what,
                str(self.ordinal),
                self.old,
                self.new,
            )
        )


def load(*paths):
    """The faults of tables, in their order. ValueError: a row is not well-formed."""
    faults = []
    for path in paths:
        for line in path.read_text().splitlines():
            row = line.split("\t")
            if len(row) != FIELDS or not row[5].isdigit():
                raise ValueError(f"{path.name}: not {FIELDS} fields: {line}")
            faults.append(Fault(*row))
    return faults


def numbered(faults):
    """{name: number}, from 1."""
    return {name: n for n, name in enumerate(dict.fromkeys(f.name for f in faults), 1)}


def head_of(lines, end):
    """The first line of the head of a body that begins in line `end`, and the function's name, or
    None where the body is no function's."""
    begin = end
    while (
        begin > 0
        and lines[begin - 1].strip()
        and not lines[begin - 1].rstrip().endswith((";", "}", "*/", ":", "\\"))
    ):
        begin -= 1
    head = " ".join(lines[begin:end])
    names = [n for n in HEAD.findall(head) if n not in ATTRIBUTES]
    return begin, names[0] if names else None


def spans(text):
    """(name, begin, end) of each function: offsets from its head to behind its closing brace."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found, k = [], 0
    while k < len(lines):
        bare = lines[k].rstrip()
        indent = bare[:-1]
        if bare.endswith("{") and not indent.strip():
            begin, name = head_of(lines, k)
            end = next(
                (n for n in range(k + 1, len(lines)) if lines[n].rstrip() == indent + "}"), None
            )
            if name and end is not None:
                found.append((name, starts[begin], starts[end + 1]))
                k = end
        k += 1
    return found


def located(whole, fault):
    """Where the fault's text stands in its function: spans, in order."""
    tokens = [re.escape(token) for token in re.findall(r"\w+|\S", fault.old)]
    pattern = re.compile(
        r"(?<!\w)" * bool(re.match(r"\w", fault.old))
        + r"\s*".join(tokens)
        + r"(?!\w)" * bool(re.search(r"\w$", fault.old))
    )
    return [
        m.span()
        for name, begin, end in spans(whole)
        if name == fault.function
        for m in pattern.finditer(whole, begin, end)
    ]


def place(whole, fault):
    """The span of the fault's text. ValueError: it is not there."""
    found = located(whole, fault)
    if len(found) < fault.ordinal:
        raise ValueError(f"{fault.name}: {fault.file}: {fault.function}: not there: {fault.old}")
    return found[fault.ordinal - 1]


def applied(whole, fault):
    """The text with the fault."""
    begin, end = place(whole, fault)
    return whole[:begin] + fault.new + whole[end:]


def behind(number, fault, old):
    """The fault's text behind its switch."""
    if fault.old.endswith((";", "}")):
        return f"{{ if (gr_fault({number})) {{ {fault.new} }} else {{ {old} }} }}"
    return f"(gr_fault({number}) ? ({fault.new}) : ({old}))"


def switched(whole, faults):
    """The text with the faults, (number, fault) each, behind switches. One fault's text may stand
    within that of another."""
    left = [(*place(whole, f), n, f) for n, f in faults]
    left.sort(key=lambda row: (row[0], -row[1]))

    def within(begin, end):
        text = ""
        while left and left[0][0] < end:
            at, to, number, fault = left.pop(0)
            if to > end:
                raise ValueError(f"{fault.name} is partly within another fault")
            text += whole[begin:at] + behind(number, fault, within(at, to))
            begin = to
        return text + whole[begin:end]

    return '#include "fault_switch.h"\n#line 1\n' + within(0, len(whole))


def switched_sources(source, faults):
    """{file: text} of the sources with all faults, and of the switch."""
    files, numbers = {}, numbered(faults)
    for fault in faults:
        files.setdefault(fault.file, []).append((numbers[fault.name], fault))
    texts = {file: switched((source / file).read_text(), some) for file, some in files.items()}
    texts["coll_gpuring/fault_switch.h"] = (source / "tests/mutation/fault_switch.h").read_text()
    return texts


def check(faults, source):
    """Lines that say what is stale or wrong; empty: all is well."""
    wrong, seen = [], set()
    for fault in faults:
        key = fault.row().split("\t", 1)[1]
        if key in seen:
            wrong.append(f"{fault.name}: the same as another one")
        if PART.match(fault.old):
            wrong.append(f"{fault.name}: not an expression: {fault.old}")
        seen.add(key)
        try:
            text = (source / fault.file).read_text()
            if "".join(applied(text, fault).split()) == "".join(text.split()):
                wrong.append(f"{fault.name}: changes nothing")
        except OSError as error:
            wrong.append(f"{fault.name}: {fault.file}: {error.strerror}")
        except ValueError as error:
            wrong.append(str(error))
    return wrong
