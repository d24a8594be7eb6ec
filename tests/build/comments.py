#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Comments of the component that name what is not there any more: comments.py TREE

Prints "FILE:LINE names NAME" for each function (gr_..., mca_coll_gpuring_..., or a word with brackets behind it), constant
(GR_...) and source file in a comment below TREE/coll_gpuring that no code of TREE has.
"""
import pathlib
import re
import sys

SOURCES = {".c", ".h", ".cuh", ".cu"}
FOREIGN = re.compile(r"(ompi|opal|mca_base|cu|ucp|hwloc|nvml)[_A-Z]|(main|mlockall|pread|dlopen)$")
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|(/\*.*?\*/|//[^\n]*)', re.S)
FILE = re.compile(r"(?<![\w./-])(?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:c|h|cuh|cu|py|sh)\b")
NAME = re.compile(r"\b(?:gr|GR|mca_coll_gpuring)_\w*\w(?<!_)\b(?!_)|\b[a-z]\w+(?=\(\))")


def main(tree):
    """Read all sources, then look at the component's comments."""
    texts = {
        path: path.read_text(errors="replace")
        for folder in ("coll_gpuring", "tests", "benchmarks")
        for path in (tree / folder).rglob("*")
        if path.suffix in SOURCES and "shim" not in path.parts
    }
    code = {path: COMMENT.sub(lambda m: m[1] or " ", text) for path, text in texts.items()}
    known = {word for text in code.values() for word in re.findall(r"\w+", text)}
    # pasted together, as GR_ALGO_##NAME and gr_kernel_<type>_<op>
    pasted = tuple({start for text in code.values() for start in re.findall(r"\b((?:GR|gr)_\w+_)##", text)})
    headers = {name.rsplit("/")[-1] for text in texts.values() for name in re.findall(r'#\s*include\s+["<](\S+)[">]', text)}
    own = tree / "coll_gpuring"
    files = {path.name for path in own.rglob("*")}

    for path in sorted(texts):
        if own not in path.parents:
            continue
        for comment in COMMENT.finditer(texts[path]):
            for found in FILE.finditer(comment[2] or ""):
                word = found[0]
                there = (own / word).exists() or (tree / word).exists() or (path.parent / word).exists()
                if not there and ("/" in word or word not in files | headers):
                    report(tree, path, texts[path], comment.start(2) + found.start(), word)
            for found in NAME.finditer(comment[2] or ""):
                word = found[0]
                if word not in known and not word.startswith(pasted) and not FOREIGN.match(word):
                    report(tree, path, texts[path], comment.start(2) + found.start(), word)


def report(tree, path, text, at, word):
    """A line of output."""
    print(f"{path.relative_to(tree)}:{text.count(chr(10), 0, at) + 1} names {word}")


main(pathlib.Path(sys.argv[1]))
