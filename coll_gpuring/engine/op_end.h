/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op ends: done, or failed. */
#ifndef GR_ENGINE_OP_END_H
#define GR_ENGINE_OP_END_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op;

/* It is through: unpack, count. */
void mca_coll_gpuring_op_end(struct gr_op *op);

/* It is over, well or not. */
void mca_coll_gpuring_op_over(struct gr_op *op, int rc);

/*
 * It fails: what it runs is given up. Over, with rc, when its buffers are its own again: now, or in
 * a later call of this.
 */
void mca_coll_gpuring_op_fail(struct gr_op *op, bool here, int rc);

END_C_DECLS

#endif
