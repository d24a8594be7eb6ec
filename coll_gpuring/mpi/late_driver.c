/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on device buffers in a process that loaded the CUDA driver only after MPI_Init. */
#include "mpi/late_driver.h"

#include "engine/devices.h"
#include "engine/log.h"
#include "mpi/buffer_desc.h"
#include "mpi/runtime.h"

#include "cuda/pointer.h"

/* Whether a side of a call has its data in device memory that the host cannot use. */
static bool lies_on_device(const struct gr_buffer_desc *s)
{
    return GR_MEMORY_DEVICE == mca_coll_gpuring_pointer(mca_coll_gpuring_buffer_first(s)).memory;
}

int mca_coll_gpuring_gpu_late(mca_coll_gpuring_module_t *module, const struct gr_call *call)
{
    static atomic_bool said;
    struct gr_buffer_desc send = mca_coll_gpuring_buffer_desc(call, false),
                          receive = mca_coll_gpuring_buffer_desc(call, true);

    if (!mca_coll_gpuring_gpu_loaded()) {
        module->hosts[0] = call->sbuf;
        module->hosts[1] = call->rbuf;
        return OMPI_SUCCESS;
    }
    if (!lies_on_device(&send) && !lies_on_device(&receive)) {
        return OMPI_SUCCESS;
    }
    if (!atomic_exchange(&said, true)) {
        mca_coll_gpuring_warn("gpu-late", gr_calls[call->id].name, ompi_comm_rank(call->comm),
                              gr_ompi_name(call->comm));
    }
    return MPI_ERR_BUFFER;
}
