# SPDX-License-Identifier: BSD-3-Clause
"""Loading and selection: the components that run the collectives with each --mca coll, and ompi_info."""

import os
import re

from rows import *

os.environ.pop("OMPI_MCA_pml", None)  # as users have it

PARAMETERS = """priority host algorithm algorithm_allreduce algorithm_allgather algorithm_reduce_scatter algorithm_bcast
algorithm_reduce algorithm_alltoall algorithm_barrier channels slots slot_bytes mailbox_bytes single_copy measure tune_file
pack_mib setup_mib torus timeout timeout_abort signal progress_thread pool_mib report verbose cuda device_channels device_slots
device_slot_bytes device_pool_mib protocol stage_bytes zero_copy step_sync nodes nodes_ask nodes_transport nodes_direct
nodes_channels nodes_rails nodes_latency nodes_mbit nodes_zero_copy""".split()
EIGHT = tuple(f"^count coll_gpuring_calls_{c} [1-9]" for c in (
    "allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block", "bcast", "reduce", "alltoall"))
test_rows = table(
    row("--mca coll $names runs everything", 3, "--mca coll $names -- hello_coll",
        names="gpuring gpuring,basic,libnbc gpuring,tuned,basic,libnbc,self",
        also={"--mca coll $names: each of the eight is counted": EIGHT}),
    row("--mca coll gpuring, and MPI_T before MPI_Init", 2, "GPURING_TOOL_FIRST=1 --mca coll gpuring -- hello_coll"),
    row("--mca coll gpuring with one rank", 1, "--mca coll gpuring -- hello_coll"),
    programs("--mca coll gpuring on communicators of every origin", 3, "--mca coll gpuring -- --profile=comms"),
    row("selected by default", 3, "report=summary mailbox_bytes=0 algorithm=flat algorithm_bcast=chain -- hello_coll", also={
        "selected by default: each of the eight is counted": EIGHT,
        "no call in host memory counts as one on devices": "!^count coll_gpuring_device_calls_[a-z_]* [1-9]",
        "the report comes from one rank": lines_seen(1, "^# gpuring: what the collectives of 3 ranks achieved"),
        "the report has algorithm, calls and bytes": "^# allgather +host +flat +1 +1200 ",
        "and nonblocking calls apart": "^# iallgather +host +flat +1 +1200 ",
        "bytes are counted": "^count coll_gpuring_bytes_allgather 2400$",
        "what is given for one collective comes before what is given for all": "^# bcast +host +chain +1 +400 "}),
    row("not selected with a priority below tuned's", 3, "priority=5 -- hello_coll", good_without_gpuring),
    row("--mca coll ^gpuring", 3, "--mca coll ^gpuring -- hello_coll", good_without_gpuring, also={
        "--mca coll ^gpuring leaves no counters": "^pvars: none"}),
    row("host buffers are left to others where the selection does not name it", 3, "GR_HOST=auto -- hello_coll",
        good_without_gpuring),
    row("host buffers are taken where the selection names it", 3, "GR_HOST=auto --mca coll gpuring -- hello_coll"),
    row("also behind other names", 3, "GR_HOST=auto --mca coll tuned,basic,libnbc,gpuring -- hello_coll"),
    row("coll_gpuring_host 1: also where it does not name it", 3, "GR_HOST=1 -- hello_coll"),
    row("coll_gpuring_host 0: they are left to others", 3, "GR_HOST=0 --mca coll gpuring -- hello_coll", good_without_gpuring),
)


def test_ompi_info():
    os.environ["OMPI_MCA_mca_base_component_path"] = f"SYSTEM_DEFAULT:{os.environ['GR_DIR']}"
    info = ompi_info("--param", "coll", "gpuring", "--level", "9", "--parsable")
    result("ompi_info lists the component", "\nmca:coll:gpuring:version:" in f"\n{info}", info)
    helps = dict(re.findall("^mca:coll:gpuring:param:coll_gpuring_([a-z0-9_]*):help:(.*)", info, re.M))
    for name in PARAMETERS:
        result(f"ompi_info describes coll_gpuring_{name}", len(helps.get(name, "")) >= 20, info)
    unknown = " ".join(sorted(set(helps) - set(PARAMETERS)))
    result(f"this test knows all parameters{unknown and f' but {unknown}'}", helps and not unknown)
