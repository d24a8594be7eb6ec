# SPDX-License-Identifier: BSD-3-Clause
"""Rows on the fake CUDA driver's devices. A file that includes this is skipped where it is not built."""

import os
from pathlib import Path

import pytest

from .judge import all_good, counted

__all__ = [
    "DEVICES",
    "NVML",
    "SMALL",
    "WITHOUT",
    "device_calls",
    "good_by_staging",
    "good_falls_back",
    "good_on_devices",
]

FAKE = os.environ["FAKECUDA"]
if not Path(FAKE, "libcuda.so.1").exists():
    pytest.skip("no CUDA toolkit: nothing to run on devices with", allow_module_level=True)
WITHOUT = os.environ.get("LD_LIBRARY_PATH", "")  # without the driver
DEVICES = {
    "LD_LIBRARY_PATH": f"{FAKE}:{WITHOUT}".rstrip(":"),
    "FAKECUDA_SMS": "64",
    "FAKECUDA_DEVICES": "2",
    "FAKECUDA_MPS": "1",
    "GR_HOST": "0",
}
SMALL = "device_channels=2 device_slot_bytes=16384 --mca op ^avx"
NVML = str(Path(FAKE, "../../.libs").resolve())
if not Path(NVML, "libnvidia-ml.so.1").exists():
    NVML = None


def device_calls(job):
    return counted(job, "calls .* device")


def good_on_devices(job):
    return all_good(job) and device_calls(job) > 0


def good_by_staging(job):
    return all_good(job) and device_calls(job) == 0


def good_falls_back(job):
    return all_good(job) and bool(job.lines(r"^# gpuring calls \d+ handovers [1-9]"))
