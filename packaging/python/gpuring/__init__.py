# SPDX-License-Identifier: BSD-3-Clause
"""gpuring, a coll component for Open MPI: where its files are.

In a process that imports mpi4py.MPI nothing else is needed: _attach.py, which gpuring.pth starts, gives the component to
Open MPI. `python -m gpuring` prints the component's path, for LD_PRELOAD of other programs.
"""
import os
import sys

directory = os.path.dirname(os.path.abspath(__file__))
component = os.path.join(directory, "lib", "gpuring", "mca_coll_gpuring.so")


def _run(name, *options):
    program = os.path.join(directory, "bin", name)
    os.execv(program, [program, *options, *sys.argv[1:]])


def ab():
    """gpuring_ab, which needs no other Python than this one"""
    program = os.path.join(directory, "lib", "gpuring-ab", "gpuring_ab")
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])


def abi():
    """gpuring_abi, by default for the libmpi of this environment"""
    libmpi = os.path.join(sys.prefix, "lib", "libmpi.so.40")
    _run("gpuring_abi", *(["--libmpi=" + libmpi] if os.path.exists(libmpi) else []))


def choices():
    """gpuring_choices"""
    _run("gpuring_choices")


def sched():
    """gpuring_sched"""
    _run("gpuring_sched")


def top():
    """gpuring_top"""
    _run("gpuring_top")
