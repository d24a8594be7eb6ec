/* SPDX-License-Identifier: BSD-3-Clause */
/* Device buffers in a process that loaded the CUDA driver only after MPI_Init: they are staged. */
#ifndef GR_MPI_LATE_DRIVER_H
#define GR_MPI_LATE_DRIVER_H

#include "mpi/ompi.h"

#include "mpi/call.h"
#include "mpi/module.h"

BEGIN_C_DECLS

/*
 * For calls that gpuring takes on a communicator whose ranks expected no device buffers: whether
 * this one has some all the same, in *device, and wait_default_stream() for them. Says so once.
 * OMPI error code.
 */
int mca_coll_gpuring_late_look(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               bool *device);

/* The same; buffers of the last call without a driver need not be looked at again. */
static inline int mca_coll_gpuring_late_buffers(mca_coll_gpuring_module_t *module,
                                                const struct gr_call *call, bool *device)
{
    bool known = module->hosts[0] == call->sbuf && module->hosts[1] == call->rbuf;

    *device = false;
    return known ? OMPI_SUCCESS : mca_coll_gpuring_late_look(module, call, device);
}

/*
 * For calls that gpuring does not take, in a process that expected no device buffers: call the saved
 * function, staged where a driver has been loaded since. OMPI error code.
 */
int mca_coll_gpuring_late_call(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               const struct gr_form *form);

END_C_DECLS

#endif
