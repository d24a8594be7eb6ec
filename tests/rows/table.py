# SPDX-License-Identifier: BSD-3-Clause
"""Tables of rows. A row runs one program, and has further rows of TAP that look at the same run."""

import itertools
import os
import shlex
import string
import time
import types
import zlib

import pytest

from .judge import all_good, good_through_gpuring
from .run import WORK
from .tap import depth, in_all, note, skip

__all__ = ["ANY_CASE", "EVERY_CASE", "SEED", "np_of", "programs", "row", "table"]

# blocking calls of any type, operation, size and root, in place or not, eight of them at least
ANY_CASE = f"eight_in blocking --seconds={depth(0.3, 1)} --least=8"
EVERY_CASE = ANY_CASE.replace("blocking", "blocking,every,big")  # first every type with every operation, and 4 MiB
SEED = int(os.environ.get("GPURING_SEED") or time.time())


def np_of(layout):
    """Ranks of a grid or of hosts: 2x3x2, 3+1, 5."""
    ranks = 1
    for extent in str(layout).split()[0].split("x"):
        ranks *= sum(map(int, extent.split("+")))
    return ranks


def combined(values, rows):
    """(QUICK, {NAME: VALUE}) of each combination: of values "QUICK... | ALL..." and of a table whose
    first line names its columns. What is behind a bar runs in ./check --all only."""
    axes = []
    for name, text in values.items():
        quick, _, others = str(text).partition("|")
        axes.append([(True, {name: value}) for value in shlex.split(quick)])
        axes[-1] += [(False, {name: value}) for value in shlex.split(others)]
    if rows:
        names, *lines = rows.strip().splitlines()
        bar, axis = lines.index("|") if "|" in lines else len(lines), []
        for at, line in enumerate(line for line in lines if line != "|"):
            names_here = names.split()
            values = line.split(None, len(names_here) - 1)
            axis.append((at < bar, dict(itertools.zip_longest(names_here, values, fillvalue=""))))
        axes.append(axis)
    for parts in itertools.product(*axes):
        yield all(quick for quick, _ in parts), {k: v for _, part in parts for k, v in part.items()}


def run_row(mpi, values, text, np, line, judges, also, seconds, **more):
    """Judges find the row's values in job.row. Random programs where seconds are given: their seed
    follows from the row's text, so that it does not depend on which other rows run."""
    if seconds is not None:
        seconds *= depth(0.3, 1)
        text += f", {np} ranks"
        before, _, after = f" {line}".rpartition(" -- ")
        env = mpi.env | dict(w.split("=", 1) for w in before.split() if w.startswith("GR_HOST="))
        if "--mca op " not in before + mpi.options:
            before += " --mca op ^avx"  # which saturates small integers (4.1.4)
        if env.get("GR_HOST", "1") == "1":  # else gpuring does not carry out all of its eight
            after += " --beyond"
        seed = SEED + zlib.crc32(text.encode()) % 10**6 * 10000
        drawn = f"--seed={seed} --count=9999 --seconds={seconds} --limit={env.get('TEST_LIMIT', 120)}"
        line = f"{before} -- random_programs {drawn} {after}"
        text += f", from seed {seed} on"
        more["TEST_LIMIT"] = str(int(seconds) + 600)
    job = mpi.run(np, line, **more)
    job.row = values
    job.check(text, *(judges or [good_through_gpuring if np > 1 else all_good]))
    for further, judge in also.items():
        job.check(further, *(judge if isinstance(judge, tuple) else [judge]))
    if seconds is not None:
        note("\n".join(found[2:] for found in job.lines(r"^# \d+ programs from ")))


def row(
    text, np, line, *judges, also=None, quick=True, seconds=None, why=None, rows="", **more
):
    """A program on np ranks, by Runner.start's line. Judges: by default all is good, through
    gpuring. also: {TEXT: JUDGE}, further rows of the same run. quick=False: ./check --all only.
    why: it is skipped, for this reason. wrapper, launcher, VARIABLE: as in Runner.start. Others, and np, are
    values for $NAME in text, line and also ("3 | 2 4": 3, and in ./check --all 2 and 4), as are the
    columns of the table `rows`, whose part below a line "|" is for ./check --all."""
    fixed = {n: more.pop(n) for n in [*more] if n in ("wrapper", "launcher") or n[0].isupper()}
    made = []
    for quickly, values in combined({"np": np} | more, rows):
        fill = lambda s, values=values: string.Template(s).safe_substitute(values, work=WORK)
        values["np"] = np_of(fill(values["np"]))
        made.append(
            types.SimpleNamespace(
                quick=quick and quickly,
                text=fill(text),
                why=why,
                values=types.SimpleNamespace(**values),
                run={
                    "text": fill(text),
                    "np": values["np"],
                    "line": fill(line),
                    "judges": judges,
                    "also": {fill(k): v for k, v in (also or {}).items()},
                    "seconds": seconds,
                }
                | fixed
                | ({"launcher": fill(" ".join(fixed["launcher"])).split()} if "launcher" in fixed else {}),
            )
        )
    return made


def programs(text, np, line, *judges, seconds=1, **more):
    """Random programs for so many seconds, or a third of that in a ./check without --all. line:
    "[WORD... --] [OPTION...]"; what fails is named with its seed."""
    return row(text, np, line, *judges, seconds=seconds, **more)


def table(*rows):
    """A test of pytest: all rows, or those of ./check."""
    chosen = [each for made in rows for each in made if each.quick or in_all]
    if not chosen:
        return None

    @pytest.mark.parametrize("each", chosen, ids=[each.text for each in chosen])
    def test(each, mpi):
        if each.why:
            skip(each.text, each.why)
        else:
            run_row(mpi, each.values, **each.run)

    return test
