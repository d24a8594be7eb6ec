/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages of collectives that are nothing but messages between pairs of ranks: in fragments,
 * where buffers are on devices.
 */
#ifndef GR_STAGING_P2P_SPLIT_H
#define GR_STAGING_P2P_SPLIT_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_op_queue;

/* Whether the call is one whose large messages go in fragments: the same on all ranks. */
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

END_C_DECLS

#endif
