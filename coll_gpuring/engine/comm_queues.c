/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of a communicator are made here, at the first call that needs one. */
#include "engine/comm_queues.h"

#include "engine/call_agreement.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "mpi/module.h"
#include "engine/params.h"

#include "exec/mail.h"
#include "link/team.h"
#include "timing/sync_port.h"
#include "timing/timer.h"

#include <stdlib.h>

/*
 * Between nodes a writer learns by messages that it may go on, which take as long as small messages
 * themselves.
 */
static bool needs_small(const mca_coll_gpuring_module_t *module)
{
    const int64_t *value = module->params.value;

    return NULL != module->remote && value[GR_PARAM_SLOTS] < GR_SMALL_SLOTS &&
           value[GR_PARAM_SLOT_BYTES] > GR_SMALL_BYTES;
}

struct gr_op_queue *mca_coll_gpuring_queue_new(mca_coll_gpuring_module_t *module,
                                               struct ompi_communicator_t *comm, uint32_t nsets,
                                               size_t box_bytes)
{
    const int64_t *value = module->params.value;
    struct gr_team_params params = {
        .p = ompi_comm_size(comm),
        .rank = ompi_comm_rank(comm),
        .nchannels = NULL != module->remote ? gr_nodes_channels(module)
                                            : (uint32_t) value[GR_PARAM_CHANNELS],
        .nslots = (uint32_t) value[GR_PARAM_SLOTS],
        .slot_bytes = (size_t) value[GR_PARAM_SLOT_BYTES],
        .nsets = nsets,
        .box_bytes = box_bytes,
        .record_bytes = sizeof(struct gr_call_record),
        .small_slots = needs_small(module) ? GR_SMALL_SLOTS : 0,
        .small_bytes = GR_SMALL_BYTES,
        .note_slots = GR_SYNC_NONE == value[GR_PARAM_STEP_SYNC] ? 0 : GR_NOTE_SLOTS,
        .note_bytes = GR_NOTE_BYTES,
        .torus = module->torus,
        .pids = module->pids,
        .remote = module->remote,
        .order = module->order,
        .direct = module->direct,
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
    queue->module = module;
    queue->comm = comm;
    queue->tail = &queue->head;
    mca_coll_gpuring_op_init(&queue->own);
    return queue;
}

int mca_coll_gpuring_queue_make(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                enum gr_call_order order)
{
    struct gr_op_queue *queue;

    if (NULL != module->queues[order]) {
        return OMPI_SUCCESS;
    }
    if (GR_ORDER_NONBLOCKING == order && OMPI_SUCCESS != mca_coll_gpuring_queues_open()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    queue = mca_coll_gpuring_queue_new(module, comm, GR_SETS,
                                       (size_t) module->params.value[GR_PARAM_MAILBOX_BYTES]);
    if (NULL == queue) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    queue->order = order;
    module->queues[order] = queue;
    return OMPI_SUCCESS;
}

struct gr_op_queue *mca_coll_gpuring_queue_of(mca_coll_gpuring_module_t *module,
                                              struct ompi_communicator_t *comm,
                                              enum gr_call_order order)
{
    gr_lock(&module->making);
    (void) mca_coll_gpuring_queue_make(module, comm, order);
    gr_unlock(&module->making);
    return module->queues[order];
}
