/* SPDX-License-Identifier: BSD-3-Clause */
/* The decisions of mpi/comm.h. */
#include "mpi/comm.h"

#include "engine/choose.h"
#include "mpi/call.h"
#include "engine/comm_queues.h"
#include "engine/failure_messages.h"
#include "engine/log.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "mpi/comm_torus.h"
#include "mpi/modex.h"
#include "mpi/module.h"
#include "mpi/report.h"

/* Is the communicator taken? The caller has the lock. */
static int decide_now(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
    int rc;

    mca_coll_gpuring_failure_enlist(module, comm);
    rc = mca_coll_gpuring_modex_decide(module, comm);
    if (OMPI_SUCCESS == rc && 0 > module->refused) {
        module->torus = mca_coll_gpuring_torus(comm, &module->params, &module->cluster);
        rc = mca_coll_gpuring_queue_make(module, comm, GR_ORDER_BLOCKING);
        if (OMPI_SUCCESS == rc && NULL != module->remote) {
            module->agreement_choice = mca_coll_gpuring_choose_agreement(module);
        }
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (0 > module->refused && mca_coll_gpuring_failure_decided(module)) {
        /* without it a rank that failed waits longer for this one */
        (void) mca_coll_gpuring_queues_open();
    }
    atomic_store_explicit(&module->decided, true, memory_order_release);
    if (mca_coll_gpuring_should_log(comm, 1)) {
        opal_output(0, "gpuring: %s, %d ranks: %s", gr_comm_name(comm), ompi_comm_size(comm),
                    0 > module->refused ? "taken"
                                        : mca_coll_gpuring_fallback_name(module->refused));
    }
    return OMPI_SUCCESS;
}

int mca_coll_gpuring_decide_first(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm)
{
    int rc;

    gr_lock(&module->making);
    rc = module->decided ? OMPI_SUCCESS : decide_now(module, comm);
    gr_unlock(&module->making);
    return rc;
}

int mca_coll_gpuring_refusal(const mca_coll_gpuring_module_t *module, const struct gr_call *call)
{
    if (module->refused >= 0 || !gr_calls[call->id].reduces) {
        return module->refused;
    }
    /*
     * MPI's own operations are for predefined types only, so neither gaps nor bounds can differ,
     * and any element fits a slot
     */
    if (!ompi_op_is_intrinsic(call->op) || !ompi_op_is_commute(call->op) ||
        !ompi_datatype_is_predefined(call->rtype)) {
        return GR_FALLBACK_OP;
    }
    return -1;
}
