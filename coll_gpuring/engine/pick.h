/* SPDX-License-Identifier: BSD-3-Clause */
/* Which executor runs an op. */
#ifndef GR_ENGINE_PICK_H
#define GR_ENGINE_PICK_H

struct gr_executor;
struct gr_op;

/*
 * The executor for an op whose algorithm has been chosen. It depends on the choice, on what the
 * ranks agreed on (op->agreed), on the phase, and on the links; call again when one of them has
 * changed.
 */
const struct gr_executor *mca_coll_gpuring_pick(const struct gr_op *op);

#endif
