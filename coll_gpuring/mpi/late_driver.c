/* SPDX-License-Identifier: BSD-3-Clause */
/* Device buffers in a process that loaded the CUDA driver only after MPI_Init (late_driver.h). */
#include "mpi/late_driver.h"

#include "engine/devices.h"
#include "engine/log.h"
#include "mpi/fallback.h"
#include "mpi/runtime.h"
#include "mpi/saved.h"
#include "mpi/staging/stage.h"

int mca_coll_gpuring_late_classify(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                   bool *device)
{
    static atomic_bool said;
    int rc;

    if (!mca_coll_gpuring_gpu_loaded()) {
        module->hosts[0] = call->sbuf;
        module->hosts[1] = call->rbuf;
        return OMPI_SUCCESS;
    }
    rc = mca_coll_gpuring_classify_buffers(call, device);
    if (OMPI_SUCCESS == rc && *device && !atomic_exchange(&said, true)) {
        mca_coll_gpuring_warn("gpu-late", gr_calls[call->id].name, ompi_comm_rank(call->comm),
                              gr_ompi_name(call->comm));
    }
    return rc;
}

int mca_coll_gpuring_late_call(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               const struct gr_form *form)
{
    return mca_coll_gpuring_gpu_loaded() ? mca_coll_gpuring_fall_back(module, call, form)
                                         : mca_coll_gpuring_saved_call(module, call, form);
}
