/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what an op waits for. */
#ifndef GR_ENGINE_DIAGNOSE_H
#define GR_ENGINE_DIAGNOSE_H

#include <stddef.h>

/* Write to text, for a report, what op (a struct gr_op) waits for. */
void mca_coll_gpuring_op_explain(void *op, char *text, size_t size);

#endif
