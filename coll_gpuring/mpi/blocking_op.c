/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has the op of blocking calls (blocking_op.h). */
#include "mpi/blocking_op.h"

#include "engine/lock.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/process.h"
#include "mpi/op.h"
#include "mpi/runtime.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

/* With the component's lock. */
static mca_coll_gpuring_module_t *last; /* the last that took an op, and has it; NULL: none */
static struct gr_mpi_op *spare;         /* of a communicator that has ended; NULL: none. Owned */

/*
 * Whether the communicator's op may go to another one. During a blocking call Open MPI may begin a
 * call on another communicator, out of opal_progress. What failed stays: other ranks may still use
 * its memory.
 */
static bool is_idle(const mca_coll_gpuring_module_t *module)
{
    const struct gr_op *op = &module->op->base;

    return !gr_threaded() && GR_OP_DONE == op->phase && 0 == op->rc && 0 == module->comm.failed &&
           0 == atomic_load_explicit(&op->queue->busy, memory_order_relaxed);
}

static void op_delete(struct gr_mpi_op *op)
{
    if (NULL != op) {
        mca_coll_gpuring_mpi_op_free(op);
        free(op);
    }
}

struct gr_mpi_op *mca_coll_gpuring_blocking_op_take(mca_coll_gpuring_module_t *module)
{
    pthread_mutex_lock(&gr_process.lock);
    if (NULL != spare) {
        module->op = spare;
        spare = NULL;
    } else if (NULL != last && is_idle(last)) {
        module->op = last->op;
        last->op = NULL;
    } else {
        module->op = gr_malloc(sizeof(*module->op));
        if (NULL != module->op) {
            mca_coll_gpuring_mpi_op_init(module->op);
        }
    }
    last = NULL == module->op ? last : module;
    pthread_mutex_unlock(&gr_process.lock);
    return module->op;
}

void mca_coll_gpuring_blocking_op_end(mca_coll_gpuring_module_t *module)
{
    if (NULL == module->op) {
        return;
    }
    pthread_mutex_lock(&gr_process.lock);
    last = module == last ? NULL : last;
    if (NULL == spare && is_idle(module)) {
        spare = module->op;
        module->op = NULL;
    }
    pthread_mutex_unlock(&gr_process.lock);
    op_delete(module->op);
    module->op = NULL;
}

void mca_coll_gpuring_blocking_ops_close(void)
{
    op_delete(spare);
    spare = NULL;
}
