/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups: requests and tags. */
#ifndef GR_ENGINE_SETUP_MESSAGES_H
#define GR_ENGINE_SETUP_MESSAGES_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_setup;

/* The first of the tags of that number; the next lower ones are its, too. */
int mca_coll_gpuring_setup_tag(uint32_t number);

/* Post one message of the phase. OMPI error code. */
int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank,
                                int tag);

/* Room for n messages under way. OMPI error code. */
int mca_coll_gpuring_setup_reserve(struct gr_setup *s, int n);

END_C_DECLS

#endif
