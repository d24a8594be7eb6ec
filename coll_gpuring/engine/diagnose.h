/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what an op waits for. */
#ifndef GR_ENGINE_DIAGNOSE_H
#define GR_ENGINE_DIAGNOSE_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

/* Write to text, for a report, what op (a struct gr_op) waits for. */
void mca_coll_gpuring_op_explain(void *op, char *text, size_t size);

END_C_DECLS

#endif
