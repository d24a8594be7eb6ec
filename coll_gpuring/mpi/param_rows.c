/* SPDX-License-Identifier: BSD-3-Clause */
/* MCA parameters, as users know them. */
#include "mpi/param_rows.h"

#include "engine/process.h"
#include "mpi/params.h"

#include "exec/gpu/args.h"
#include "exec/stepper.h"
#include "link/fifo.h"
#include "sched/sched.h"

#include "opal/mca/base/mca_base_var.h"

#include <limits.h>

/* Whom ompi_info shows a parameter: all, by default; or who asks for more (--level 5). */
enum { USER = OPAL_INFO_LVL_1, TUNER = OPAL_INFO_LVL_5 };

const struct gr_param_row mca_coll_gpuring_param_rows[] = {
    {"priority", USER, GR_KIND_INT, GR_PARAM_PRIORITY, 90, 0, 100, &gr_process.priority,
     "Priority of the component, 0..100 (default 90); 0: not selected. Communicators whose ranks "
     "differ in it are left to the other components"},
    {"host", USER, GR_KIND_INT, GR_PARAM_HOST, 0, 0, 1, NULL,
     "1: take collectives on buffers in host memory too; 0 (default): leave them to the other "
     "components"},
    {"algorithm", USER, GR_KIND_ALGORITHM, GR_PARAM_COMMON, 0, 0, 0, NULL, "all collectives"},
    {"algorithm_allreduce", USER, GR_KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_ALLREDUCE, 0, 0,
     0, NULL, "Allreduce"},
    {"algorithm_allgather", USER, GR_KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_ALLGATHER, 0, 0,
     0, NULL, "Allgather and Allgatherv"},
    {"algorithm_reduce_scatter", USER, GR_KIND_ALGORITHM,
     GR_PARAM_ALGORITHM + GR_COLL_REDUCE_SCATTER, 0, 0, 0, NULL,
     "Reduce_scatter and Reduce_scatter_block"},
    {"algorithm_bcast", USER, GR_KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_BCAST, 0, 0, 0, NULL,
     "Bcast"},
    {"algorithm_reduce", USER, GR_KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_REDUCE, 0, 0, 0,
     NULL, "Reduce"},
    {"algorithm_alltoall", USER, GR_KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_ALLTOALL, 0, 0, 0,
     NULL, "Alltoall"},
    {"channels", TUNER, GR_KIND_INT, GR_PARAM_CHANNELS, 1, 1, GR_MAX_CHANNELS, NULL,
     "Channels at most, 1..16 (default 1): each has links of its own; large messages use more of "
     "them"},
    {"slots", TUNER, GR_KIND_INT, GR_PARAM_SLOTS, 4, GR_MIN_SLOTS, GR_MAX_SLOTS, NULL,
     "Slots per link, 2..64 (default 4): messages that may be on their way at a time"},
    {"slot_bytes", TUNER, GR_KIND_INT, GR_PARAM_SLOT_BYTES, 65536, 256, 1 << 26, NULL,
     "Bytes per slot, a multiple of 64 from 256 to 67108864 (default 65536); a link takes slots x "
     "slot_bytes of shared memory at its reader"},
    {"mailbox_bytes", TUNER, GR_KIND_INT, GR_PARAM_MAILBOX_BYTES, 32768, 0, 1 << 20, NULL,
     "Messages up to that many bytes per rank may go through mailboxes, 0..1048576 (default "
     "32768); a communicator takes 8 times as much shared memory for them in each of its "
     "processes. 0: no mailboxes"},
    {"single_copy", TUNER, GR_KIND_INT, GR_PARAM_SINGLE_COPY, 1, 0, 1, NULL,
     "1 (default): fetch large messages straight from their sender's memory (process_vm_readv), "
     "where the kernel allows it between all ranks of a communicator; 0: copy them through shared "
     "memory"},
    {"pack_mib", TUNER, GR_KIND_INT, GR_PARAM_PACK_MIB, 1024, 1, 1 << 20, NULL,
     "MiB that a Bcast, Allgather(v) (all blocks) or Alltoall (a rank's blocks) in host memory "
     "moves at most, 1..1048576 (default 1024): where a rank's data have gaps it takes as much "
     "memory to pack them. Larger calls are left to the other components"},
    {"nodes", USER, GR_KIND_INT, GR_PARAM_NODES, 1, 0, 1, NULL,
     "Communicators whose ranks are on several nodes. 1 (default): take them; 0: leave them to the "
     "other components"},
    {"nodes_ask", TUNER, GR_KIND_INT, GR_PARAM_NODES_ASK, 20, 0, 1000000, NULL,
     "Between nodes, where ranks look for buffers in device memory (coll_gpuring_cuda): a call may "
     "go to kernels where it is expected to take at least so many times as long as to ask all "
     "ranks for their buffers, 0..1000000 (default 20); in a shorter one each rank stages its own, "
     "and the host does it. 0: each call may"},
    {"nodes_transport", TUNER, GR_KIND_TRANSPORT, -1, -1, 0, 0, &gr_process.transport,
     "What links between nodes go over: ucx (UCX, by the module gpuring_net_ucx.so), pml (Open "
     "MPI's point-to-point messages), or auto (default): UCX where it can be loaded. It must be "
     "the same on all nodes"},
    {"nodes_direct", TUNER, GR_KIND_INT, -1, 1, 0, 1, &gr_process.direct,
     "1 (default): slots of links between devices of different nodes lie in device memory, where "
     "UCX and the driver allow it (GPUDirect RDMA); 0: in pinned host memory"},
    {"nodes_channels", TUNER, GR_KIND_INT, GR_PARAM_NODES_CHANNELS, 4, 1, GR_MAX_CHANNELS, NULL,
     "coll_gpuring_channels and _device_channels of communicators whose ranks are on several "
     "nodes, 1..16 (default 4)"},
    {"nodes_rails", TUNER, GR_KIND_INT, GR_PARAM_NODES_RAILS, 1, 0, 8, NULL,
     "Network devices of a node (rails) that its links are spread over, with UCX, 1..8 (default 1: "
     "UCX chooses as it does); there must be as many of one kind and speed on all nodes, else "
     "fewer are used. 0: as many as there are"},
    {"nodes_latency", TUNER, GR_KIND_INT, GR_PARAM_NODES_LATENCY, 20, 1, 1000000, NULL,
     "Microseconds that a short message takes between nodes, for the cost model, 1..1000000 "
     "(default 20)"},
    {"nodes_mbit", TUNER, GR_KIND_INT, GR_PARAM_NODES_MBIT, 10000, 1, 10000000, NULL,
     "Mbit/s between a node and all others, each way, over all its rails, for the cost model, "
     "1..10000000 (default 10000)"},
    {"nodes_zero_copy", TUNER, GR_KIND_INT, -1, 4096, -1, INT_MAX, &gr_process.nodes_zero_copy,
     "Smallest message in host memory, in bytes, that UCX sends to another node straight from the "
     "buffer in which it lies in one piece, 0..2147483647 (default 4096); others are copied into a "
     "slot first. -1: all are"},
    {"torus", USER, GR_KIND_TORUS, GR_PARAM_TORUS, 0, 0, 0, NULL,
     "Extents of the torus that MPI_COMM_WORLD's ranks form, as 4x4x2 (rank = x + 4 (y + 4 z)); "
     "rings of communicators of that many ranks run along it, and so do the algorithms for tori. "
     "Empty (default): none. A communicator's info key gpuring_torus, or its Cartesian topology, "
     "comes before it"},
    {"step_sync", USER, GR_KIND_SYNC, GR_PARAM_STEP_SYNC, 0, 0, 0, NULL,
     "When the steps of calls begin: none (default): as soon as they can; start: all ranks begin "
     "the call at one instant; barrier: and each tick of its steps together; timed: and each step "
     "(on devices: to other nodes) at its predicted time"},
    {"cuda", USER, GR_KIND_INT, -1, -1, -1, 1, &gr_process.cuda,
     "1: look for buffers in device memory; 0: never; -1 (default): where this process has loaded "
     "the CUDA driver before MPI_Init, or the node has an NVIDIA device file"},
    {"device_channels", TUNER, GR_KIND_INT, GR_PARAM_DEVICE_CHANNELS, 16, 1, GR_GPU_CHANNELS, NULL,
     "Channels at most of calls on devices, 1..32 (default 16): each is a block of a kernel, with "
     "links of its own"},
    {"device_slots", TUNER, GR_KIND_INT, GR_PARAM_DEVICE_SLOTS, 4, GR_MIN_SLOTS, GR_MAX_SLOTS, NULL,
     "Slots per link between devices, 2..64 (default 4)"},
    {"device_slot_bytes", TUNER, GR_KIND_INT, GR_PARAM_DEVICE_SLOT_BYTES, 131072, 256, 1 << 26,
     NULL,
     "Bytes per slot between devices, a multiple of 256 from 256 to 67108864 (default 131072); a "
     "link takes device_channels x device_slots x device_slot_bytes of device memory at its "
     "reader"},
    {"protocol", TUNER, GR_KIND_PROTOCOL, GR_PARAM_PROTOCOL, -1, 0, 0, NULL,
     "How messages between devices are written: auto (cost model; default), simple, ll (4 bytes of "
     "flag with each 4 of data) or ll128 (8 with each 120). ll128 is taken only where all ranks "
     "have devices of their own that NVLink joins; elsewhere it is as auto"},
    {"zero_copy", TUNER, GR_KIND_INT, GR_PARAM_ZERO_COPY, 1 << 20, -1, INT_MAX, NULL,
     "Smallest Allreduce, Allgather(v) or Bcast on devices, in bytes of the whole vector, whose "
     "results kernels write straight into the other ranks' receive buffers where these can be "
     "mapped, 0..2147483647 (default 1048576); -1: none. Memory that was used so stays mapped: "
     "when the application frees it, the device may get it back only when a communicator is freed "
     "or other buffers have taken its place"},
    {"device_pool_mib", USER, GR_KIND_INT, -1, 512, 1, 1 << 20, &gr_process.device_pool_mib,
     "MiB of device memory that a process uses for links at most on each device (default 512); "
     "calls for whose links it does not suffice go through host memory"},
    {"stage_bytes", TUNER, GR_KIND_INT, GR_PARAM_STAGE_BYTES, 512 << 10, 0, 1 << 30, NULL,
     "Bytes of a piece of device memory that is copied while others are worked on, where the host "
     "does a call, 0..1073741824 (default 524288); calls, and messages of calls, of less than two "
     "pieces are copied whole. 0: all are"},
    {"timeout", USER, GR_KIND_INT, -1, 60, 0, INT_MAX, &gr_process.timeout,
     "Seconds of waiting without progress after which a rank says what it waits for, and again "
     "each time as long; 0: never (default 60)"},
    {"timeout_abort", USER, GR_KIND_INT, -1, 0, 0, 1, &gr_process.timeout_abort,
     "1: abort the job after the first such report; 0 (default): keep waiting"},
    {"progress_thread", USER, GR_KIND_INT, -1, -1, -1, 1, &gr_process.progress_thread,
     "1: a thread in each process moves nonblocking and persistent collectives on while the "
     "application computes; 0: they go on in MPI calls only; -1 (default): a thread where they are "
     "on device memory"},
    {"pool_mib", USER, GR_KIND_INT, -1, 256, 1, 1 << 20, &gr_process.pool_mib,
     "MiB of shared memory that a process uses for links at most (default 256); communicators for "
     "which it does not suffice are left to the other components"},
    {"report", USER, GR_KIND_REPORT, -1, 0, 0, 0, NULL,
     "Table of what this job's collectives achieved, at its end, from rank 0's view: none "
     "(default), summary, or json:FILE"},
    {"verbose", USER, GR_KIND_INT, -1, 0, 0, 2, &gr_process.verbose,
     "0 (default): errors only; 1: whether each communicator is taken; 2: also the choice for each "
     "call, or why it is left to other components"},
};

_Static_assert(GR_PARAM_ROWS ==
                   sizeof(mca_coll_gpuring_param_rows) / sizeof(mca_coll_gpuring_param_rows[0]),
               "rows");
