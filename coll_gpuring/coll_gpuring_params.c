/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MCA parameters: one table that registers, checks and describes them all.
 *
 * A bad value gives one message that names the parameter, the value and the allowed values; then the
 * documented default is used.
 */
#include "coll_gpuring.h"

#include "timing/timer.h"

#include "opal/mca/base/mca_base_var.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_INT, KIND_ALGORITHM, KIND_PROTOCOL, KIND_TORUS, KIND_SYNC, KIND_TRANSPORT, KIND_REPORT };

struct param_row {
    const char *name;
    enum kind kind;
    int shared;        /* an enum gr_shared_param, or -1: may differ between ranks */
    int def, min, max; /* KIND_INT */
    int *local;        /* KIND_INT, not shared: where the checked value goes */
    const char *help;
};

static int timeout_abort;

#define ALGORITHM_HELP(what, names) \
    "Algorithm of " what ": " names ", or auto (default): as coll_gpuring_algorithm says"

static const struct param_row rows[] = {
    {"priority", KIND_INT, GR_PARAM_PRIORITY, 90, 0, 100, &mca_coll_gpuring_component.priority,
     "Priority of the component, 0..100 (default 90); 0: not selected. Communicators whose ranks differ in it are "
     "left to the other components"},
    {"host", KIND_INT, GR_PARAM_HOST, 0, 0, 1, NULL,
     "1: take collectives on buffers in host memory too; 0 (default): leave them to the other components"},
    {"algorithm", KIND_ALGORITHM, GR_PARAM_COMMON, 0, 0, 0, NULL,
     "Algorithm of all collectives: auto (cost model; default), ring, chain, tree, flat, oneshot, twoshot, pairwise, "
     "bucket, swing, mst, ordered, suh-shin, two-level, node-tree, doubling or mailbox. A collective without a schedule for it "
     "stays at auto, and so do messages that are too large for mailboxes, oneshot on more than 9 ranks, and bucket, swing, mst, "
     "ordered, suh-shin, two-level and node-tree where no torus is known or the algorithm does not suit it"},
    {"algorithm_allreduce", KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_ALLREDUCE, 0, 0, 0, NULL,
     ALGORITHM_HELP("Allreduce", "ring tree flat oneshot twoshot bucket swing two-level node-tree doubling mailbox")},
    {"algorithm_allgather", KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_ALLGATHER, 0, 0, 0, NULL,
     ALGORITHM_HELP("Allgather and Allgatherv", "ring flat bucket two-level doubling mailbox")},
    {"algorithm_reduce_scatter", KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_REDUCE_SCATTER, 0, 0, 0, NULL,
     ALGORITHM_HELP("Reduce_scatter and Reduce_scatter_block", "ring flat bucket two-level doubling mailbox")},
    {"algorithm_bcast", KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_BCAST, 0, 0, 0, NULL,
     ALGORITHM_HELP("Bcast", "chain tree flat mst two-level node-tree mailbox")},
    {"algorithm_reduce", KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_REDUCE, 0, 0, 0, NULL,
     ALGORITHM_HELP("Reduce", "chain tree flat mst two-level node-tree mailbox")},
    {"algorithm_alltoall", KIND_ALGORITHM, GR_PARAM_ALGORITHM + GR_COLL_ALLTOALL, 0, 0, 0, NULL,
     ALGORITHM_HELP("Alltoall", "pairwise ordered suh-shin")},
    {"channels", KIND_INT, GR_PARAM_CHANNELS, 1, 1, GR_MAX_CHANNELS, NULL,
     "Channels at most, 1..16 (default 1): each has links of its own; large messages use more of them"},
    {"slots", KIND_INT, GR_PARAM_SLOTS, 4, GR_MIN_SLOTS, GR_MAX_SLOTS, NULL,
     "Slots per link, 2..64 (default 4): messages that may be on their way at a time"},
    {"slot_bytes", KIND_INT, GR_PARAM_SLOT_BYTES, 65536, 256, 1 << 26, NULL,
     "Bytes per slot, a multiple of 64 from 256 to 67108864 (default 65536); a link takes slots x slot_bytes of "
     "shared memory at its reader"},
    {"mailbox_bytes", KIND_INT, GR_PARAM_MAILBOX_BYTES, 32768, 0, 1 << 20, NULL,
     "Messages up to that many bytes per rank may go through mailboxes, 0..1048576 (default 32768); a communicator "
     "takes 8 times as much shared memory for them in each of its processes. 0: no mailboxes"},
    {"single_copy", KIND_INT, GR_PARAM_SINGLE_COPY, 1, 0, 1, NULL,
     "1 (default): fetch large messages straight from their sender's memory (process_vm_readv), where the kernel "
     "allows it between all ranks of a communicator; 0: copy them through shared memory"},
    {"nodes", KIND_INT, GR_PARAM_NODES, -1, -1, 1, NULL,
     "Communicators whose ranks are on several nodes. 1: take them; 0: leave them to the other components; -1 (default): take "
     "them where no rank looks for buffers in device memory (coll_gpuring_cuda)"},
    {"nodes_transport", KIND_TRANSPORT, -1, -1, 0, 0, &mca_coll_gpuring_component.transport,
     "What links between nodes go over: ucx (UCX, by the module gpuring_net_ucx.so), pml (Open MPI's point-to-point "
     "messages), or auto (default): UCX where it can be loaded. It must be the same on all nodes"},
    {"nodes_direct", KIND_INT, -1, 1, 0, 1, &mca_coll_gpuring_component.direct,
     "1 (default): slots of links between devices of different nodes lie in device memory, where UCX and the driver allow it "
     "(GPUDirect RDMA); 0: in pinned host memory"},
    {"nodes_channels", KIND_INT, GR_PARAM_NODES_CHANNELS, 4, 1, GR_MAX_CHANNELS, NULL,
     "coll_gpuring_channels and _device_channels of communicators whose ranks are on several nodes, 1..16 (default 4)"},
    {"nodes_rails", KIND_INT, GR_PARAM_NODES_RAILS, 1, 0, 8, NULL,
     "Network devices of a node (rails) that its links are spread over, with UCX, 1..8 (default 1: UCX chooses as it does); "
     "there must be as many of one kind and speed on all nodes, else fewer are used. 0: as many as there are"},
    {"nodes_latency", KIND_INT, GR_PARAM_NODES_LATENCY, 20, 1, 1000000, NULL,
     "Microseconds that a short message takes between nodes, for the cost model, 1..1000000 (default 20)"},
    {"nodes_mbit", KIND_INT, GR_PARAM_NODES_MBIT, 10000, 1, 10000000, NULL,
     "Mbit/s between a node and all others, each way, over all its rails, for the cost model, 1..10000000 (default 10000)"},
    {"nodes_zero_copy", KIND_INT, -1, 4096, -1, INT_MAX, &mca_coll_gpuring_component.nodes_zero_copy,
     "Smallest message in host memory, in bytes, that UCX sends to another node straight from the buffer in which it lies in "
     "one piece, 0..2147483647 (default 4096); others are copied into a slot first. -1: all are"},
    {"torus", KIND_TORUS, GR_PARAM_TORUS, 0, 0, 0, NULL,
     "Extents of the torus that MPI_COMM_WORLD's ranks form, as 4x4x2 (rank = x + 4 (y + 4 z)); rings of "
     "communicators of that many ranks run along it, and so do the algorithms for tori. Empty (default): none. A "
     "communicator's info key gpuring_torus, or its Cartesian topology, comes before it"},
    {"step_sync", KIND_SYNC, GR_PARAM_STEP_SYNC, 0, 0, 0, NULL,
     "When the steps of calls begin: none (default): as soon as they can; start: all ranks begin the call at one instant; "
     "barrier: and each tick of its steps together; timed: and each step (on devices: to other nodes) at its predicted time"},
    {"cuda", KIND_INT, -1, -1, -1, 1, &mca_coll_gpuring_component.cuda,
     "1: look for buffers in device memory; 0: never; -1 (default): where this process has loaded the CUDA driver "
     "before MPI_Init, or the node has an NVIDIA device file"},
    {"device_channels", KIND_INT, GR_PARAM_DEVICE_CHANNELS, 16, 1, GR_GPU_CHANNELS, NULL,
     "Channels at most of calls on devices, 1..32 (default 16): each is a block of a kernel, with links of its own"},
    {"device_slots", KIND_INT, GR_PARAM_DEVICE_SLOTS, 4, GR_MIN_SLOTS, GR_MAX_SLOTS, NULL,
     "Slots per link between devices, 2..64 (default 4)"},
    {"device_slot_bytes", KIND_INT, GR_PARAM_DEVICE_SLOT_BYTES, 131072, 256, 1 << 26, NULL,
     "Bytes per slot between devices, a multiple of 256 from 256 to 67108864 (default 131072); a link takes "
     "device_channels x device_slots x device_slot_bytes of device memory at its reader"},
    {"protocol", KIND_PROTOCOL, GR_PARAM_PROTOCOL, -1, 0, 0, NULL,
     "How messages between devices are written: auto (cost model; default), simple, ll (4 bytes of flag with each 4 of "
     "data) or ll128 (8 with each 120). ll128 is taken only where all ranks have devices of their own that NVLink "
     "joins; elsewhere it is as auto"},
    {"zero_copy", KIND_INT, GR_PARAM_ZERO_COPY, 1 << 20, -1, INT_MAX, NULL,
     "Smallest Allreduce, Allgather(v) or Bcast on devices, in bytes of the whole vector, whose results kernels write "
     "straight into the other ranks' receive buffers where these can be mapped, 0..2147483647 (default 1048576); -1: "
     "none. Memory that was used so stays mapped: when the application frees it, the device may get it back only when "
     "a communicator is freed or other buffers have taken its place"},
    {"device_pool_mib", KIND_INT, -1, 512, 1, 1 << 20, &mca_coll_gpuring_component.device_pool_mib,
     "MiB of device memory that a process uses for links at most on each device (default 512); calls for whose links "
     "it does not suffice go through host memory"},
    {"stage_bytes", KIND_INT, GR_PARAM_STAGE_BYTES, 512 << 10, 0, 1 << 30, NULL,
     "Bytes of a piece of device memory that is copied while others are worked on, where the host does a call, 0..1073741824 "
     "(default 524288); calls, and messages of calls, of less than two pieces are copied whole. 0: all are"},
    {"timeout", KIND_INT, -1, 60, 0, INT_MAX, &mca_coll_gpuring_component.timeout,
     "Seconds of waiting without progress after which a rank says what it waits for, and again each time as long; "
     "0: never (default 60)"},
    {"timeout_abort", KIND_INT, -1, 0, 0, 1, &timeout_abort,
     "1: abort the job after the first such report; 0 (default): keep waiting"},
    {"progress_thread", KIND_INT, -1, -1, -1, 1, &mca_coll_gpuring_component.progress_thread,
     "1: a thread in each process moves nonblocking and persistent collectives on while the application computes; "
     "0: they go on in MPI calls only; -1 (default): a thread where they are on device memory"},
    {"pool_mib", KIND_INT, -1, 256, 1, 1 << 20, &mca_coll_gpuring_component.pool_mib,
     "MiB of shared memory that a process uses for links at most (default 256); communicators for which it does "
     "not suffice are left to the other components"},
    {"report", KIND_REPORT, -1, 0, 0, 0, NULL,
     "Table of what this job's collectives achieved, at its end, from rank 0's view: none (default), summary, or "
     "json:FILE"},
    {"verbose", KIND_INT, -1, 0, 0, 2, &mca_coll_gpuring_component.verbose,
     "0 (default): errors only; 1: whether each communicator is taken; 2: also the choice for each call, or why it is "
     "handed on"},
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* What was registered, by row; the variable system writes here. */
static union {
    int number;
    char *text;
} raw[NROWS];

static const char *const text_default[] = {[KIND_ALGORITHM] = "auto", [KIND_PROTOCOL] = "auto", [KIND_TORUS] = "",
                                           [KIND_SYNC] = "none", [KIND_TRANSPORT] = "auto", [KIND_REPORT] = "none"};

/* GR_NWAYS when there is none of that name. */
static int find_way(const char *name)
{
    int w;

    for (w = 0; w < GR_NWAYS && 0 != strcmp(name, gr_way_name(w)); w++) {
    }
    return w;
}

/* Whether the parameter of all collectives, or of one, may say so. */
static bool way_is_allowed(int param, int way)
{
    if (GR_PARAM_COMMON == param) {
        return true;
    }
    return GR_WAY_MAILBOX == way
               ? GR_PARAM_ALGORITHM + GR_COLL_ALLTOALL != param
               : gr_algo_has((enum gr_algo) way, (enum gr_coll) (param - GR_PARAM_ALGORITHM));
}

int mca_coll_gpuring_params_register(void)
{
    mca_base_component_t *component = (mca_base_component_t *) &mca_coll_gpuring_component.super.collm_version;
    size_t k;
    int rc;

    for (k = 0; k < NROWS; k++) {
        bool number = KIND_INT == rows[k].kind;

        if (number) {
            raw[k].number = rows[k].def;
        } else {
            raw[k].text = (char *) text_default[rows[k].kind];
        }
        rc = mca_base_component_var_register(component, rows[k].name, rows[k].help,
                                             number ? MCA_BASE_VAR_TYPE_INT : MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
                                             OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY, &raw[k]);
        if (0 > rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

gr_bad_param_t mca_coll_gpuring_bad_param;

/*
 * A bad value is usually bad on all ranks: rank 0 of the job says so. What is bad elsewhere only, the
 * communicator's rank 0 says when it sees that rank's card (peers.c).
 */
static void complain(const struct param_row *row, const char *value, const char *allowed, const char *def)
{
    gr_bad_param_t *bad = &mca_coll_gpuring_bad_param;

    if ('\0' == bad->name[0]) {
        snprintf(bad->name, sizeof(bad->name), "%s", row->name);
        snprintf(bad->value, sizeof(bad->value), "%s", value);
        snprintf(bad->allowed, sizeof(bad->allowed), "%s", allowed);
    }
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        mca_coll_gpuring_tell("bad-parameter", row->name, value, allowed, def);
    }
}

static int64_t check_int(const struct param_row *row, int value)
{
    char given[32], allowed[64], def[32], of[32] = "";
    int multiple = GR_PARAM_SLOT_BYTES == row->shared ? GR_CACHE_LINE
                   : GR_PARAM_DEVICE_SLOT_BYTES == row->shared ? 256 : 1;

    if (value >= row->min && value <= row->max && 0 == value % multiple) {
        return value;
    }
    if (multiple > 1) {
        snprintf(of, sizeof(of), ", a multiple of %d", multiple);
    }
    snprintf(given, sizeof(given), "%d", value);
    snprintf(allowed, sizeof(allowed), "%d..%d%s", row->min, row->max, of);
    snprintf(def, sizeof(def), "%d", row->def);
    complain(row, given, allowed, def);
    return row->def;
}

static int64_t check_algorithm(const struct param_row *row, const char *text)
{
    char allowed[128] = "auto";
    int way = find_way(text), w;

    if (0 == strcmp(text, "auto")) {
        return -1;
    }
    if (GR_NWAYS != way && way_is_allowed(row->shared, way)) {
        return way;
    }
    for (w = 0; w < GR_NWAYS; w++) {
        if (way_is_allowed(row->shared, w)) {
            strcat(strcat(allowed, " "), gr_way_name(w));
        }
    }
    complain(row, text, allowed, "auto");
    return -1;
}

static int64_t check_torus(const struct param_row *row, const char *text)
{
    struct gr_torus torus = {.ndims = 0};
    bool good = 0 == gr_torus_parse(text, &torus);
    int64_t packed = 0;
    int d;

    for (d = torus.ndims - 1; good && d >= 0; d--) {
        good = torus.dims[d] <= INT16_MAX;
        packed = packed << 16 | torus.dims[d];
    }
    if (!good) {
        complain(row, text, "1 to 4 extents from 1 to 32767, as in 4x4x2", "no torus");
        return 0;
    }
    return packed;
}

/* Parameters that are one of some words; their default is a word of its own, or one of these. */
static const struct {
    const char *(*name)(int value);
    int n;
    const char *allowed;
} words[] = {
    [KIND_PROTOCOL] = {gr_protocol_name, GR_NPROTOCOLS, "auto simple ll ll128"},
    [KIND_SYNC] = {mca_coll_gpuring_sync_name, GR_NSYNCS, "none start barrier timed"},
    [KIND_TRANSPORT] = {mca_coll_gpuring_transport_name, GR_NTRANSPORTS, "auto ucx pml"},
};

static int64_t check_word(const struct param_row *row, const char *text)
{
    int k;

    for (k = 0; k < words[row->kind].n; k++) {
        if (0 == strcmp(text, words[row->kind].name(k))) {
            return k;
        }
    }
    if (0 != strcmp(text, text_default[row->kind])) {
        complain(row, text, words[row->kind].allowed, text_default[row->kind]);
    }
    return row->def;
}

/* A copy: the variable system frees its own before the component is closed. */
static char *check_report(const struct param_row *row, const char *text)
{
    if (0 == strcmp(text, "none") || 0 == strcmp(text, "summary") || (0 == strncmp(text, "json:", 5) && text[5])) {
        return strdup(text);
    }
    complain(row, text, "none summary json:FILE", "none");
    return strdup("none");
}

void mca_coll_gpuring_params_check(void)
{
    gr_params_t *p = &mca_coll_gpuring_component.params;
    int64_t common = -1, value = 0;
    size_t k;

    for (k = 0; k < NROWS; k++) {
        const struct param_row *row = &rows[k];
        const char *text = KIND_INT == row->kind || NULL == raw[k].text ? "" : raw[k].text;

        switch (row->kind) {
        case KIND_INT:
            value = check_int(row, raw[k].number);
            break;
        case KIND_ALGORITHM:
            value = check_algorithm(row, text);
            break;
        case KIND_PROTOCOL:
        case KIND_SYNC:
        case KIND_TRANSPORT:
            value = check_word(row, text);
            break;
        case KIND_TORUS:
            value = check_torus(row, text);
            break;
        case KIND_REPORT:
            free(mca_coll_gpuring_component.report);
            mca_coll_gpuring_component.report = check_report(row, text);
            break;
        }
        if (NULL != row->local) {
            *row->local = (int) value;
        }
        if (GR_PARAM_COMMON == row->shared) {
            common = value; /* the rows of the collectives follow */
        } else if (KIND_ALGORITHM == row->kind && value < 0 && common >= 0 &&
                   way_is_allowed(row->shared, (int) common)) {
            value = common;
        }
        if (row->shared >= 0) {
            p->value[row->shared] = value;
        }
    }
    mca_coll_gpuring_component.timeout_abort = 0 != timeout_abort;
}

/* The row that describes a shared parameter; each has one. */
static const struct param_row *shared_row(int param)
{
    const struct param_row *row = rows;

    while (row->shared != param) {
        row++;
    }
    return row;
}

const char *mca_coll_gpuring_param_name(int param)
{
    return shared_row(param)->name;
}

int64_t mca_coll_gpuring_param_default(int param)
{
    return param >= GR_PARAM_COMMON ? -1 : shared_row(param)->def;
}

const char *mca_coll_gpuring_param_text(int param, int64_t value, char *buf, size_t size)
{
    struct gr_torus torus;
    size_t used = 0;
    int d;

    if (param >= GR_PARAM_COMMON) {
        snprintf(buf, size, "%s", value < 0 ? "auto" : gr_way_name((int) value));
    } else if (GR_PARAM_PROTOCOL == param) {
        snprintf(buf, size, "%s", value < 0 ? "auto" : gr_protocol_name((int) value));
    } else if (GR_PARAM_STEP_SYNC == param) {
        snprintf(buf, size, "%s", mca_coll_gpuring_sync_name((int) value));
    } else if (GR_PARAM_TORUS == param) {
        torus = mca_coll_gpuring_param_torus(value);
        snprintf(buf, size, "none");
        for (d = 0; d < torus.ndims && used < size; d++) {
            used += (size_t) snprintf(buf + used, size - used, "%s%d", d > 0 ? "x" : "", torus.dims[d]);
        }
    } else {
        snprintf(buf, size, "%lld", (long long) value);
    }
    return buf;
}
