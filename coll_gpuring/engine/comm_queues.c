/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of a communicator are made here, at the first call that needs one. */
#include "engine/comm_queues.h"

#include "engine/call_agreement.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "mpi/module.h"
#include "mpi/params.h"

#include "exec/mail.h"
#include "link/team.h"
#include "timing/sync_port.h"
#include "timing/timer.h"

#include <stdlib.h>

/* Between nodes a writer learns by messages that it may go on, which take as long as small messages themselves. */
static bool needs_small(const mca_coll_gpuring_module_t *module)
{
    const int64_t *value = module->params.value;

    return NULL != module->remote && value[GR_PARAM_SLOTS] < GR_SMALL_SLOTS && value[GR_PARAM_SLOT_BYTES] > GR_SMALL_BYTES;
}

struct gr_lane *mca_coll_gpuring_lane_new(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                          uint32_t nsets, size_t box_bytes)
{
    const int64_t *value = module->params.value;
    struct gr_team_params params = {
        .p = ompi_comm_size(comm),
        .rank = ompi_comm_rank(comm),
        .nchannels = NULL != module->remote ? gr_nodes_channels(module) : (uint32_t) value[GR_PARAM_CHANNELS],
        .nslots = (uint32_t) value[GR_PARAM_SLOTS],
        .slot_bytes = (size_t) value[GR_PARAM_SLOT_BYTES],
        .nsets = nsets,
        .box_bytes = box_bytes,
        .arrival_bytes = sizeof(struct gr_arrival),
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
    struct gr_lane *lane = calloc(1, sizeof(*lane));

    if (NULL == lane) {
        return NULL;
    }
    lane->team = gr_team_create(&params);
    if (NULL == lane->team) {
        free(lane);
        return NULL;
    }
    lane->module = module;
    lane->comm = comm;
    lane->tail = &lane->head;
    mca_coll_gpuring_op_init(&lane->own);
    return lane;
}

int mca_coll_gpuring_lane_make(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                               enum gr_call_order order)
{
    struct gr_lane *lane;

    if (NULL != module->lanes[order]) {
        return OMPI_SUCCESS;
    }
    if (GR_ORDER_NONBLOCKING == order && OMPI_SUCCESS != mca_coll_gpuring_lanes_open()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    lane = mca_coll_gpuring_lane_new(module, comm, GR_SETS, (size_t) module->params.value[GR_PARAM_MAILBOX_BYTES]);
    if (NULL == lane) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    lane->order = order;
    module->lanes[order] = lane;
    return OMPI_SUCCESS;
}

struct gr_lane *mca_coll_gpuring_lane_of(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                         enum gr_call_order order)
{
    gr_lock(&module->making);
    (void) mca_coll_gpuring_lane_make(module, comm, order);
    gr_unlock(&module->making);
    return module->lanes[order];
}
