/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ops of blocking calls.
 *
 * An op takes 10 KiB, and a job may have thousands of communicators. Where MPI is called by one
 * thread, one op serves them all: a communicator that calls takes it from the one that called
 * before. Where several threads may call, each communicator has its own: calls on different
 * communicators may be in progress at once.
 */
#ifndef GR_MPI_BLOCKING_OP_H
#define GR_MPI_BLOCKING_OP_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_mpi_op *mca_coll_gpuring_blocking_op_take(mca_coll_gpuring_module_t *module);

/*
 * The op of the communicator's next blocking call; valid until that call returns. NULL: no memory.
 */
static inline struct gr_mpi_op *mca_coll_gpuring_blocking_op(mca_coll_gpuring_module_t *module)
{
    return NULL != module->op ? module->op : mca_coll_gpuring_blocking_op_take(module);
}

/* The communicator ends. */
void mca_coll_gpuring_blocking_op_end(mca_coll_gpuring_module_t *module);

/* At the end of the component. */
void mca_coll_gpuring_blocking_ops_close(void);

END_C_DECLS

#endif
