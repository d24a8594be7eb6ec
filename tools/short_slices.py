#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Set time slices of 0.1 ms for a process and its later children: short_slices.py PID

Waiting ranks call sched_yield(). Since Linux 6.18 (and kernels with this change) it gives up the rest of a time slice, 3 ms
by default. Beside busy processes, ranks that share a processor then switch every 8 ms only, and a test takes a hundred times
as long. Linux 6.12 and later support shorter slices; on other kernels this program does nothing.
"""
import ctypes
import os
import platform
import struct
import sys

SLICE = 100_000  # ns; the shortest possible
NUMBERS = {"x86_64": 314, "aarch64": 274}  # system call sched_setattr

pid = int(sys.argv[1])
if platform.machine() in NUMBERS and os.sched_getscheduler(pid) == os.SCHED_OTHER:
    # struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period
    attr = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, pid), 0, SLICE, 0, 0)
    ctypes.CDLL(None).syscall(NUMBERS[platform.machine()], pid, attr, 0)
