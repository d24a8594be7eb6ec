#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draw faults from the sources by rules: tests/mutation/draw.tsv.

    draw.py --build=DIR [--per-folder=25] [--seed=1] [--folder=NAME]... >draw.tsv

Each rule makes one small mistake: a statement less, a term less, swapped operands, a constant off
by one, a condition negated, a weaker memory order. A fault is left out where the compiler makes the
same object file with it and without it (the fault changes nothing, or its code is not compiled
here), and where it does not compile. DIR is a configured tree, whose make says how a file is
compiled.

Only drawing needs the Python packages tree-sitter, tree-sitter-c and tree-sitter-cpp (PyPI).
"""

import argparse
import hashlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

from faults import Fault, applied, located, spans
from work import sync

HERE = Path(__file__).resolve().parent
# Macros that the grammar does not know, which blanks replace before parsing.
UNKNOWN = re.compile(
    rb"\b(GP_INLINE|GP_NOINLINE|__device__|__host__|__forceinline__|__noinline__|"
    rb"__global__|GR_HD|BEGIN_C_DECLS|END_C_DECLS|__launch_bounds__\([^()]*\))"
)
# Calls whose only effect is text, time, or memory that is not given back.
TEXT = re.compile(
    r"log|warn|print|_say|trace|debug|verbose|help|output|assert|abort|report|explain|"
    r"spin|yield|pause|relax|prefetch|^free$"
)
# What the host's build never compiles.
LEFT_OUT = re.compile(r"compat/shim/|cuda/none\.c|kernels/port\.cuh")
LESS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
STRONG = {f"memory_order_{order}" for order in ("release", "acquire", "acq_rel", "seq_cst")}
SYNC = re.compile(
    r"(^|_)(fence|barrier|sync\w*|lock|unlock|release|acquire|signal|wake|broadcast)(_|$)"
)
PLAIN = {"identifier", "call_expression", "field_expression", "subscript_expression"}
JUMPS = {"return_statement", "break_statement", "continue_statement", "goto_statement"}


def folder_of(file):
    """The part of the component that a file counts to: its folder; mpi with the folders below."""
    folder = str(Path(file).parent.relative_to("coll_gpuring"))
    return "mpi" if folder.startswith("mpi/") else folder


# ---- rules: each yields (rule, node, replacement) ----


def text(node):
    return node.text.decode()


def bare(node):
    """The condition without its parentheses."""
    return node.named_children[0] if node.type == "parenthesized_expression" else node


def of_statement(node, parent):
    """Statements that can be left out."""
    if (
        node.type != "expression_statement"
        or not node.named_children
        or parent.type == "for_statement"
    ):
        return
    what = node.named_children[0]
    if what.type == "call_expression":
        called = text(what.child_by_field_name("function"))
        if not TEXT.search(called):
            yield "no-sync" if SYNC.search(called) else "no-call", node, ";"
    elif what.type in ("assignment_expression", "update_expression"):
        yield "no-assignment", node, ";"


def of_binary(node):
    """Terms, operands and relations."""
    left, right = (text(node.child_by_field_name(n)) for n in ("left", "right"))
    sign = node.child_by_field_name("operator").type
    if sign in ("&&", "||", "+", "|"):
        yield "no-term", node, left
        yield "no-term", node, right
    elif sign in ("-", "&"):
        yield "no-term", node, left
    elif sign in ("*", "/", "%", "<<", ">>"):
        yield "no-factor", node, left
    if sign in ("-", "/"):
        yield "swap", node, f"{right} {sign} {left}"
    if sign in LESS:
        yield "relation", node, f"{left} {LESS[sign]} {right}"
        yield "swap", node, f"{left} {MIRROR[sign]} {right}"
    if sign in ("==", "!="):
        yield "negate", node, f"{left} {'!=' if sign == '==' else '=='} {right}"


def of_condition(node):
    """Conditions negated; jumps that are not taken."""
    condition = bare(node.child_by_field_name("condition"))
    sign = condition.child_by_field_name("operator")
    if condition.type in PLAIN:
        yield "negate", condition, f"!{text(condition)}"
    elif condition.type == "unary_expression" and sign.type == "!":
        yield "negate", condition, text(condition)[1:]
    elif condition.type == "binary_expression" and sign.type in ("&&", "||"):
        yield "negate", condition, f"!({text(condition)})"
    then, other = (node.child_by_field_name(n) for n in ("consequence", "alternative"))
    if node.type == "conditional_expression":
        whole = text(node.child_by_field_name("condition"))
        yield "swap", node, f"{whole} ? {text(other)} : {text(then)}"
    elif other is None:
        block = then.type == "compound_statement" and then.named_children
        if (then.named_children[-1] if block else then).type in JUMPS:
            yield "no-jump", condition, "0"


def of_word(node):
    """Constants off by one, truth reversed, a weaker order."""
    word = text(node)
    if node.type == "number_literal":
        match = re.fullmatch(r"(\d+)([uUlL]*)", word)
        if match and int(match[1]) < 1 << 30:
            yield "constant", node, f"{int(match[1]) + 1}{match[2]}"
            if int(match[1]) > 0:
                yield "constant", node, f"{int(match[1]) - 1}{match[2]}"
    elif word in ("true", "false"):
        yield "constant", node, "false" if word == "true" else "true"
    elif word in STRONG:
        yield "order", node, "memory_order_relaxed"


def of_node(node, parent):
    yield from of_statement(node, parent)
    if node.type == "binary_expression":
        yield from of_binary(node)
    elif node.type in ("if_statement", "conditional_expression"):
        yield from of_condition(node)
    elif not node.named_children:
        yield from of_word(node)


# ---- candidates ----

SHOWN = {"binary_expression", "call_expression", "subscript_expression"}

# Where a switch cannot stand, since the language wants a constant, or text.
CONSTANT_ONLY = {
    "array_declarator",
    "preproc_if",
    "preproc_elif",
    "enumerator",
    "bitfield_clause",
    "initializer_list",
    "template_argument_list",
    "static_assert_declaration",
    "gnu_asm_expression",
    "sizeof_expression",
    "string_literal",
    "attribute_specifier",
}


def walk(node, parent, skip):
    """All candidates below a node."""
    if node.type in CONSTANT_ONLY:
        return
    if node.type == "call_expression" and TEXT.search(text(node.child_by_field_name("function"))):
        return
    if node.type == "declaration" and any(
        text(c) == "static" for c in node.children if c.type == "storage_class_specifier"
    ):
        return
    if not skip:
        yield from of_node(node, parent)
    label = node.child_by_field_name("value") if node.type == "case_statement" else None
    for child in node.children:
        yield from walk(child, node, label is not None and child.id == label.id)


def functions(node):
    """Definitions of functions, but those with what the grammar did not understand."""
    if node.type == "function_definition":
        if not node.has_error:
            yield node
        return
    for child in node.children:
        yield from functions(child)


def context(node):
    """The node that a fault's text shows: a word alone says little."""
    outer = node.parent
    if node.named_children:
        return node
    if outer.type == "argument_list":
        return outer.parent
    return outer if outer.type in SHOWN else node


