/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op that waits says of itself. */
#ifndef GR_ENGINE_DIAGNOSE_H
#define GR_ENGINE_DIAGNOSE_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

void mca_coll_gpuring_op_explain(void *op, char *text, size_t size);

END_C_DECLS

#endif
