/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cost functions of algorithms (sched/cost.h) are given for a question of select.h. */
#ifndef GR_TUNE_TERMS_H
#define GR_TUNE_TERMS_H

#include "tune/select.h"

/* The protocol of a method; Simple for those that write no lines. */
enum gr_protocol gr_terms_protocol(enum gr_copy_method method);

/* Channels that the call would use in that protocol. */
uint32_t gr_terms_channels(const struct gr_costs *costs, const struct gr_select_args *q,
                           enum gr_protocol protocol);

/* Whether values are combined on their way. */
int gr_terms_combines(enum gr_coll coll);

/*
 * Most bytes of a message that is fetched and need not fit a slot; 0: it must. Among more than two
 * ranks, partial sums are sent that lie in no buffer.
 */
size_t gr_terms_most_fetched(const struct gr_costs *costs, const struct gr_select_args *q);

/* The terms, by that method. They refer to q. */
struct gr_cost_terms gr_terms_of(const struct gr_costs *costs, const struct gr_select_args *q,
                                 enum gr_copy_method method);

#endif
