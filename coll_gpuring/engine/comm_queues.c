/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of a communicator are made here, at the first call that needs one. */
#include "engine/comm_queues.h"

#include "engine/call_agreement.h"
#include "engine/lock.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/comm.h"
#include "engine/params.h"

#include "base/errors.h"
#include "exec/mailbox.h"
#include "link/team.h"
#include "timing/sync_port.h"
#include "timing/timer.h"

#include <stdlib.h>

/*
 * Between nodes a writer learns by messages that it may go on, which take as long as small messages
 * themselves.
 */
static bool needs_small(const struct gr_comm *comm)
{
    const int64_t *value = comm->params.value;

    return NULL != comm->remote && value[GR_PARAM_SLOTS] < GR_SMALL_SLOTS &&
           value[GR_PARAM_SLOT_BYTES] > GR_SMALL_BYTES;
}

struct gr_op_queue *mca_coll_gpuring_queue_new(struct gr_comm *comm, uint32_t nsets,
                                               size_t mailbox_bytes)
{
    const int64_t *value = comm->params.value;
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
        .small_slots = needs_small(comm) ? GR_SMALL_SLOTS : 0,
        .small_bytes = GR_SMALL_BYTES,
        .note_slots = GR_SYNC_NONE == value[GR_PARAM_STEP_SYNC] ? 0 : GR_NOTE_SLOTS,
        .note_bytes = GR_NOTE_BYTES,
        .torus = comm->torus,
        .pids = comm->pids,
        .remote = comm->remote,
        .order = comm->order,
        .direct = comm->direct,
    };
    struct gr_op_queue *queue = calloc(1, sizeof(*queue));

    if (NULL == queue) {
        return NULL;
    }
    queue->team = gr_team_create(&params);
    if (NULL == queue->team) {
        free(queue);
        return NULL;
    }
    queue->comm = comm;
    queue->tail = &queue->head;
    return queue;
}

int mca_coll_gpuring_queue_make(struct gr_comm *comm, enum gr_call_order order)
{
    struct gr_op_queue *queue;

    if (NULL != comm->queues[order]) {
        return 0;
    }
    if (GR_ORDER_NONBLOCKING == order && 0 != mca_coll_gpuring_queues_open(comm->process)) {
        return GR_ERR_NOMEM;
    }
    queue = mca_coll_gpuring_queue_new(comm, GR_SETS,
                                       (size_t) comm->params.value[GR_PARAM_MAILBOX_BYTES]);
    if (NULL == queue) {
        return GR_ERR_NOMEM;
    }
    queue->order = order;
    comm->queues[order] = queue;
    return 0;
}

struct gr_op_queue *mca_coll_gpuring_queue_of(struct gr_comm *comm, enum gr_call_order order)
{
    gr_lock(&comm->making);
    (void) mca_coll_gpuring_queue_make(comm, order);
    gr_unlock(&comm->making);
    return comm->queues[order];
}
