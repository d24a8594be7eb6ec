/* SPDX-License-Identifier: BSD-3-Clause */
/* Staged buffers that are copied piece by piece while steps run. */
#ifndef GR_STAGING_OVERLAP_H
#define GR_STAGING_OVERLAP_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op;

/*
 * Stage the op's buffers for who does it. in_pieces: what they hold comes while the machine runs,
 * which is to be started here once more when its plan and host op are ready. unstage: the call is
 * over with rc, which is returned unless what remains to be copied fails; nothing is under way
 * then. OMPI error codes.
 */
int mca_coll_gpuring_overlap_stage(struct gr_op *op);
int mca_coll_gpuring_overlap_begin(struct gr_op *op);
int mca_coll_gpuring_overlap_unstage(struct gr_op *op, int rc);

END_C_DECLS

#endif
