/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on device buffers in a process that loaded the CUDA driver only after MPI_Init. */
#ifndef GR_MPI_LATE_DRIVER_H
#define GR_MPI_LATE_DRIVER_H

#include "mpi/ompi.h"

#include "mpi/call.h"
#include "mpi/module.h"

BEGIN_C_DECLS

/*
 * For communicators on which no rank may have buffers on a device: MPI_ERR_BUFFER, reported once,
 * where the call has one all the same, since the driver was loaded after MPI_Init; else 0. Buffers
 * that gr_is_known_host() knows need not be looked at.
 */
int mca_coll_gpuring_gpu_late(mca_coll_gpuring_module_t *module, const struct gr_call *call);

static inline bool gr_is_known_host(const mca_coll_gpuring_module_t *module,
                                    const struct gr_call *call)
{
    return module->hosts[0] == call->sbuf && module->hosts[1] == call->rbuf;
}

END_C_DECLS

#endif
