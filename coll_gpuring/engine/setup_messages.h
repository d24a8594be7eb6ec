/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups: reservation and tags. */
#ifndef GR_ENGINE_SETUP_MESSAGES_H
#define GR_ENGINE_SETUP_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_setup;

/* The highest of the GR_SETUP_TAGS tags of the set-up with that number. */
int mca_coll_gpuring_setup_tag(uint32_t number);

/* The tag of the messages of the phase s->state. */
int mca_coll_gpuring_setup_phase_tag(const struct gr_setup *s);

/*
 * Post a message of the phase s->state: send bytes from buf to a rank, or receive them from it.
 * Uses one of the reserved messages. 0, or GR_ERR_...
 */
int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank);

/* Reserve n messages, in place of those before. 0, or GR_ERR_NOMEM. */
int mca_coll_gpuring_setup_reserve(struct gr_setup *s, int n);

#endif
