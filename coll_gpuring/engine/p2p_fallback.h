/* SPDX-License-Identifier: BSD-3-Clause */
/* How a nonblocking call ends that got no links: by point-to-point messages. */
#ifndef GR_ENGINE_P2P_FALLBACK_H
#define GR_ENGINE_P2P_FALLBACK_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op;

/*
 * Begin and poll the exchange of op by messages; GR_DONE frees it. OMPI error code; enum gr_status
 * or negative.
 */
int mca_coll_gpuring_p2p_fallback_begin(struct gr_op *op);
int mca_coll_gpuring_p2p_fallback_poll(struct gr_op *op, uint64_t *moved);
void mca_coll_gpuring_p2p_fallback_explain(const struct gr_op *op, char *text, size_t size);

END_C_DECLS

#endif
