# SPDX-License-Identifier: BSD-3-Clause
"""The table of planted faults, faults.toml: reading it, checking it, planting a fault.

Each [[fault]] has

    name       unique
    area       kernels, schedules, network, ...
    file       below the top of the sources
    what       one sentence: what goes wrong with it
    function   the function with the text; "" for what lies outside of functions. Methods and overloads of one name count
               as one function.
    from, to   the text, and what takes its place; `from` occurs once in the function
    kernels    the few kernels that show it (type_op), where the usual ones do not

or, where several places change, [[fault.edit]] tables with function, from, to, and file where that is another one.
"""
import re
import tomllib

KEYS = {"name", "area", "file", "what", "function", "from", "to", "edit", "kernels"}
EDIT_KEYS = {"file", "function", "from", "to"}
HEAD = re.compile(r"(\w+)\s*\(")
ATTRIBUTES = {"__attribute__", "__launch_bounds__", "_Alignas"}


class Edit:
    """One place of a fault: file, function, old and new text."""

    def __init__(self, row, file):
        self.file = row.get("file", file)
        self.function = row["function"]
        self.old = row["from"]
        self.new = row["to"]


class Fault:
    """One planted fault: its edits, and what is said of it."""

    def __init__(self, row):
        self.name = row["name"]
        self.area = row["area"]
        self.what = row["what"]
        self.kernels = row.get("kernels", [])
        self.edits = [Edit(e, row["file"]) for e in row.get("edit", [row])]

    def files(self):
        """The files that it changes, each once."""
        return list(dict.fromkeys(e.file for e in self.edits))

    def functions(self):
        """The (file, function) pairs that it changes."""
        return {(e.file, e.function) for e in self.edits}


def wrong_keys(row):
    """What is wrong with the keys of a row of the table; empty: nothing."""
    name = row.get("name", "a fault without a name")
    missing = {"name", "area", "file", "what"} - row.keys()
    places = row.get("edit", [row])
    missing |= {k for e in places for k in ("function", "from", "to") if k not in e}
    unknown = (row.keys() - KEYS) | {k for e in row.get("edit", []) for k in e.keys() - EDIT_KEYS}
    return [f"{name}: no {k}" for k in sorted(missing)] + [f"{name}: unknown key {k}" for k in sorted(unknown)]


def load(path):
    """The faults of a table, in its order. ValueError, with a line each, where it is not well-formed."""
    with open(path, "rb") as f:
        rows = tomllib.load(f)["fault"]
    wrong = [line for row in rows for line in wrong_keys(row)]
    if wrong:
        raise ValueError("\n".join(wrong))
    return [Fault(row) for row in rows]


def head_of(lines, end):
    """Of a body that begins in line `end`: the first line of its head, and the function's name; None: it is none."""
    begin = end
    while begin > 0 and lines[begin - 1].strip() and not lines[begin - 1].rstrip().endswith((";", "}", "*/", ":", "\\")):
        begin -= 1
    head = " ".join(lines[begin:end])
    names = [n for n in HEAD.findall(head) if n not in ATTRIBUTES]
    return begin, names[0] if names else None


def spans(text):
    """(name, begin, end) of each function: offsets in the text, from its head to behind its closing brace."""
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
            end = next((n for n in range(k + 1, len(lines)) if lines[n].rstrip() == indent + "}"), None)
            if name and end is not None:
                found.append((name, starts[begin], starts[end + 1]))
                k = end
        k += 1
    return found


def places(text, function, old):
    """Where `old` occurs in the function ("": in the text), as spans, and whether there is such a function. Blanks and line
    breaks between tokens do not matter."""
    ranges = [(b, e) for name, b, e in spans(text) if name == function] if function else [(0, len(text))]
    pattern = re.compile(r"\s*".join(re.escape(token) for token in re.findall(r"\w+|\S", old)))
    found = [m.span() for begin, end in ranges for m in pattern.finditer(text, begin, end)]
    return found, bool(ranges)


def apply_edit(text, edit):
    """The text with the edit. ValueError: why it does not apply."""
    where = f"{edit.file}: {edit.function or 'file'}"
    at, there = places(text, edit.function, edit.old)
    if not there:
        raise ValueError(f"{where}: no such function")
    if len(at) != 1:
        raise ValueError(f"{where}: {'not there' if not at else f'{len(at)} times there'}: {edit.old.strip()}")
    if edit.new == edit.old:
        raise ValueError(f"{where}: the edit changes nothing")
    begin, end = at[0]
    return text[:begin] + edit.new.strip() + text[end:]


def planted(fault, read):
    """{file: text with the fault}; read(file) gives a file's text. ValueError: why an edit does not apply."""
    texts = {}
    for edit in fault.edits:
        try:
            text = texts.get(edit.file) or read(edit.file)
        except OSError as error:
            raise ValueError(f"{edit.file}: {error.strerror}") from error
        texts[edit.file] = apply_edit(text, edit)
    return texts


def check(faults, read):
    """Lines that say what is stale or wrong in the table; empty: all is well."""
    wrong, seen, edits = [], set(), {}
    for fault in faults:
        if fault.name in seen:
            wrong.append(f"{fault.name}: the name is there twice")
        seen.add(fault.name)
        same = edits.setdefault(tuple((e.file, e.function, e.old, e.new) for e in fault.edits), fault)
        if same is not fault:
            wrong.append(f"{fault.name}: the same edits as {same.name}")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fault.name):
            wrong.append(f"{fault.name}: names are words of a-z and 0-9, joined by -")
        try:
            planted(fault, read)
        except ValueError as error:
            wrong.append(f"{fault.name}: {error}")
    return wrong
