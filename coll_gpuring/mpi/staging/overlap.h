/* SPDX-License-Identifier: BSD-3-Clause */
/* Staged buffers that are copied piece by piece while steps run. */
#ifndef GR_STAGING_OVERLAP_H
#define GR_STAGING_OVERLAP_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op;

/*
 * stage: put host memory in the place of the op's buffers; sets op->overlaps where they are to be
 * copied while the stepper runs. begin: for those, restart the stepper with copies, after its plan
 * and host op were set up. unstage: the op is done with rc: wait for copies, copy the rest back.
 * Returns rc, or the error of a copy. OMPI error codes.
 */
int mca_coll_gpuring_overlap_stage(struct gr_op *op);
int mca_coll_gpuring_overlap_begin(struct gr_op *op);
int mca_coll_gpuring_overlap_unstage(struct gr_op *op, int rc);

END_C_DECLS

#endif
