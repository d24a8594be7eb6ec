/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs an op in host memory. */
#ifndef GR_ENGINE_HOST_RUN_H
#define GR_ENGINE_HOST_RUN_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op;

/*
 * The links are there. plan: make the op's plan, if it has one. start: start the stepper on it.
 * records: start the stepper on the exchange of call records between nodes. OMPI error codes.
 */
void mca_coll_gpuring_op_plan(struct gr_op *op);
int mca_coll_gpuring_host_run_start(struct gr_op *op);
int mca_coll_gpuring_host_run_records(struct gr_op *op);

END_C_DECLS

#endif