def candidates(parser, source, file):
    """Faults of one file."""
    raw = (source / file).read_bytes()
    whole = raw.decode()
    root = parser.parse(UNKNOWN.sub(lambda m: b" " * len(m[0]), raw)).root_node
    named = spans(whole)
    for definition in functions(root):
        body = definition.child_by_field_name("body")
        for rule, node, new in walk(body, definition, False) if body else ():
            outer = context(node)
            begin, end = (len(raw[:b].decode()) for b in (outer.start_byte, outer.end_byte))
            if outer.id != node.id:
                a, b = node.start_byte - outer.start_byte, node.end_byte - outer.start_byte
                inner = raw[outer.start_byte : outer.end_byte]
                new = (inner[:a] + new.encode() + inner[b:]).decode()
            name = next((n for n, b, e in named if b <= begin and end <= e), None)
            old = whole[begin:end]
            if name is None or TEXT.search(name) or "/*" in old or "//" in old or "#" in old:
                continue
            fault = Fault(
                "",
                folder_of(file),
                file,
                name,
                rule,
                0,
                " ".join(old.split()),
                " ".join(new.split()),
            )
            found = [at for at, _ in located(whole, fault)]
            if begin in found:
                fault.ordinal = found.index(begin) + 1
                fault.span = (begin, end)
                yield fault


# ---- what the compiler says ----

FEW_KERNELS = """#include "exec/gpu/kernels.h"
#undef GR_KERNELS
#define GR_KERNELS(X) X(f32, sum) X(f64, max)
#include "exec/gpu/kernels/kernels.cu"
"""
KERNEL_FLAGS = [
    "-std=c++17",
    "-fPIC",
    "-O1",
    "-x",
    "c++",
    "-I../tests/fakes/cuda",
    "-I../coll_gpuring",
]
KEEP = ["-fkeep-inline-functions", "-fkeep-static-functions"]
FLAGS = ("-D", "-I", "-std=", "-f", "-O", "-m", "-pthread")


