/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cost functions of algorithms (sched/cost.h) are given for a question of select.h. */
#ifndef GR_TUNE_TERMS_H
#define GR_TUNE_TERMS_H

#include "sched/protocol.h"
#include "tune/types.h"

/* Channels that the call would use by that method. */
uint32_t gr_terms_channels(const struct gr_costs *costs, const struct gr_select_args *q,
                           enum gr_copy_method method);

/* What a further message to another node costs its sender, in microseconds: a part of a step. */
double gr_terms_message(const struct gr_internode *nodes);

/* Whether values are combined on their way. */
int gr_terms_combines(enum gr_coll coll);

/*
 * Most bytes of a message, by that method, that need not fit a slot; 0: it must. Among more than
 * two ranks, partial sums are sent that lie in no buffer.
 */
size_t gr_terms_beyond_slot(const struct gr_costs *costs, const struct gr_select_args *q,
                            enum gr_copy_method method);

/* The terms, by that method. They refer to q. */
struct gr_cost_terms gr_terms_of(const struct gr_costs *costs, const struct gr_select_args *q,
                                 enum gr_copy_method method);

/*
 * The methods of moving messages inside a node, one row each: for which calls and algorithms, and
 * in what sizes. What they cost is in struct gr_costs, what they do in exec/.
 */

struct gr_copy_method_desc {
    enum gr_protocol protocol; /* of its plans */
    int fetches;               /* its plans are direct */
    double least;              /* bytes of the shortest chunk worth a message */
};
extern const struct gr_copy_method_desc gr_copy_methods[GR_NCOPY_METHODS];

/* Whether the call's messages may be moved so. */
int gr_copy_may(const struct gr_select_args *q, enum gr_copy_method method);

/* Whether the messages of an algorithm can be moved so, which has the call's collective. */
int gr_copy_can(const struct gr_select_args *q, enum gr_algo algo, enum gr_copy_method method);

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

/* The method by which a plan of that protocol moves what is not fetched. */
enum gr_copy_method gr_copy_through_links(int protocol);

#endif
