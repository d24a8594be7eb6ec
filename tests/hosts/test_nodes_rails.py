# SPDX-License-Identifier: BSD-3-Clause
"""gpuring between nodes of several network devices (rails): channels are spread over them. Results are right, each interface
carries its share, there are no more rails than all ranks have, and one that is cut is named."""

from rows import *
from rows.hosts import *

has_ucx()
TWO, THREE = "nodes_rails=2 verbose=1", "nodes_rails=3 verbose=1"
HERE = "MPI_COMM_WORLD: 2 rails between nodes, here eth0 eth1"
GOOD, EIGHT = (good_through_gpuring, HERE), (all_taken, HERE)
DIFFER = 'gpuring: .*coll_gpuring_nodes_rails = "2" on rank 0 .* on rank 1 it is "1"'


def on_one_rail(why="not all ranks have several equal devices"):
    return good_through_gpuring, f"MPI_COMM_WORLD: 1 rail between nodes, of 2 wanted: {why}"


def over(interface):
    return f"links to other nodes go over ucx on {interface}$"


def on_rails(text, layout, line, *judges, rails=2, **more):
    """A row between hosts of so many interfaces, through gpuring."""
    options, _, program = f" {line}".partition(" -- ")
    return row(text, "$layout", f"nodes=1 --mca op ^avx {options} -- {program}", *judges, layout=layout,
               **between(f"$layout --rails={rails}"), **more)


def fits(job):
    """Each interface of two hosts has carried what the row says of 5 calls of 4 MiB, within 10%; where that is nothing, no more
    than 5% of the most. OUT:IN of h0's eth0 and eth1, in MiB of a call; h1's are the other way round."""
    shares = {rail: [5 * 2**20 * float(n) for n in getattr(job.row, rail).split(":")] for rail in ("eth0", "eth1")}
    most = max(map(max, shares.values()))
    return len(crossed(job)) == 4 and all(
        0.9 * share <= moved <= 1.1 * share if share else moved <= 0.05 * most
        for host, rail, *both in crossed(job) for moved, share in zip(both, shares[rail][:: 1 if host == "h0" else -1]))


def carries(text, options, rows, **more):
    """-c makes two of the 5 calls."""
    return row(text, "$layout", f"nodes=1 measure=0 {TWO} {options} -- "
               "gpuring_bench $coll -m 4M:4M -i 3 -x 0 -c -B 1 -I 1", ended, HERE, fits, rows=rows,
               **between("$layout --rails=2", *COUNTED), **more)


def confined(text, options, kept, left, *before, **more):
    """5 allreduces of 4 MiB pass one interface; another has what mpirun (50 KiB of 5.0) and the kernels send. hosts.sh says
    itself what Open MPI is confined to, which an option replaces, or a command before takes away."""
    passed = wants(lambda job: len(crossed(job)) == 4 and all(
        (rail != kept or sent >= 20971520) and (rail != left or sent + received <= 262144)
        for _, rail, sent, received in crossed(job)), f"{kept} and not {left}")
    return row(text, 2, f"nodes=1 measure=0 verbose=1 {options} -- gpuring_bench allreduce -m 4M:4M -i 3 -x 0 -c -B 1 -I 1",
               ended, passed, **between("2x1 --rails=2", *before, *COUNTED), **more)


