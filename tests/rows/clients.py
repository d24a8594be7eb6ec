# SPDX-License-Identifier: BSD-3-Clause
"""Rows of programs that know nothing of gpuring."""

import os
import shutil
from pathlib import Path

__all__ = ["CLIENTS", "PREFIX", "did"]

PREFIX = Path(shutil.which(os.environ.get("OMPI_INFO", "ompi_info"))).parent.parent  # Open MPI's
# What was linked to one libmpi.so.40 runs with another of that name, where the loader finds that first.
CLIENTS = {}
if (PREFIX / "lib/libmpi.so.40").exists():
    CLIENTS["LD_LIBRARY_PATH"] = f"{PREFIX}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")


def did(memory, *collectives):
    """gpuring carried these out on buffers there (host or cuda), by its own report."""
    return [f"^# {collective} +{memory} +[a-z]+ +[1-9]" for collective in collectives]
