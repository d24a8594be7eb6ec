# SPDX-License-Identifier: BSD-3-Clause
"""gpuring_bench --together under mpirun: columns, checks, exit status, error lines."""

from pathlib import Path

from rows import *
from rows.bench import *

FIVE = "allreduce allgather reduce_scatter_block bcast reduce"
ORDER = [[coll, size, calls] for coll in ("bcast", "reduce_scatter") for size in ("16", "32") for calls in ("3", "1")]


def by(number, stock):
    """So many rows, all with eight columns, with numbers that fit together, without errors, by stock or by gpuring."""

    def right(line):
        apart, together, ratio = map(float, line[3:6])
        return (len(line) == 8 and apart > 0 < together and (ratio - apart / together) ** 2 < 1e-4 * ratio**2 + 1e-4
                and line[7] == "0" and stock in (None, line[6] == "stock"))

    return wants(lambda job: job.rc == 0 and len(csv_rows(job)) == number and all(map(right, csv_rows(job))),
                 f"{number} right rows")


def correct(text, np, number, stock, options, **more):
    """Every result of every call is right."""
    return row(text, np, f"gpuring_bench {FIVE} -c -o csv -i 2 -x 1 $form {options}", by(number, stock),
               form="--persistent | --nonblocking", **more)


def alone(text, line, *judges, **more):
    return row(text, 0, f"gpuring_bench {line}", *judges, **more)


def refuses(text, pattern, line):
    return alone(text, f"allreduce {line}", complains(pattern))


test_rows = table(
    correct("$form, gpuring", 2, 75, False, "-m 8:128 --together=1,3,16"),
    correct("$form, 3 ranks, in place, another type and operation", 3, 5, False,
            "-m 12k:12k --together=5 --in-place -T int16 -O max"),
    correct("$form, stock", 2, 10, True, "-m 8:8 --together=1,16", GR_HOST="0"),
    # each collective that there is, and the two messages of sendrecv
    row("$form, all collectives, another root", 3, "gpuring_bench all -c -o csv -i 2 -x 1 --together=3 -m 96:96 $form -r 1",
        by(23, None), form="--persistent | --nonblocking"),
    alone("collectives, sizes and K in order", "bcast reduce_scatter -m 16:63 --together=3,1 -i 21 -o csv", ended,
          wants(lambda job: columns(job, 0, 1, 2) == ORDER, f"{ORDER}"), lambda job: not any(e for e, in columns(job, 7))),
    # eleven sizes; errors are not known
    alone("table of the defaults", "allreduce --together=1,4 -i 1 -x 0", ended, "^# 1 ranks, type float, nonblocking$",
          "^# collective +bytes +K +one after the other +together +ratio +algorithm +errors$",
          lines_seen(22, r"^allreduce +(8|16|32|64|128|256|512|1024|2048|4096|8192) +(1|4)( +[0-9]+\.[0-9]+){3} +[a-z]+ +-$")),
    # in both manners, before and after
    alone("a wrong element is found", f"{FIVE} -m 64:64 --together=2 -i 1 -c -o csv", lambda job: job.rc == 1,
          lambda job: columns(job, 7) == [["4"]] * 5, GPURING_BENCH_CORRUPT="1"),
    alone("to a file", "allreduce --together=1 -m 8:8 -i 1 -f $work/file", ended, quiet,
          lambda job: "\nallreduce " in "\n" + text_of(Path(WORK, "file"))),
    row("refuses K, on two ranks", 2, "gpuring_bench allreduce --together=1,0",
        complains("^gpuring_bench: --together: '1,0' is not valid; allowed: .*1 to 1024")),
    refuses("refuses too large a K", "^gpuring_bench: --together: '1025'", "--together=1025"),
    refuses("refuses a format", "^gpuring_bench: -o: 'json' .*table csv", "--together=1 -o json"),
    refuses("refuses what compares with links", "^gpuring_bench: -B -I --ideal --fit: not with --together",
            "--together=1 --fit"),
)
