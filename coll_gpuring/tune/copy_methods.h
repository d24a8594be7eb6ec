/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The methods of moving messages inside a node, one row each: for which calls and algorithms, and
 * in what sizes. What they cost is in struct gr_costs, what they do in exec/.
 */
#ifndef GR_TUNE_COPY_METHODS_H
#define GR_TUNE_COPY_METHODS_H

#include "tune/select.h"

#include "sched/protocol.h"

struct gr_copy_method_desc {
    enum gr_protocol protocol; /* of its plans */
    int fetches;               /* its plans are direct */
    double least;              /* bytes of the shortest chunk worth a message */
    /* Whether the call's messages may be moved so. */
    int (*may)(const struct gr_select_args *q);
    /* Whether the messages of an algorithm can be moved so, which has the call's collective. */
    int (*can)(const struct gr_select_args *q, enum gr_algo algo);
    /* Bytes of a message that fits a slot. */
    size_t (*slot_bytes)(const struct gr_select_args *q);
};

/*
 * Fetched messages of which the receiver offers its sender a half (exec/host.h), by collective and
 * bytes. In a Bcast the sender has nothing else to do. The half then comes from the sender's cache
 * when the receiver reads it: together with reading, 128 KiB took longer than without an offer,
 * 256 KiB and more less time (Xeon, 2 MiB of L2, 2026-11-26).
 */
#define GR_OFFERED_BYTES ((size_t) 256 << 10)
static inline int gr_copy_is_offered(enum gr_coll coll)
{
    return GR_COLL_BCAST == coll;
}

extern const struct gr_copy_method_desc gr_copy_methods[GR_NCOPY_METHODS];

/* The method by which a plan of that protocol moves what is not fetched. */
enum gr_copy_method gr_copy_through_links(int protocol);

#endif