class Compiler:
    """Compiles a file with a fault as the build does, to see whether its object changes."""

    def __init__(self, source, build):
        self.folder = tempfile.TemporaryDirectory(prefix="draw.")
        self.temp = Path(self.folder.name)
        self.cwd = self.temp / "build"
        sync(source, self.temp, {})
        self.cwd.mkdir()
        given = subprocess.run(
            [build / "config.status", "--config"], capture_output=True, text=True, check=True
        ).stdout
        subprocess.run(
            [self.temp / "configure", "-q", *shlex.split(given)], cwd=self.cwd, check=True
        )
        # in a build of its own: make -B loses dependencies, even with -n
        said = subprocess.run(
            ["make", "-n", "-B", "-o", "kernels.fatbin", "NVCC=false", "V=1", "all"],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        self.flags, self.plain = {}, {}
        for line in said.splitlines():
            match = re.search(r"\bg?cc (.*) -c -o .*`(coll_gpuring/\S+\.c)", line)
            if match:
                self.flags.setdefault(
                    match[2], self.of_compiler(shlex.split(match[1].replace("`", "")))
                )

    def of_compiler(self, words):
        """The flags that an object depends on."""
        kept = []
        for k, word in enumerate(words):
            if word.startswith(FLAGS):
                kept.append(word)
            elif word in ("-isystem", "-idirafter"):
                kept += words[k : k + 2]
        return kept

    def compilation(self, file):
        """The compiler's words for a unit that has the file in it."""
        if file.endswith((".cu", ".cuh")):
            (self.cwd / "few.cu").write_text(FEW_KERNELS)
            return ["g++", *KERNEL_FLAGS, "few.cu"]
        if file in self.flags:
            return ["gcc", *self.flags[file], "../" + file]
        compat = file.startswith("coll_gpuring/compat/")
        (self.cwd / "unit.c").write_text(
            f'#include "../{"coll_gpuring/mpi/ompi.h" if compat else file}"\n'
        )
        parts = Path("coll_gpuring/mpi" if compat else file).parts
        near = max(self.flags, key=lambda f: sum(a == b for a, b in zip(Path(f).parts, parts)))
        return ["gcc", *self.flags[near], *KEEP, "unit.c"]

    def digest(self, file):
        """Of the object; None: it does not compile."""
        done = subprocess.run(
            [*self.compilation(file), "-g0", "-Werror=int-conversion", "-c", "-o", "object"],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stderr
        return (
            hashlib.sha256((self.cwd / "object").read_bytes()).hexdigest()
            if done.returncode == 0
            else None
        )

    def differs(self, fault):
        """Whether the fault compiles, and to something else."""
        path = self.temp / fault.file
        whole = path.read_text()
        if fault.file not in self.plain:
            self.plain[fault.file] = self.digest(fault.file)
            if self.plain[fault.file] is None:
                print(
                    f"{fault.file} does not compile alone: {self.said.splitlines()[-1:]}",
                    file=sys.stderr,
                )
        if self.plain[fault.file] is None:
            return False
        path.write_text(applied(whole, fault))
        new = self.digest(fault.file)
        path.write_text(whole)
        return new not in (None, self.plain[fault.file])


# ---- the draw ----


def overlap(a, b):
    return a.file == b.file and a.span[0] < b.span[1] and b.span[0] < a.span[1]


def draw_folder(faults, number, chance, compiler):
    """So many faults, by rules in turn, each of another function as long as there is one."""
    rules = defaultdict(list)
    for fault in chance.sample(faults, len(faults)):
        rules[fault.what].append(fault)
    drawn, used = [], defaultdict(int)
    while len(drawn) < number and any(rules.values()):
        for rule in chance.sample(sorted(rules), len(rules)):
            left = sorted(rules[rule], key=lambda f: used[f.file, f.function])
            for fault in left:
                rules[rule].remove(fault)
                if not any(overlap(fault, d) for d in drawn) and compiler.differs(fault):
                    drawn.append(fault)
                    used[fault.file, fault.function] += 1
                    break
            if len(drawn) == number:
                break
    return drawn


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--per-folder", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="append")
    options = parser.parse_args()
    import tree_sitter_c
    import tree_sitter_cpp
    from tree_sitter import Language, Parser

    source = HERE.parent.parent
    grammars = {
        False: Parser(Language(tree_sitter_c.language())),
        True: Parser(Language(tree_sitter_cpp.language())),
    }
    compiler = Compiler(source, Path(options.build).resolve())
    folders = defaultdict(list)
    for path in sorted((source / "coll_gpuring").rglob("*.*")):
        file = str(path.relative_to(source))
        if path.suffix in (".c", ".h", ".cu", ".cuh") and not LEFT_OUT.search(file):
            folders[folder_of(file)] += candidates(
                grammars[path.suffix in (".cu", ".cuh")], source, file
            )
    for folder in sorted(folders):
        if options.folder and folder not in options.folder:
            continue
        drawn = draw_folder(
            folders[folder], options.per_folder, random.Random(f"{options.seed} {folder}"), compiler
        )
        print(f"{folder}: {len(folders[folder])} candidates, {len(drawn)} drawn", file=sys.stderr)
        for k, fault in enumerate(drawn, 1):
            fault.name = f"{folder.replace('/', '-')}-{k}"
            print(fault.row(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
