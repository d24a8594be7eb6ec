# SPDX-License-Identifier: BSD-3-Clause
"""Links between nodes over a UCX that has CUDA support (tools/ucx_cuda.sh; --all gets it), on the fake driver. Slots lie on
devices. UCX copies to and from them itself and sends the data over TCP."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from rows import *
from rows.devices import *
from rows.hosts import *

SOURCES = os.environ["srcdir"]
if not NVML:
    pytest.skip("no fake NVML was built: UCX's CUDA module needs one", allow_module_level=True)
has_ucx()


def run(*command, **env):
    """It, ended, with what it wrote."""
    return subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=False)


found = run(f"{SOURCES}/tools/ucx_cuda.sh", *([] if in_all else ["--kept"]))
if found.returncode:
    pytest.skip(f"no UCX with CUDA support: {found.stderr.splitlines()[-1]}", allow_module_level=True)
UCX = found.stdout.strip()
LIBRARIES = {"LD_LIBRARY_PATH": f"{UCX}/lib:{DEVICES['LD_LIBRARY_PATH']}:{NVML}"}
ENV = DEVICES | LIBRARIES
VERSION = re.search("^# Library version: (.*)", run(f"{UCX}/bin/ucx_info", "-v", **LIBRARIES).stdout, re.M)[1]
OURS = Path(WORK, "gpuring")


def test_module():
    """gpuring, with the module for UCX built for this one."""
    OURS.mkdir()
    (OURS / "mca_coll_gpuring.so").symlink_to(f"{os.environ['GR_DIR']}/mca_coll_gpuring.so")
    built = run("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
                *shlex.split(in_make("print-component-flags")), "-isystem", f"{UCX}/include",
                *(f"{SOURCES}/coll_gpuring/net/{name}.c" for name in ("ucx", "ucx_context")), "-o",
                f"{OURS}/gpuring_net_ucx.so",
                *run("pkg-config", "--libs", "ucx", PKG_CONFIG_PATH=f"{UCX}/lib/pkgconfig").stdout.split())
    result(f"the module builds for UCX {VERSION}", built.returncode == 0, built.stderr)
    info = run("timeout", "60", f"{UCX}/bin/ucx_info", "-d", UCX_LOG_LEVEL="fatal", **LIBRARIES)
    result("UCX finds the driver and knows device memory",
           re.search(r"Component: cuda_cpy(?:(?!memory types:)[\s\S])*memory types:.* cuda \(access", info.stdout),
           info.stderr + info.stdout)


def on_nodes(text, layout, line, also=(), direct=1, **more):
    """direct: coll_gpuring_nodes_direct; by default also over TCP."""
    options, _, program = f" {line}".rpartition(" -- ")
    direct = "" if direct is None else f"nodes_direct={direct}"
    return nodes(f"$layout: {text}, device memory", layout, "nodes_ask=0 device_slots=4 device_slot_bytes=16384 "
                 f"-x LD_LIBRARY_PATH -x FAKECUDA_SMS -x FAKECUDA_DEVICES -x GPURING_MEMORY=device {direct} {options} -- "
                 f"{program}", good_on_devices, "!UCX +(WARN|ERROR)|^fakecuda:", also=dict(also), **more)


ON_DEVICES = "slots of rank 0 of .* between nodes: [1-9][0-9]* links in device memory, 0 in pinned host memory$"
PINNED = r": 0 links in device memory, [1-9][0-9]* in pinned host memory \(%s\)"
TYPES = "all types and operations, 4 MiB, any case"
SAID = f"verbose=2 -- {ANY_CASE}"
test_rows = table(
    on_nodes(TYPES, "2x1", f"GR_DIR={OURS} verbose=2 -- {EVERY_CASE}", {
        "    over UCX": "links to other nodes go over ucx$", "    slots lie on devices, which is said": ON_DEVICES}),
    on_nodes("any case, gpuring built for another UCX", "2x1", f"-x UCX_LOG_LEVEL=info {SAID}", {
        "    over this one": rf"UCX +INFO +Version {VERSION} \(loaded from {UCX}/", "    slots lie on devices": ON_DEVICES}),
    on_nodes("slots in pinned memory, any case", "2x1", SAID, {"    which is said": PINNED % "coll_gpuring_nodes_direct is 0"},
             direct=0),
    on_nodes("by default: the same over TCP, any case", "2x1", SAID, {
        "    which is said": PINNED % "the network would copy device memory through the host"}, direct=None),
    on_nodes(TYPES, "| 2x2", EVERY_CASE),
    on_nodes("any case", "| 3+1", ANY_CASE),
    on_nodes("the receiver fetches what is large", "| 2x1", f"-x UCX_RNDV_THRESH=8192 -- {ANY_CASE}"),
    on_nodes("nonblocking", "| 2x2", "eight_in nonblocking --no-comms"),
    on_nodes("persistent", "| 2x1", "eight_in persistent --no-comms"),
    on_nodes("a call ends while nobody calls MPI", "| 2x1", "devices progress"),
    on_nodes("communicators in opposite order", "| 2x1", "devices crossed"),
)
