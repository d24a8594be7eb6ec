/* SPDX-License-Identifier: BSD-3-Clause */
/* When steps begin, where that is asked for. */
#ifndef GR_ENGINE_STEP_TIMING_H
#define GR_ENGINE_STEP_TIMING_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op_queue;
struct gr_op;

/*
 * Whether the call, the first whose steps are timed, must ask for the notes' links: on all ranks
 * alike.
 */
bool mca_coll_gpuring_timing_asks(const struct gr_op_queue *queue, const struct gr_op *op);

/* The op's machine was started: let its steps be timed, where they are. OMPI error code. */
int mca_coll_gpuring_timing_begin(struct gr_op *op);

/* What timing waits for, or "". */
void mca_coll_gpuring_timing_explain(const struct gr_op_queue *queue, char *text, size_t size);
void mca_coll_gpuring_timing_free(struct gr_op_queue *queue);

END_C_DECLS

#endif
