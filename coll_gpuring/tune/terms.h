/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cost functions of algorithms (sched/cost.h) are given for a question of select.h. */
#ifndef GR_TUNE_TERMS_H
#define GR_TUNE_TERMS_H

#include "tune/select.h"

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

#endif
