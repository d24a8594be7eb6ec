# SPDX-License-Identifier: BSD-3-Clause
"""The drawn faults, draw.tsv: where each is in the sources, and the sources with all of them behind switches.

A row: name, folder, file, function, rule, ordinal, text, replacement. The text stands in the function, the
ordinal-th time; blanks and line breaks between tokens do not matter. It is a statement where it ends with
; or } and an expression else.
"""
import re

from faults import spans


class Fault:
    """One fault."""

    def __init__(self, name, folder, file, function, rule, ordinal, old, new):
        self.name, self.folder, self.file, self.function, self.rule = name, folder, file, function, rule
        self.ordinal, self.old, self.new = int(ordinal), old, new

    def row(self):
        return "\t".join((self.name, self.folder, self.file, self.function, self.rule, str(self.ordinal),
                          self.old, self.new))


def load(path):
    """The faults of a table, in its order."""
    with open(path, encoding="utf-8") as f:
        return [Fault(*line.rstrip("\n").split("\t")) for line in f if line[0] != "#"]


def located(whole, fault):
    """Where the fault's text stands in its function: spans, in order."""
    tokens = [re.escape(token) for token in re.findall(r"\w+|\S", fault.old)]
    pattern = re.compile(r"(?<!\w)" * bool(re.match(r"\w", fault.old)) + r"\s*".join(tokens) +
                         r"(?!\w)" * bool(re.search(r"\w$", fault.old)))
    return [m.span() for name, begin, end in spans(whole) if name == fault.function
            for m in pattern.finditer(whole, begin, end)]


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
    """The text with the faults, (number, fault) each, behind switches. Texts may stand within each other."""
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
