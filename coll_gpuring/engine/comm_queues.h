/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of a communicator, which the first call that needs one makes. */
#ifndef GR_ENGINE_COMM_QUEUES_H
#define GR_ENGINE_COMM_QUEUES_H

#include "mpi/ompi.h"

#include "mpi/module.h"
#include "engine/params.h"

#include "exec/stepper.h"

BEGIN_C_DECLS

struct gr_op_queue;

/* Most channels between nodes: the same number on each rail. */
static inline uint32_t gr_nodes_channels(const mca_coll_gpuring_module_t *module)
{
    uint32_t n = (uint32_t) module->params.value[GR_PARAM_NODES_CHANNELS],
             rails = (uint32_t) module->rails;
    uint32_t each = (n + rails - 1) / rails, most = GR_MAX_CHANNELS / rails;

    return rails * (each < most ? each : most);
}

/* Most channels between devices. */
static inline uint32_t gr_device_channels(const mca_coll_gpuring_module_t *module)
{
    return NULL != module->remote ? gr_nodes_channels(module)
                                  : (uint32_t) module->params.value[GR_PARAM_DEVICE_CHANNELS];
}

/*
 * A queue without links. The communicator must outlive it. nsets: sets of its boards; box_bytes:
 * largest post to a mailbox. NULL: no memory.
 */
struct gr_op_queue *mca_coll_gpuring_queue_new(mca_coll_gpuring_module_t *module,
                                               struct ompi_communicator_t *comm, uint32_t nsets,
                                               size_t box_bytes);

/*
 * The module's queue for calls of an order. make: makes it unless it is there; the caller holds
 * module->making; OMPI error code. of: the module has decided; NULL: no memory.
 */
int mca_coll_gpuring_queue_make(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                enum gr_call_order order);
struct gr_op_queue *mca_coll_gpuring_queue_of(mca_coll_gpuring_module_t *module,
                                              struct ompi_communicator_t *comm,
                                              enum gr_call_order order);

END_C_DECLS

#endif
