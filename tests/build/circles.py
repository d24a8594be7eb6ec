#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Source files that need each other in a circle: circles.py names|includes TREE

names: a file needs another where it names a function or variable that the other defines. Prints each arrow that is part of a
circle, "FILE needs FILE: NAMES"; nothing where the files of TREE/coll_gpuring can be read, and tested, one after the other.
Reads text: a call through a pointer is no arrow.

includes: a room is a source file with the header of its name. It needs another where one of its files includes the header of
the other. Prints each arrow of a circle, "FILE includes HEADER: a circle of N".
"""
import os
import pathlib
import re
import sys

NAME = r"\b(?:gr|mca_coll_gpuring)_\w+"


def without_comments(text):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def top_level(text):
    """What stands outside of braces: (text, what ended it), for each '{' and ';'."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        if char in "{;" and depth == 0:
            yield text[start:at].strip(), char
            start = at + 1
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "}" and depth == 0:
            start = at + 1


def definitions(text):
    """Names with external linkage that are defined in the text."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    for head, end in top_level(code):
        if re.match(r"(static|typedef|extern|BEGIN_C_DECLS|END_C_DECLS)\b", head):
            continue
        function = re.search(rf"({NAME})\s*\([^;]*\)$", head, re.S)
        variable = re.search(rf"[\w*\s]({NAME})\s*(\[[^=]*\])?\s*(=|$)", head)
        if function and end == "{":
            yield function[1]
        elif variable and "(" not in head.split("=")[0] and not re.match(r"(struct|enum|union)\s+\w+$", head):
            yield variable[1]


def reached(needs, start):
    """What `start` needs, also through others. needs: of each its own, {who: {whom: ...}}."""
    seen, todo = set(), [start]
    while todo:
        for other in needs[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def by_names(folder, tree):
    texts = {f.relative_to(tree): without_comments(f.read_text()) for f in sorted(folder.rglob("*.c"))}
    owners = {}  # of a name there may be several: cuda_none.c stands in for those that know the driver
    for f, text in texts.items():
        for name in definitions(text):
            owners.setdefault(name, set()).add(f)
    needs = {f: {} for f in texts}
    for f, text in texts.items():
        for name in set(re.findall(NAME, text)):
            if f not in owners.get(name, {f}):
                for owner in owners[name]:
                    needs[f].setdefault(owner, []).append(name)
    if sum(map(len, needs.values())) < len(texts):
        sys.exit(f"{folder}: fewer arrows than files: the sources are not written as {sys.argv[0]} reads them")
    reach = {f: reached(needs, f) for f in texts}
    for f in texts:
        for other, names in needs[f].items():
            if f in reach[other]:
                print(f"{f} needs {other}: {', '.join(sorted(names))}")


def by_includes(folder, tree):
    files = [f for kind in ("c", "h", "cu", "cuh") for f in sorted(folder.rglob(f"*.{kind}"))]
    needs = {f.with_suffix(""): {} for f in files}  # {room: {room: [(file, header)]}}
    for f in files:
        for header in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', f.read_text(), re.M):
            rooms = [pathlib.Path(os.path.normpath(at / header)).with_suffix("") for at in (folder, f.parent)]
            room = next((r for r in rooms if r in needs), f.with_suffix(""))
            if room != f.with_suffix(""):
                needs[f.with_suffix("")].setdefault(room, []).append((f.relative_to(tree), header))
    if sum(map(len, needs.values())) < len(needs):
        sys.exit(f"{folder}: fewer arrows than rooms: the sources are not written as {sys.argv[0]} reads them")
    reach = {room: reached(needs, room) for room in needs}
    for room in needs:
        circle = {r for r in reach[room] if room in reach[r]}
        for other in circle & needs[room].keys():
            for f, header in needs[room][other]:
                print(f"{f} includes {header}: a circle of {len(circle)}")


def main(how, tree):
    {"names": by_names, "includes": by_includes}[how](pathlib.Path(tree) / "coll_gpuring", tree)


main(*sys.argv[1:])