ETH0 = "--mca btl_tcp_if_include eth0"
test_rows = table(
    # ---- right, and each carries its half ----
    on_rails("$layout: blocking, any case", "2x2 | 2x1 3+1", f"{TWO} -- {ANY_CASE}", *GOOD),
    # 2S(Q-1)/Q, S(Q-1)/Q and S, half of it on each; with 3+1 that of a ring, N for Q. Odd channels go round the other way: on
    # 2x2 their chains leave the root's host, and come back to its other rank.
    carries("$layout $coll: right, and each interface carries its share", "$options", """layout coll eth0 eth1 options
2x2 allreduce 2:2 2:2
2x2 bcast 2:0 2:2
3+1 reduce_scatter 1.5:1.5 1.5:1.5 algorithm=ring
|
2x1 allreduce 2:2 2:2
2x1 allgather 1:1 1:1
2x1 reduce_scatter 1:1 1:1
2x1 bcast 2:0 2:0
2x1 reduce 0:2 0:2
2x2 allgather 1:1 1:1
2x2 reduce_scatter 1:1 1:1
2x2 reduce 2:2 0:2
3+1 allreduce 3:3 3:3 algorithm=ring
3+1 allgather 1.5:1.5 1.5:1.5 algorithm=ring
3+1 bcast 2:0 2:0
3+1 reduce 0:2 0:2"""),
    # ---- what Open MPI is confined to ----
    confined("btl_tcp_if_include $list: UCX's messages pass eth1", "--mca btl_tcp_if_include $list", "eth1", "eth0",
             list="eth1 10.78.0.0/16", also={"    and rank 0 says so": over("eth1")}),
    confined("btl_tcp_if_include eth0: nothing passes eth1", ETH0, "eth0", "eth1", quick=False),
    confined("btl_tcp_if_exclude: nothing passes what it names", "--mca btl_tcp_if_exclude lo,10.78.0.0/24", "eth0", "eth1",
             "env", "-u", "OMPI_MCA_btl_tcp_if_include", quick=False),
    confined("rails: none beside the one that is left", f"{ETH0} nodes_rails=2", "eth0", "eth1", quick=False,
             also={"    and rank 0 says so": "MPI_COMM_WORLD: 1 rail between nodes, of 2 wanted"}),
    confined("UCX_NET_DEVICES is what counts for UCX, where it is set", f"{ETH0} -x UCX_NET_DEVICES=eth1", "eth1", "none",
             quick=False),
    confined("links over pml pass where Open MPI's messages do", f"{ETH0} nodes_transport=pml", "eth0", "eth1", quick=False),
    on_rails("an interface that is not there, which Open MPI ignores: any", "| 2x1",
             "--mca btl_tcp_if_include 10.99.0.0/16 verbose=1 -- hello_coll", "links to other nodes go over ucx$"),
    on_rails("none that leads there: Open MPI's messages", "| 2x1", "--mca btl_tcp_if_include lo verbose=1 --mca pml ucx "
             "--mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -x UCX_TLS=tcp,self -- hello_coll",
             "go over pml: btl_tcp_if_include or _exclude leaves ucx no network device"),
    on_rails("2x2: $form, each of the eight", "2x2", f"{TWO} -- eight_in $form --no-comms", *EIGHT,
             form="| nonblocking persistent"),
    on_rails("2x2: nonblocking calls of several threads, and one of gpuring", "| 2x2",
             f"{TWO} progress_thread=1 -- nbthreads 2", *GOOD),
    on_rails("3+1: communicators within a host and across", "| 3+1", f"{TWO} -- eight_in comms", *GOOD),
    carries("2x1: one channel is not enough for two rails, and becomes two", "nodes_channels=1",
            "layout coll eth0 eth1\n2x1 allreduce 2:2 2:2", quick=False),
    on_rails("2x1: three rails, any case", "| 2x1", f"{THREE} -- {ANY_CASE}", rails=3, also={
        "    which are all used": "links to other nodes go over ucx on eth2"}),
    # ---- how many there are ----
    on_rails("0: as many as there are", "| 2x1", "nodes_rails=0 verbose=1 -- hello_coll", *GOOD),
    on_rails("more wanted than there are: these", "| 2x1", f"{THREE} -- hello_coll",
             "MPI_COMM_WORLD: 2 rails between nodes, of 3 wanted, here eth0 eth1"),
    on_rails("by default, none are asked for", "| 2x1", "verbose=1 -- hello_coll", "!rail|over ucx on"),
    on_rails("the user allows one device: that", "| 2x1", f"{TWO} -x UCX_NET_DEVICES=eth1 -- hello_coll", *on_one_rail()),
    on_rails("two of three: these two", "| 2x1", f"{TWO} -x UCX_NET_DEVICES=eth2,eth1 -- hello_coll",
             "MPI_COMM_WORLD: 2 rails between nodes, here eth1 eth2", rails=3),
    on_rails("one host has one device: that of all", "| 2x2", f"{TWO} -- hello_coll", *on_one_rail(),
             wrapper=each_rank("[ $(hostname) = h0 ] || export UCX_NET_DEVICES=eth0")),
    on_rails("ranks that want different numbers: the default", "| 2x1",
             "verbose=1 -x OMPI_MCA_coll_gpuring_nodes_rails=2 -- hello_coll", "!over ucx on",
             wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK = 0 ] || export OMPI_MCA_coll_gpuring_nodes_rails=1"),
             also={"    with one line that says so": lines_seen(1, DIFFER)}),
    on_rails("Open MPI's messages have no rails", "| 2x1", f"{TWO} nodes_transport=pml -- hello_coll",
             *on_one_rail("Open MPI's messages have one")),
)


def test_cut(mpi):
    if not in_all:
        return
    # a slow network makes messages of 4 KB worth both rails
    job = mpi.start(2, f"nodes=1 {TWO} nodes_mbit=1000 timeout=1 -- stall loop allreduce {MARK}",
                    **between("2x1 --rails=2", *cutting("eth1")))
    job.check("one rail is cut: who waits says for whom", waits_for_1, within=60)
    job.check("one rail is cut: then, that the link is lost, to where, and over which device",
              r"gpuring: rank ([01]) of stalled communicator, on h\1, has lost a link to another node: "
              r"rank ([01]) on h\2, over eth1: ", within=60)
    job.check("one rail is cut: the call fails", "MPI_ERR_OTHER", within=60)
    job.kill()
    job.check("one rail is cut: no process is left", marked_is(0), within=60)
