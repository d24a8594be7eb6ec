/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups: requests and tags. */
#ifndef GR_ENGINE_SETUP_MESSAGES_H
#define GR_ENGINE_SETUP_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_setup;

/* The first of the tags of that number; the next lower ones are its, too. */
int mca_coll_gpuring_setup_tag(uint32_t number);

/* Post one message of the phase. 0, or GR_ERR_... */
int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank,
                                int tag);

/* Room for n messages under way. 0, or GR_ERR_... */
int mca_coll_gpuring_setup_reserve(struct gr_setup *s, int n);

#endif
