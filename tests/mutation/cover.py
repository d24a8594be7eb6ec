# SPDX-License-Identifier: BSD-3-Clause
"""Coverage by gcov: which test executes which function, and which lines and branches a list of tests executes.

Code of kernels is not seen: the fake driver's objects are not instrumented. Processes that end by _exit, abort or a signal
leave no counts.

    OUT/raw/TEST.json   of one test: {file: {"functions": [names], "lines": {line: [count, branches taken, branches]}}}
    OUT/map.tsv         file function tests
    OUT/lines.txt       lines and branches executed, by file and in all
    OUT/uncovered.txt   file:first-last of the lines that no test executes
"""
import json
import os
import subprocess

from runner import run_test
from work import BuildError

FLAGS = ["CFLAGS=-g -O2 --coverage", "LDFLAGS=--coverage"]
LONGEST = 2400
BATCH = 50


def files_with(build, ending):
    return [os.path.join(folder, n) for folder, _, names in os.walk(build) for n in names if n.endswith(ending)]


def file_below(src, path, folder):
    """The file's name below the sources, where it is one of the component's; else None."""
    name = os.path.relpath(os.path.normpath(os.path.join(folder, path)), src)
    return name if name.startswith("coll_gpuring/") else None


def merge_line(lines, line):
    """Add gcov's record of a line: another object may have executed it, too."""
    taken = sum(b["count"] > 0 for b in line["branches"])
    old = lines.get(str(line["line_number"]), [0, 0, 0])
    lines[str(line["line_number"])] = [old[0] + line["count"], max(old[1], taken), max(old[2], len(line["branches"]))]


def read_counts(src, build, files):
    """What gcov says of the files: of counts (.gcda), or of objects that need not have run (.gcno)."""
    found = {}
    for k in range(0, len(files), BATCH):
        said = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", *files[k: k + BATCH]],
                              cwd=build, capture_output=True, text=True, check=True).stdout
        for record in (json.loads(line) for line in said.splitlines() if line.startswith("{")):
            for file in record["files"]:
                name = file_below(src, file["file"], record["current_working_directory"])
                if name:
                    of = found.setdefault(name, {"functions": [], "lines": {}})
                    of["functions"] += [f["name"] for f in file["functions"] if f["execution_count"] > 0
                                        and f["name"] not in of["functions"]]
                    for line in file["lines"]:
                        merge_line(of["lines"], line)
    return found


def forget(build):
    """Remove all counts."""
    for file in files_with(build, ".gcda"):
        os.remove(file)


def measure(work, test, path):
    """Run a test and write what it executes."""
    extra = work.prepare_test(test, [])
    forget(work.build)
    result = run_test(work, test, extra, LONGEST)
    counts = read_counts(work.src, work.build, files_with(work.build, ".gcda"))
    path.write_text(json.dumps(counts))
    state = f"failed: {result.row}" if result.failed else "passed"
    n = sum(len(f["functions"]) for f in counts.values())
    print(f"{test.name}: {state}, {result.seconds:.0f} s, {n} functions", flush=True)


def collect(work, tests, out):
    """Run the tests of which nothing is known yet, and read what is known of all. {test: counts}."""
    raw = out / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    counts = {}
    for test in tests:
        path = raw / (test.name.replace("/", "-") + ".json")
        if not path.exists():
            try:
                measure(work, test, path)
            except BuildError as error:
                print(f"{test.name}: not built: {error}", flush=True)
                continue
        counts[test.name] = json.loads(path.read_text())
    return counts


def write_map(counts, path):
    """Which tests execute each function."""
    tests = {}
    for test, files in counts.items():
        for file, of in files.items():
            for function in of["functions"]:
                tests.setdefault((file, function), []).append(test)
    with open(path, "w") as f:
        for (file, function), names in sorted(tests.items()):
            f.write(f"{file}\t{function}\t{' '.join(names)}\n")


def ranges(numbers):
    """[1, 2, 3, 7] as ["1-3", "7"]."""
    runs = []
    for n in sorted(numbers):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return [f"{a}-{b}" if b > a else f"{a}" for a, b in runs]


def union(counts):
    """{file: {line: [executed by some test, branches taken, branches]}}."""
    lines = {}
    for files in counts.values():
        for file, of in files.items():
            for number, (n, taken, branches) in of["lines"].items():
                old = lines.setdefault(file, {}).setdefault(int(number), [0, 0, 0])
                old[:] = [old[0] + n, max(old[1], taken), max(old[2], branches)]
    return lines


def write_lines(counts, out):
    """Lines and branches by file, and what is not covered; counts: of the tests, and of all objects without any."""
    total = [0, 0, 0, 0]
    with open(out / "lines.txt", "w") as f, open(out / "uncovered.txt", "w") as g:
        f.write("lines executed, of; branches taken, of; file\n")
        for file, lines in sorted(union(counts).items()):
            row = [sum(n > 0 for n, _, _ in lines.values()), len(lines), sum(t for _, t, _ in lines.values()),
                   sum(b for _, _, b in lines.values())]
            total = [a + b for a, b in zip(total, row)]
            f.write("{:6} {:6} {:6} {:6}  {}\n".format(*row, file))
            g.writelines(f"{file}:{r}\n" for r in ranges(n for n, v in lines.items() if v[0] == 0))
        f.write("{:6} {:6} {:6} {:6}  all\n".format(*total))
    print("{} of {} lines, {} of {} branches".format(*total))


def read_map(path):
    """{file: {function: set of tests}} of a map; empty without one."""
    found = {}
    if path:
        with open(path) as f:
            for file, function, names in (line.rstrip("\n").split("\t") for line in f):
                found.setdefault(file, {})[function] = set(names.split())
    return found


def coverage(work, tests, out):
    """All of it."""
    work.prepare()
    counts = collect(work, tests(), out)
    write_map(counts, out / "map.tsv")
    work.make(["all"])
    forget(work.build)
    objects = [f for f in files_with(work.build, ".gcno") if "/coll_gpuring/" in f]
    write_lines(counts | {"": read_counts(work.src, work.build, objects)}, out)
    return 0
