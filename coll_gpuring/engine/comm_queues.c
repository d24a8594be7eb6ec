/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators and their queues (op_queue.h). */

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/devices.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"
#include "exec/op.h"

#include "base/errors.h"
#include "base/memory.h"
#include "exec/gpu/leader.h"
#include "link/fifo.h"
#include "link/public.h"
#include "link/team.h"
#include "timing/port.h"
#include "timing/timer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shortest slot worth a link, in bytes. */
#define GR_COMPACT_LEAST 256

/* Slots of the links for small messages: their number and size; 0: there are no such links. */
struct small_links {
    uint32_t slots;
    size_t bytes;
};

/*
 * Among many ranks of a node links between all of them would need more than a set-up may
 * (engine/setup_bound.c): smaller slots, with which they need a quarter of that.
 */
static struct small_links compact_links(const struct gr_comm *comm)
{
    const int64_t *value = comm->params.value;
    uint32_t slots = (uint32_t) value[GR_PARAM_SLOTS];
    size_t bound = (size_t) value[GR_PARAM_SETUP_MIB] << 20, links = (size_t) comm->size - 1, room;

    if (gr_link_bytes(slots, (size_t) value[GR_PARAM_SLOT_BYTES]) * links <= bound) {
        return (struct small_links) {0, 0};
    }
    room = bound / 4 / links;
    room = room < gr_link_bytes(0, 0) ? 0 : (room - gr_link_bytes(0, 0)) / slots;
    room = room / GR_CACHE_LINE * GR_CACHE_LINE;
    return room < GR_COMPACT_LEAST ? (struct small_links) {0, 0}
                                   : (struct small_links) {slots, room};
}

/*
 * Between nodes a writer learns by messages that it may go on, which take as long as small messages
 * themselves: more slots, unless there are as many.
 */
static struct small_links small_links(const struct gr_comm *comm)
{
    const int64_t *value = comm->params.value;

    if (NULL == comm->remote) {
        return compact_links(comm);
    }
    return value[GR_PARAM_SLOTS] < GR_SMALL_SLOTS && value[GR_PARAM_SLOT_BYTES] > GR_SMALL_BYTES
               ? (struct small_links) {GR_SMALL_SLOTS, GR_SMALL_BYTES}
               : (struct small_links) {0, 0};
}

/* A record of the process's page for a queue. NULL: no memory. */
static struct gr_public_queue *shown_of(const struct gr_comm *comm, enum gr_public_kind kind)
{
    struct gr_public_page *page = gr_process_page(comm->process);
    struct gr_public_comm shown = {
        /* the key is one job's */
        .members = comm->key.members ^ gr_runtime_self().job * UINT64_C(0x9e3779b97f4a7c15),
        .id = comm->id,
        .count = comm->key.count,
        .rank = comm->rank,
        .size = comm->size,
    };

    snprintf(shown.name, sizeof(shown.name), "%s", gr_comm_name(comm));
    return NULL == page ? NULL : gr_public_take(page, kind, &shown);
}

struct gr_op_queue *gr_queue_new(struct gr_comm *comm, enum gr_public_kind kind, uint32_t nsets,
                                 size_t mailbox_bytes)
{
    const int64_t *value = comm->params.value;
    struct small_links small = small_links(comm);
    struct gr_team_params params = {
        .p = comm->size,
        .rank = comm->rank,
        .nchannels =
            NULL != comm->remote ? gr_nodes_channels(comm) : (uint32_t) value[GR_PARAM_CHANNELS],
        .nslots = (uint32_t) value[GR_PARAM_SLOTS],
        .slot_bytes = (size_t) value[GR_PARAM_SLOT_BYTES],
        .nsets = nsets,
        .mailbox_bytes = mailbox_bytes,
        .record_bytes = sizeof(struct gr_call_record),
        .leader_bytes = comm->gpu && gr_leader_fits(comm->size) && NULL == comm->remote
                            ? gr_leader_board_bytes(comm->size)
                            : 0,
        .small_slots = small.slots,
        .small_bytes = small.bytes,
        .note_slots = GR_SYNC_NONE == value[GR_PARAM_STEP_SYNC] ? 0 : GR_NOTE_SLOTS,
        .note_bytes = GR_NOTE_BYTES,
        .torus = comm->torus,
        .pids = comm->pids,
        .remote = comm->remote,
        .order = comm->order,
        .direct = comm->direct,
    };
    struct gr_op_queue *queue = gr_calloc(1, sizeof(*queue));

    if (NULL == queue) {
        return NULL;
    }
    queue->team = gr_team_create(&params);
    queue->shown = NULL == queue->team ? NULL : shown_of(comm, kind);
    if (NULL == queue->shown) {
        gr_team_destroy(queue->team, NULL);
        free(queue);
        return NULL;
    }
    queue->comm = comm;
    queue->tail = &queue->head;
    return queue;
}

int gr_queue_make(struct gr_comm *comm, enum gr_call_order order)
{
    struct gr_op_queue *queue;

    if (NULL != comm->queues[order]) {
        return 0;
    }
    queue = gr_queue_new(comm, GR_PUBLIC_BLOCKING + order, GR_SETS,
                         (size_t) comm->params.value[GR_PARAM_MAILBOX_BYTES]);
    if (NULL == queue) {
        return GR_ERR_NOMEM;
    }
    queue->order = order;
    comm->queues[order] = queue;
    return 0;
}

struct gr_op_queue *gr_queue_of(struct gr_comm *comm, enum gr_call_order order)
{
    gr_lock(&comm->making);
    (void) gr_queue_make(comm, order);
    gr_unlock(&comm->making);
    return comm->queues[order];
}

void gr_comm_init(struct gr_comm *comm, struct gr_process *process)
{
    memset(comm, 0, sizeof(*comm));
    comm->process = process;
    comm->rails = 1;
}

/* Never communicates: peers may be late, or gone. */
void gr_comm_free(struct gr_comm *comm)
{
    bool device = false;
    int k;

    gr_failure_delist(comm);
    for (k = 0; k < GR_NORDERS; k++) {
        device = device || (NULL != comm->queues[k] && NULL != comm->queues[k]->gpu);
        gr_queue_free(comm->queues[k]);
    }
    if (device) {
        gr_gpus_trim();
    }
    free(comm->pids);
    free(comm->remote);
    free(comm->order);
}
