/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's queues: made at the first call that needs one. */
#ifndef GR_ENGINE_COMM_QUEUES_H
#define GR_ENGINE_COMM_QUEUES_H

#include "mpi/ompi.h"

#include "mpi/module.h"
#include "mpi/params.h"

#include "exec/stepper.h"

BEGIN_C_DECLS

struct gr_op_queue;

/* Channels at most where ranks are on several nodes: each rail has the same number of them. */
static inline uint32_t gr_nodes_channels(const mca_coll_gpuring_module_t *module)
{
    uint32_t n = (uint32_t) module->params.value[GR_PARAM_NODES_CHANNELS],
             rails = (uint32_t) module->rails;
    uint32_t each = (n + rails - 1) / rails, most = GR_MAX_CHANNELS / rails;

    return rails * (each < most ? each : most);
}

/* Channels of links between devices, at most. */
static inline uint32_t gr_device_channels(const mca_coll_gpuring_module_t *module)
{
    return NULL != module->remote ? gr_nodes_channels(module)
                                  : (uint32_t) module->params.value[GR_PARAM_DEVICE_CHANNELS];
}

/*
 * A queue for the communicator, which must outlive it. box_bytes: of the largest post to mailboxes.
 * NULL: no memory.
 */
struct gr_op_queue *mca_coll_gpuring_queue_new(mca_coll_gpuring_module_t *module,
                                               struct ompi_communicator_t *comm, uint32_t nsets,
                                               size_t box_bytes);

/*
 * The module's queue for calls of that order. make: the caller has module->making, OMPI error code;
 * of: makes it at the first of them, the module has decided, NULL: no memory.
 */
int mca_coll_gpuring_queue_make(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                enum gr_call_order order);
struct gr_op_queue *mca_coll_gpuring_queue_of(mca_coll_gpuring_module_t *module,
                                              struct ompi_communicator_t *comm,
                                              enum gr_call_order order);

END_C_DECLS

#endif
