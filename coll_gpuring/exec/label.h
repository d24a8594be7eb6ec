/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels: what a message between ranks of a node is of. A sender stores the label of its call
 * beside the message, in a cache line that the receiver reads anyway, and the receiver compares it
 * with that of its own call. So ranks whose calls do not match get an error, not a wrong result.
 */
#ifndef GR_EXEC_LABEL_H
#define GR_EXEC_LABEL_H

#include "base/errors.h"
#include "sched/sched.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A label is a kind, which is equal on all ranks of a call, and bytes: of the post (mailbox.h), or
 * of the whole call (host.h). [collective: 8 bits | root: 24 bits | bytes: 32 bits].
 */
static inline uint64_t gr_label_kind(enum gr_coll coll, int root)
{
    return (uint64_t) coll << 56 | (uint64_t) root << 32;
}

/* The kind of calls whose posts are not compared: all bits are set, and so are those of labels. */
#define GR_LABEL_NOT_COMPARED UINT64_MAX

static inline enum gr_coll gr_label_coll(uint64_t label)
{
    return (enum gr_coll)(label >> 56);
}

static inline int gr_label_root(uint64_t label)
{
    return (int) (label >> 32 & 0xffffff);
}

static inline size_t gr_label_bytes(uint64_t label)
{
    return (size_t) (uint32_t) label;
}

/* Two labels that should be equal. */
struct gr_label_pair {
    int rank;          /* of the sender, in the mailbox or the team */
    uint64_t posted;   /* its label */
    uint64_t expected; /* what this rank's call makes of it */
};

/* The error of a call that meets another one: GR_ERR_TRUNCATE if only the bytes differ. */
static inline int gr_label_error(const struct gr_label_pair *pair)
{
    return pair->posted >> 32 == pair->expected >> 32 ? GR_ERR_TRUNCATE : GR_ERR_DIFFER;
}

#endif
