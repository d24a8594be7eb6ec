# SPDX-License-Identifier: BSD-3-Clause
"""The raw data: a time per round, configuration, run and cell; in memory and as a file.

The file is CSV below a head of lines "# key: value". Failures are such lines too, with the key "failed".
A cell is a collective and a size. Measures of the floor are rows of the config "floor".
"""
import collections
import csv

FLOOR, GPURING = "floor", "gpuring"
ONCE, TWICE = ("a",), ("a", "b")  # runs of a round; b: for the A/A control
FIELDS = ["round", "config", "run", "collective", "bytes", "avg_us", "algorithm"]

Record = collections.namedtuple("Record", FIELDS)


class Malformed(Exception):
    """A file that is not raw data; the text says where."""


class Data:
    """times[cell][config][run][round]: microseconds. floors[measure, bytes][round]: microseconds.
    algorithms[cell]: a Counter of gpuring's."""

    def __init__(self, meta):
        self.meta = meta
        self.rounds, self.failures = [], []
        self.times = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
        self.floors = collections.defaultdict(dict)
        self.algorithms = collections.defaultdict(collections.Counter)

    def add(self, record):
        cell = record.collective, record.bytes
        if record.round not in self.rounds:
            self.rounds.append(record.round)
        if record.config == FLOOR:
            self.floors[cell][record.round] = record.avg_us
            return
        self.times[cell][record.config][record.run][record.round] = record.avg_us
        if record.config == GPURING:
            self.algorithms[cell][record.algorithm] += 1

    def add_round(self, records, failures):
        self.failures += failures
        for record in records:
            self.add(record)

    def ranks(self):
        return int(self.meta["ranks"])

    def against_choices(self):
        """Is gpuring compared with its own choices, each of which was forced, and not with stock?"""
        return self.meta.get("against") == "choices"


class Writer:
    """Writes whole rounds only, so that the file of an interrupted run can be evaluated."""

    def __init__(self, path, meta):
        self.path, self.meta = path, meta

    def __enter__(self):
        self.file = open(self.path, "w", newline="")
        for key, value in self.meta.items():
            self.file.write(f"# {key}: {value}\n")
        self.rows = csv.writer(self.file, lineterminator="\n")
        self.rows.writerow(FIELDS)
        self.file.flush()
        return self

    def add_round(self, records, failures):
        for text in failures:
            self.file.write(f"# failed: {text}\n")
        self.rows.writerows(records)
        self.file.flush()

    def __exit__(self, *unused):
        self.file.close()


def read(path):
    meta, failures, lines, numbers = {}, [], [], []
    with open(path, newline="") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("#"):
                key, _, value = line[1:].strip().partition(": ")
                if key == "failed":
                    failures.append(value)
                else:
                    meta[key] = value
            elif line.strip():
                lines.append(line)
                numbers.append(number)
    data = Data(meta)
    data.failures = failures
    if not lines or lines[0].strip().split(",") != FIELDS:
        raise Malformed(f"{path}: no raw data: a line {','.join(FIELDS)} was expected")
    for row, number in zip(csv.reader(lines[1:]), numbers[1:]):
        try:
            r = Record(*row)
            data.add(r._replace(round=int(r.round), bytes=int(r.bytes), avg_us=float(r.avg_us)))
        except (TypeError, ValueError):
            raise Malformed(f"{path}: line {number} is not a row of raw data") from None
    if not meta.get("ranks", "").isdigit():
        raise Malformed(f"{path}: the head does not say how many ranks: a line '# ranks: N' was expected")
    if len(data.rounds) < 2:
        raise Malformed(f"{path}: {len(data.rounds)} rounds; two at least are needed")
    data.rounds.sort()
    return data
