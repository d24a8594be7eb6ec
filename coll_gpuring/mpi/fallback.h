/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on device memory that the saved collective does, as a whole or in parts. */
#ifndef GR_MPI_FALLBACK_H
#define GR_MPI_FALLBACK_H

#include "mpi/module.h"

struct gr_call;
struct gr_form;
struct gr_op_queue;

/* Call the saved function, with host memory in the place of device memory. */
int mca_coll_gpuring_fall_back(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               const struct gr_form *form);

void mca_coll_gpuring_fallback_close(void);

/* ---- reductions segment by segment, while others are copied (staging/segments.c) ---- */

/* Whether the call is one that is cut where some buffer is on a device: the same on all ranks. */
bool mca_coll_gpuring_segments_fit(const struct gr_call *call, const struct gr_form *form);

/*
 * Call the saved function with one segment after the other. stage NULL: no buffer of this rank is
 * on a device.
 */
int mca_coll_gpuring_segments_do(mca_coll_gpuring_module_t *module, struct gr_stage *stage,
                                 const struct gr_call *call, const struct gr_form *form);

/* ---- large messages in fragments (staging/p2p_split.c) ---- */

/*
 * Whether the call is one whose large messages go in fragments where buffers are on devices: it is
 * nothing but messages between pairs of ranks. The same on all ranks.
 */
bool mca_coll_gpuring_p2p_split_fits(const mca_coll_gpuring_module_t *module,
                                     const struct gr_call *call);

/*
 * Those of such a call; all ranks come here for each of them. *pairs is NULL where this rank has
 * none. OMPI error code.
 */
int mca_coll_gpuring_p2p_split_new(struct gr_op_queue *queue, const struct gr_call *call,
                                   struct gr_p2p_split **pairs);
/* with nothing in flight; NULL is fine */
void mca_coll_gpuring_p2p_split_free(struct gr_p2p_split *pairs);

/* What is left of the call for the saved function; NULL: nothing, on all ranks alike. */
const struct gr_call *mca_coll_gpuring_p2p_split_rest(const struct gr_p2p_split *pairs);

/* Begin, once more: OMPI error code; and go on: enum gr_status or GR_ERR_... */
int mca_coll_gpuring_p2p_split_start(struct gr_p2p_split *pairs);
int mca_coll_gpuring_p2p_split_poll(void *pairs, uint64_t *moved);
void mca_coll_gpuring_p2p_split_explain(void *pairs, char *text, size_t size);

#endif
