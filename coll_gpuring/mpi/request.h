/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI requests of nonblocking and persistent calls. */
#ifndef GR_MPI_REQUEST_H
#define GR_MPI_REQUEST_H

#include "mpi/ompi.h"

#include "mpi/op.h"

BEGIN_C_DECLS

struct gr_op_queue;

typedef struct mca_coll_gpuring_request {
    ompi_coll_base_nbc_request_t super; /* MPI_I... functions keep what they retained there */
    struct gr_mpi_op op;
    struct gr_op_queue *queue; /* a persistent request's own */
    bool has_plan;             /* it needs to decide nothing any more to be started (plan.h) */
    struct mca_coll_gpuring_request *next_unused;
    ompi_datatype_t *types[2]; /* that a persistent request retains, or NULL; */
    void *kept;                /* and copies of its call's arrays */
} mca_coll_gpuring_request_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_request_t);

/* A request for a call on comm, not active. NULL: no memory. */
mca_coll_gpuring_request_t *mca_coll_gpuring_request_get(struct ompi_communicator_t *comm,
                                                         bool persistent);
void mca_coll_gpuring_request_put(mca_coll_gpuring_request_t *request);

/* A persistent request whose op is ready to be started. */
void mca_coll_gpuring_request_persist(mca_coll_gpuring_request_t *request,
                                      struct gr_op_queue *queue);
void mca_coll_gpuring_requests_close(void);

END_C_DECLS

#endif
