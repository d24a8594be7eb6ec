/* SPDX-License-Identifier: BSD-3-Clause */
/* The decisions of mpi/comm.h. */
#include "mpi/comm.h"

#include "comm/failure.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "engine/choose.h"
#include "engine/op_queue.h"
#include "engine/network_probe.h"
#include "mpi/call.h"
#include "mpi/module.h"
#include "mpi/runtime.h"

/*
 * Say by which constants ranks choose: inside a node once, between nodes for each communicator that
 * does not measure them. One that measures says so itself (engine/network_probe.c).
 */
static void tell_constants(const mca_coll_gpuring_module_t *module)
{
    static bool told;
    char text[300];

    if (!told && 0 > module->refused && NULL == module->comm.remote) {
        told = true;
        gr_print("gpuring: the cost model's constants inside a node: %s",
                 mca_coll_gpuring_constants_said[0].text);
    }
    if (0 > module->refused && NULL != module->comm.remote && !module->comm.measures_network) {
        gr_print("gpuring: %s, the cost model's constants between nodes: %s",
                 gr_ompi_name(module->comm.mpi),
                 gr_comm_network_text(&module->comm,
                                      &module->comm.network[GR_ORDER_BLOCKING].network, text,
                                      sizeof(text)));
    }
}

/* Let the engine's communicator stand for Open MPI's. Repeated calls are fine. */
static void bind_comm(struct gr_comm *comm, struct ompi_communicator_t *mpi)
{
    comm->mpi = mpi;
    comm->rank = ompi_comm_rank(mpi);
    comm->size = ompi_comm_size(mpi);
    comm->id = GR_COMM_ID(mpi);
    comm->name = mpi->c_name;
    comm->inter = OMPI_COMM_IS_INTER(mpi);
}

/* Is the communicator taken? The caller has the lock. */
static int decide_now(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
    int rc;

    bind_comm(&module->comm, comm);
    gr_failure_enlist(&module->comm);
    rc = mca_coll_gpuring_modex_decide(module, comm);
    if (OMPI_SUCCESS == rc && 0 > module->refused) {
        module->comm.torus = mca_coll_gpuring_torus(&module->comm);
        rc = mca_coll_gpuring_to_ompi(gr_queue_make(&module->comm, GR_ORDER_BLOCKING));
        if (OMPI_SUCCESS == rc && NULL != module->comm.remote) {
            module->comm.agreement_choice = gr_choose_agreement(&module->comm);
        }
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (0 > module->refused && gr_failure_decided(&module->comm)) {
        /* without it a rank that failed waits longer for this one */
        (void) mca_coll_gpuring_progress_open();
    }
    atomic_store_explicit(&module->decided, true, memory_order_release);
    if (gr_should_log(ompi_comm_rank(comm), 1)) {
        gr_print("gpuring: %s, %d ranks: %s", gr_ompi_name(comm), ompi_comm_size(comm),
                 0 > module->refused ? "taken" : mca_coll_gpuring_fallbacks[module->refused].help);
        tell_constants(module);
    }
    return OMPI_SUCCESS;
}

int mca_coll_gpuring_decide_first(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm)
{
    int rc;

    gr_lock(&module->comm.making);
    rc = module->decided ? OMPI_SUCCESS : decide_now(module, comm);
    gr_unlock(&module->comm.making);
    return rc;
}

int mca_coll_gpuring_refusal(const mca_coll_gpuring_module_t *module, const struct gr_call *call)
{
    if (module->refused >= 0) {
        return module->refused;
    }
    if (!gr_call_has_buffers(call->id) && 0 == module->comm.params.value[GR_PARAM_HOST]) {
        return GR_FALLBACK_HOST; /* here it is 1, on another rank 0 */
    }
    if (!gr_calls[call->id].reduces) {
        return -1;
    }
    /*
     * MPI's own operations are for predefined types only, so neither gaps nor bounds can differ,
     * and any element fits a slot
     */
    if (!ompi_op_is_intrinsic(call->reduction) || !ompi_op_is_commute(call->reduction) ||
        !ompi_datatype_is_predefined(call->rtype)) {
        return GR_FALLBACK_OP;
    }
    return -1;
}
