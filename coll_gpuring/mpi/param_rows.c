/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of the MCA parameters. */
#include "mpi/params.h"

#include "comm/params.h"

#include "exec/stepper.h"
#include "exec/gpu/args.h"
#include "link/fifo.h"
#include "net/rails.h"

#include "opal/mca/base/mca_base_var.h"

#include <limits.h>

/* ompi_info levels: shown by default, or with --level 5. */
enum { USER = OPAL_INFO_LVL_1, TUNER = OPAL_INFO_LVL_5 };

#define ALGORITHM(name, compared, of)                                           \
    {                                                                           \
        "algorithm" name, USER, GR_KIND_ALGORITHM, compared, -1, 0, 0, NULL, of \
    }

const struct gr_param_row mca_coll_gpuring_param_rows[] = {
    {"priority", USER, GR_KIND_INT, GR_PARAM_PRIORITY, 90, 0, 100, &gr_settings.priority,
     "Priority of the component, 0..100 (default 90); 0: not selected. Communicators whose ranks "
     "have different priorities are left to other components"},
    {"host", USER, GR_KIND_HOST, GR_PARAM_HOST, 0, 0, 0, NULL,
     "1: take collectives on buffers in host memory, too; 0: leave them to other components; auto "
     "(default): 1 if the MCA parameter coll names gpuring, else 0"},
    ALGORITHM("", GR_PARAM_COMMON, "all collectives"),
    ALGORITHM("_allreduce", GR_PARAM_ALGORITHM + GR_COLL_ALLREDUCE, "Allreduce"),
    ALGORITHM("_allgather", GR_PARAM_ALGORITHM + GR_COLL_ALLGATHER, "Allgather and Allgatherv"),
    ALGORITHM("_reduce_scatter", GR_PARAM_ALGORITHM + GR_COLL_REDUCE_SCATTER,
              "Reduce_scatter and Reduce_scatter_block"),
    ALGORITHM("_bcast", GR_PARAM_ALGORITHM + GR_COLL_BCAST, "Bcast"),
    ALGORITHM("_reduce", GR_PARAM_ALGORITHM + GR_COLL_REDUCE, "Reduce"),
    ALGORITHM("_alltoall", GR_PARAM_ALGORITHM + GR_COLL_ALLTOALL, "Alltoall"),
    ALGORITHM("_barrier", GR_PARAM_ALGORITHM + GR_COLL_BARRIER, "Barrier"),
    {"channels", TUNER, GR_KIND_INT, GR_PARAM_CHANNELS, 1, 1, GR_MAX_CHANNELS, NULL,
     "Most channels of a call, 1..16 (default 1). Each channel has its own links; large messages "
     "use more channels"},
    {"slots", TUNER, GR_KIND_INT, GR_PARAM_SLOTS, 4, GR_MIN_SLOTS, GR_MAX_SLOTS, NULL,
     "Slots per link, 2..64 (default 4): the most messages in flight"},
    {"slot_bytes", TUNER, GR_KIND_INT, GR_PARAM_SLOT_BYTES, 65536, 256, 1 << 26, NULL,
     "Bytes per slot, a multiple of 64 from 256 to 67108864 (default 65536). A link uses slots x "
     "slot_bytes of shared memory of its receiver"},
    {"mailbox_bytes", TUNER, GR_KIND_INT, GR_PARAM_MAILBOX_BYTES, 32768, 0, 1 << 20, NULL,
     "Largest message of a mailbox, in bytes per rank, 0..1048576 (default 32768). A communicator "
     "uses 8 times as much shared memory in each process. 0: no mailboxes"},
    {"single_copy", TUNER, GR_KIND_INT, GR_PARAM_SINGLE_COPY, 1, 0, 1, NULL,
     "1 (default): read large messages from the sender's memory (process_vm_readv), if the kernel "
     "permits it between all ranks of a communicator; 0: copy them through shared memory"},
    {"measure", TUNER, GR_KIND_INT, -1, 1, 0, 1, &gr_settings.measure,
     "1 (default): rank 0 measures how fast ranks of its node exchange data, in MPI_Init, and the "
     "network, at the first call of a communicator of several nodes; the cost model of all ranks "
     "goes by that. 0: built-in constants"},
    {"tune_file", TUNER, GR_KIND_FILE, -1, 0, 0, 0, NULL,
     "File of gpuring_tune, with constants of the cost model. Empty (default): the one for this "
     "kind of machine in $HOME/.gpuring, or else in gpuring below Open MPI's sysconfdir; none: no "
     "file"},
    {"pack_mib", TUNER, GR_KIND_INT, GR_PARAM_PACK_MIB, 1024, 1, 1 << 20, NULL,
     "Largest Bcast, Allgather(v) (all blocks) or Alltoall (a rank's blocks) in host memory, in "
     "MiB, 1..1048576 (default 1024), which is also what packing of noncontiguous data may take. "
     "Larger calls are left to other components"},
    {"setup_mib", TUNER, GR_KIND_INT, GR_PARAM_SETUP_MIB, 4, 0, 1 << 20, NULL,
     "Shared memory per rank, in MiB, that the links of an algorithm in host memory may need, "
     "0..1048576 (default 4); more if it is at most 4 times the bytes of the call. Otherwise "
     "another algorithm runs the call, or other components do"},
    {"nodes", USER, GR_KIND_INT, GR_PARAM_NODES, 1, 0, 1, NULL,
     "Communicators whose ranks are on several nodes. 1 (default): take them; 0: leave them to "
     "other components"},
    {"nodes_ask", TUNER, GR_KIND_INT, GR_PARAM_NODES_ASK, 20, 0, 1000000, NULL,
     "Between nodes, if ranks look for buffers in device memory: kernels may run a call that is "
     "expected to take at least this many times as long as an agreement of all ranks about its "
     "buffers, 0..1000000 (default 20). The host runs shorter calls"},
    {"nodes_transport", TUNER, GR_KIND_TRANSPORT, -1, -1, 0, 0, &gr_settings.transport,
     "Transport between nodes, the same on all nodes: ucx (UCX, by the module "
     "gpuring_net_ucx.so), pml (Open MPI's point-to-point messages), or auto (default): UCX if "
     "the module can be loaded, else pml"},
    {"nodes_direct", TUNER, GR_KIND_INT, -1, -1, -1, 1, &gr_settings.gpu_rdma,
     "1: slots of links between devices of different nodes are in device memory, if UCX and the "
     "driver support it (GPUDirect RDMA); 0: in pinned host memory; -1 (default): 1, but 0 where "
     "UCX has only transports like TCP"},
    {"nodes_channels", TUNER, GR_KIND_INT, GR_PARAM_NODES_CHANNELS, 4, 1, GR_MAX_CHANNELS, NULL,
     "Most channels of a call on communicators whose ranks are on several nodes, 1..16 (default "
     "4), instead of coll_gpuring_channels and coll_gpuring_device_channels"},
    {"nodes_rails", TUNER, GR_KIND_INT, GR_PARAM_NODES_RAILS, 1, 0, GR_NET_RAILS, NULL,
     "Network devices (rails) of a node that its links use, with UCX, 1..8 (default 1: UCX "
     "chooses). All nodes need as many devices of one kind and speed, else fewer are used. 0: all "
     "devices"},
    {"nodes_latency", TUNER, GR_KIND_INT, GR_PARAM_NODES_LATENCY, 0, 0, 1000000, NULL,
     "Latency of a short message between nodes in microseconds, for the cost model, 1..1000000. 0 "
     "(default): measured if coll_gpuring_measure is 1, else 20"},
    {"nodes_mbit", TUNER, GR_KIND_INT, GR_PARAM_NODES_MBIT, 0, 0, 10000000, NULL,
     "Bandwidth between a node and all others, in each direction and over all its rails, in "
     "Mbit/s, for the cost model, 1..10000000. 0 (default): measured if coll_gpuring_measure is "
     "1, else 10000"},
    {"nodes_zero_copy", TUNER, GR_KIND_INT, -1, 4096, -1, INT_MAX, &gr_settings.nodes_zero_copy,
     "Smallest message in host memory, in bytes, that is sent to another node from the user's "
     "contiguous buffer, 0..2147483647 (default 4096), without a copy to a slot. -1: none"},
    {"torus", USER, GR_KIND_TORUS, GR_PARAM_TORUS, 0, 0, 0, NULL,
     "Extents of the torus that MPI_COMM_WORLD's ranks form, as 4x4x2 (rank = x + 4 (y + 4 z)), "
     "for rings and torus algorithms of communicators of this size. Empty (default): none. A "
     "communicator's info key gpuring_torus, or its Cartesian topology, takes precedence"},
    {"step_sync", USER, GR_KIND_SYNC, GR_PARAM_STEP_SYNC, 0, 0, 0, NULL,
     "When steps of calls begin: none (default): as soon as they can; start: all ranks begin a "
     "call at one instant; barrier: also each tick together; timed: also each step (on devices: to "
     "other nodes) at its predicted time"},
    {"cuda", USER, GR_KIND_INT, -1, -1, -1, 1, &gr_settings.cuda,
     "1: look for buffers in device memory; 0: never; -1 (default): if this process has loaded the "
     "CUDA driver before MPI_Init, or the node has an NVIDIA device file"},
    {"device_channels", TUNER, GR_KIND_INT, GR_PARAM_DEVICE_CHANNELS, 16, 1, GR_GPU_CHANNELS, NULL,
     "Most channels of a call on devices, 1..32 (default 16). Each channel is a block of a kernel "
     "and has its own links"},
    {"device_slots", TUNER, GR_KIND_INT, GR_PARAM_DEVICE_SLOTS, 4, GR_MIN_SLOTS, GR_MAX_SLOTS, NULL,
     "Slots per link between devices, 2..64 (default 4): the most messages in flight"},
    {"device_slot_bytes", TUNER, GR_KIND_INT, GR_PARAM_DEVICE_SLOT_BYTES, 131072, 256, 1 << 26,
     NULL,
     "Bytes per slot between devices, a multiple of 256 from 256 to 67108864 (default 131072). A "
     "link uses device_channels x device_slots x device_slot_bytes of device memory of its "
     "receiver"},
    {"protocol", TUNER, GR_KIND_PROTOCOL, GR_PARAM_PROTOCOL, -1, 0, 0, NULL,
     "Protocol of messages between devices: auto (cost model; default), simple, ll (4 bytes of "
     "flag with 4 of data) or ll128 (8 bytes with 120). ll128 needs a device of its own for each "
     "rank, and NVLink between all of them; otherwise it is auto"},
    {"zero_copy", TUNER, GR_KIND_INT, GR_PARAM_ZERO_COPY, 1 << 20, -1, INT_MAX, NULL,
     "Smallest Allreduce, Allgather(v) or Bcast on devices, in bytes of the whole vector, whose "
     "results kernels store in the other ranks' receive buffers, 0..2147483647 (default 1048576); "
     "-1: none. Memory that the application frees may be given back some calls later"},
    {"device_pool_mib", USER, GR_KIND_INT, -1, 512, 1, 1 << 20, &gr_settings.device_pool_mib,
     "Most device memory for links of a process on each device, in MiB (default 512). If it does "
     "not suffice, calls go through host memory"},
    {"stage_bytes", TUNER, GR_KIND_INT, GR_PARAM_STAGE_BYTES, 512 << 10, 0, 1 << 30, NULL,
     "Bytes of device memory that are copied while other bytes are processed, in calls that the "
     "host runs, 0..1073741824 (default 524288). Calls, and messages, of less than twice as many "
     "are copied as a whole. 0: all are"},
    {"timeout", USER, GR_KIND_INT, -1, 60, 0, INT_MAX, &gr_settings.timeout,
     "Seconds without progress after which a rank reports what it waits for, and after each "
     "further such time; 0: never (default 60)"},
    {"timeout_abort", USER, GR_KIND_INT, -1, 0, 0, 1, &gr_settings.timeout_abort,
     "1: abort the job when a rank has waited for coll_gpuring_timeout seconds; 0 (default): "
     "keep waiting"},
    {"signal", USER, GR_KIND_INT, -1, 0, 0, 31, &gr_settings.signal,
     "Number of a signal, such as 10 (SIGUSR1), at which ranks that wait print a table of the "
     "ranks "
     "of their node; ignored if the application uses that signal. 0 (default): none"},
    {"progress_thread", USER, GR_KIND_INT, -1, -1, -1, 1, &gr_settings.progress_thread,
     "1: a thread in each process progresses nonblocking and persistent collectives while the "
     "application computes; 0: only MPI calls progress them; -1 (default): a thread once there is "
     "a nonblocking call on a communicator some of whose ranks look for device buffers"},
    {"pool_mib", USER, GR_KIND_INT, -1, 256, 1, 1 << 20, &gr_settings.pool_mib,
     "Most shared memory for links of a process, in MiB (default 256). Communicators for which it "
     "does not suffice are left to other components"},
    {"report", USER, GR_KIND_REPORT, -1, 0, 0, 0, NULL,
     "What rank 0 prints at the end: none (default), line (how many collective calls gpuring did, "
     "or why it was off), summary (also a table of all ranks' calls: time, waiting, bandwidth), or "
     "json:FILE"},
    {"verbose", USER, GR_KIND_INT, -1, 0, 0, 2, &gr_settings.verbose,
     "0 (default): errors only; 1: whether each communicator is taken; 2: also the choice for each "
     "call, or why it falls back to other components"},
};

_Static_assert(GR_PARAM_ROWS ==
                   sizeof(mca_coll_gpuring_param_rows) / sizeof(mca_coll_gpuring_param_rows[0]),
               "rows");
