# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the tests that run programs under mpirun: docs/testing.md says how one is written."""

from .judge import *
from .run import *
from .table import *
from .tap import *
