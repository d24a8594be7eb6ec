#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time slices of 0.1 ms for a process and what it starts from then on: short_slices.py PID

Ranks that wait give their processor away by sched_yield(). Since Linux 6.18 (and what took it over) that gives up the rest of
a time slice, 3 ms by default: beside processes that never wait, a test whose ranks take turns does so every 8 ms, and takes a
hundred times as long. Linux 6.12 and later let a process have shorter slices; elsewhere this does nothing.
"""
import ctypes
import os
import platform
import struct
import sys

SLICE = 100_000  # ns; the shortest that there is
NUMBERS = {"x86_64": 314, "aarch64": 274}  # of the system call sched_setattr

pid = int(sys.argv[1])
if platform.machine() in NUMBERS and os.sched_getscheduler(pid) == os.SCHED_OTHER:
    # struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period
    attr = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, pid), 0, SLICE, 0, 0)
    ctypes.CDLL(None).syscall(NUMBERS[platform.machine()], pid, attr, 0)
