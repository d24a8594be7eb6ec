/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator fails, on this rank, engine/failure.h. */
#include "engine/failure.h"

#include "engine/collectives.h"
#include "engine/failure_messages.h"
#include "engine/log.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "mpi/module.h"

#include "base/errors.h"
#include "cuda/error.h"

#include <stdio.h>

/* Printed, and to be sent. */
static void fail_aloud(mca_coll_gpuring_module_t *module, const char *why)
{
    if (0 == module->failed) {
        mca_coll_gpuring_warn("failed-here", ompi_comm_rank(module->comm),
                              gr_comm_name(module->comm), why);
        mca_coll_gpuring_fail(module, OMPI_ERROR, why);
    }
}

int mca_coll_gpuring_fail_here(mca_coll_gpuring_module_t *module, int code, const char *why)
{
    fail_aloud(module, why);
    mca_coll_gpuring_failure_tell(module);
    return code;
}

void mca_coll_gpuring_op_fails(const struct gr_op *op, const char *what, const char *reason)
{
    mca_coll_gpuring_module_t *module = op->queue->module;
    char why[sizeof(module->why)];

    snprintf(why, sizeof(why), "%s, sequence %llu: %s%s", gr_calls[op->call.id].name,
             (unsigned long long) op->seq, what, reason);
    fail_aloud(module, why);
}

/* The words for an error code of an executor. */
static const char *error_text(int rc)
{
    switch (rc) {
    case GR_ERR_NOMEM:
        return "out of memory";
    case GR_ERR_CUDA:
        return gr_gpu_error();
    case GR_ERR_FOREIGN:
    case GR_ERR_SYS:
        return "the memory of another rank could not be read";
    default:
        return "a connection to another node broke";
    }
}

void mca_coll_gpuring_op_fails_by(const struct gr_op *op, int rc)
{
    mca_coll_gpuring_op_fails(op, "", error_text(rc));
}

int mca_coll_gpuring_failure_check(mca_coll_gpuring_module_t *module, bool thorough)
{
    if (0 == module->failed && GR_COMM_REVOKED(module->comm)) {
        mca_coll_gpuring_fail(module, GR_ERR_REVOKED, NULL);
    } else if (0 == module->failed && GR_COMM_LOST_RANK(module->comm)) {
        mca_coll_gpuring_fail(module, GR_ERR_LOST_RANK, NULL);
    } else if (0 == module->failed && thorough) {
        mca_coll_gpuring_failure_poll();
    }
    return module->failed;
}
