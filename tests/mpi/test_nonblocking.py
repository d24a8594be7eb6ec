# SPDX-License-Identifier: BSD-3-Clause
"""Nonblocking collectives: many at once, in different orders on different ranks, on communicators that are freed
meanwhile, and going on while the program does something else."""

from rows import *

KINDS = """kind users
nonblocking
orders
eight,freed --no-user-ops"""
ORDERS_QUICKLY = """kind users
orders
|
nonblocking
eight,freed --no-user-ops"""
# Small slots: a call is left and taken up again many times.
SLOTS = "channels=2 slots=2 slot_bytes=512"
test_rows = table(
    programs("$kind", "4 | 2 3 5 8", "--profile=$kind $users", rows=KINDS),
    programs("nonblocking, the eight", "4 | 2 3 5 8", "--profile=nonblocking,eight --no-user-ops --no-comms", all_taken),
    programs("freed while pending: nothing grows", 3, f"--profile=eight,freed --no-user-ops --growth={depth(20, 60)}",
             all_good),
    programs("$kind, $a, small slots", 3, f"algorithm=$a {SLOTS} -- --profile=$kind $users --max-bytes=40000",
             a="ring | auto chain tree flat mailbox", rows=ORDERS_QUICKLY),
    row("going on during MPI_Test", 2, "overlap"),
    row("going on with a thread", 2, "progress_thread=1 -- overlap thread"),
    programs("$kind, with a thread", 3, "progress_thread=1 -- --profile=$kind $users", rows=ORDERS_QUICKLY),
)
