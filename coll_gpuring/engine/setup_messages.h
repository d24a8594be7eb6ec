/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups: requests and tags. */
#ifndef GR_ENGINE_SETUP_MESSAGES_H
#define GR_ENGINE_SETUP_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_setup;

/* The highest of the GR_SETUP_TAGS tags of the set-up with that number. */
int mca_coll_gpuring_setup_tag(uint32_t number);

/* Post a message of the phase. Returns an error code. */
int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank,
                                int tag);

/* Allocate requests for n messages, and the two of the agreement. Returns an error code. */
int mca_coll_gpuring_setup_reserve(struct gr_setup *s, int n);

#endif
