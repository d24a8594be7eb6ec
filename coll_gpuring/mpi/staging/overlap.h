/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: host steps, while buffers on a device are copied band by band. */
#ifndef GR_STAGING_OVERLAP_H
#define GR_STAGING_OVERLAP_H

#include "mpi/ompi.h"

#include "exec/executor.h"

BEGIN_C_DECLS

struct gr_mpi_op;

extern const struct gr_executor mca_coll_gpuring_run_staged;

/*
 * Whether this executor suits an op that would run as host steps. A matter of this rank alone: the
 * messages are the same.
 */
bool mca_coll_gpuring_overlap_fits(const struct gr_mpi_op *op);

END_C_DECLS

#endif
