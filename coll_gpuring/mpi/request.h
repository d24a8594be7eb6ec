/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ops of MPI calls: of blocking calls; and in the requests of nonblocking and persistent calls.
 */
#ifndef GR_MPI_REQUEST_H
#define GR_MPI_REQUEST_H

#include "mpi/buffer_desc.h"
#include "mpi/module.h"
#include "mpi/op.h"
#include "mpi/runtime.h"

/*
 * Record where the default streams are: a nonblocking op that is called or started now comes after
 * what the application has put there so far. queue: whose device comes first, too.
 */
void mca_coll_gpuring_op_mark(struct gr_mpi_op *op, const struct gr_op_queue *queue);

/* ---- blocking calls ---- */

/*
 * An op takes 10 KiB, and a job may have thousands of communicators. Where MPI is called by one
 * thread, one op serves them all: a communicator that calls takes it from the one that called
 * before. Where several threads may call, each communicator has its own: calls on different
 * communicators may be in progress at once.
 */
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

/* ---- requests ---- */

struct gr_op_queue;

typedef struct mca_coll_gpuring_request {
    ompi_coll_base_nbc_request_t super; /* MPI_I... functions keep what they retained there */
    struct gr_mpi_op op;
    struct gr_op_queue *queue;             /* a persistent request's own */
    bool cached;                           /* a start decides nothing any more (call_cache.h) */
    struct gr_call_counter counter;        /* then: of its starts */
    struct mca_coll_gpuring_request *next; /* in the list of unused ones */
    struct gr_kept_args kept;              /* of a persistent request's call */
} mca_coll_gpuring_request_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_request_t);

/* A request for a call on comm, not active. NULL: no memory. */
mca_coll_gpuring_request_t *mca_coll_gpuring_request_get(struct ompi_communicator_t *comm,
                                                         bool persistent);
void mca_coll_gpuring_request_put(mca_coll_gpuring_request_t *request);

void mca_coll_gpuring_requests_close(void);

#endif
