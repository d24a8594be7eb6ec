/* SPDX-License-Identifier: BSD-3-Clause */
/* Device buffers in a process that loaded the CUDA driver only after MPI_Init: they are staged. */
#ifndef GR_MPI_LATE_DRIVER_H
#define GR_MPI_LATE_DRIVER_H

#include "mpi/ompi.h"

#include "mpi/call.h"
#include "mpi/module.h"

BEGIN_C_DECLS

/*
 * For calls that gpuring takes on a communicator whose ranks expected no device buffers. Sets
 * *device if this call has some all the same, waits for their default streams as
 * mca_coll_gpuring_classify_buffers() does, and reports it once. OMPI error code.
 */
int mca_coll_gpuring_late_classify(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                   bool *device);

/* The same, but for the buffers of the last call without a driver: they are host memory. */
static inline int mca_coll_gpuring_late_buffers(mca_coll_gpuring_module_t *module,
                                                const struct gr_call *call, bool *device)
{
    bool known = module->hosts[0] == call->sbuf && module->hosts[1] == call->rbuf;

    *device = false;
    return known ? OMPI_SUCCESS : mca_coll_gpuring_late_classify(module, call, device);
}

/*
 * For calls that gpuring does not take, in a process that expected no device buffers: call the
 * saved function, staged if a driver has been loaded since. OMPI error code.
 */
int mca_coll_gpuring_late_call(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               const struct gr_form *form);

END_C_DECLS

#endif
