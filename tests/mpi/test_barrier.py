# SPDX-License-Identifier: BSD-3-Clause
"""Barriers: a rank that has not entered holds all others back, in all forms and ways; a rank that does not come is named."""

import os
from pathlib import Path

from rows import *

FAKE = os.environ["FAKECUDA"]
GPUS = f"LD_LIBRARY_PATH={FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":") + " FAKECUDA_SMS=64 FAKECUDA_DEVICES=2"


def taken(way):
    """Each form was done by gpuring, and in this way."""
    return (good_through_gpuring, lambda job: len(job.lines(": gpuring took [1-9]")) >= 2,
            f"^count coll_gpuring_algorithm_{way} [1-9]", "^count coll_gpuring_calls_barrier [1-9]")


def barriers(text, np, options, *judges, **more):
    return row(text, np, f"{options} -- barrier $work/flags 1", *judges, **more)


test_rows = table(
    row("barrier, $np ranks: mailboxes", "2 7 | 3 4 5 8 12", f"barrier $work/flags {depth(1, 4)}", *taken("mailbox")),
    # as with too many ranks for mailboxes
    barriers("barrier, 5 ranks, no mailboxes: dissemination", 5, "mailbox_bytes=0", *taken("dissemination")),
    barriers("barrier, 4 ranks, dissemination, small slots", 4, "algorithm_barrier=dissemination slots=2 slot_bytes=256",
             *taken("dissemination")),
    barriers("barrier, 3 ranks, a thread", 3, "progress_thread=1"),
    barriers("coll_gpuring_host 0: left to others", 3, "GR_HOST=0", good_without_gpuring),
    barriers("no shared memory for links: right all the same", 4, "pool_mib=1 slot_bytes=1048576 mailbox_bytes=0 setup_mib=64",
             all_good, also={"    and blocking barriers fall back": "^count coll_gpuring_handover_setup [1-9]"}),
    # where some rank may have a GPU, calls with buffers begin with an agreement; barriers among them do not
    *[barriers("barrier, 3 ranks with GPUs: mailboxes", 3, GPUS, *taken("mailbox")),
      barriers("barrier, 3 ranks with GPUs: dissemination", 3, f"{GPUS} mailbox_bytes=0", *taken("dissemination"))
      ][:2 * Path(FAKE, "libcuda.so.1").exists()],
)


def test_stopped(mpi):
    # a second would be too short on a busy machine: who polls seldom is not taken to wait
    job = mpi.start(3, f"timeout=5 -- barrier {WORK}/flags stop")
    job.check("a rank that does not come is named",
              "gpuring: rank 0 of .* waits.* barrier.* sequence.* waits for rank 1", within=60)
    job.resume().check("    and the barrier ends when it comes", good_through_gpuring)
