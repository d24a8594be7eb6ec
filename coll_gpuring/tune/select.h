/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm, how many channels, how long chunks: a cost model and the choice that follows
 * from it.
 *
 * Everything here is a pure function of what is equal on all ranks (collective, ranks, bytes,
 * constants), so that all ranks choose alike. Nothing measured on the fly goes in.
 */
#ifndef GR_TUNE_SELECT_H
#define GR_TUNE_SELECT_H

#include "tune/types.h"

/* The model's time for one algorithm by some method, with the chunk length that suits it best. */
double gr_cost(const struct gr_costs *costs, const struct gr_select_args *q, enum gr_algo algo,
               enum gr_copy_method method, size_t *chunk_bytes);

/* The same for ranks on several nodes. */
double gr_cost_internode(const struct gr_costs *costs, const struct gr_select_args *q,
                         enum gr_algo algo, uint32_t nchannels, size_t *chunk_bytes);

/*
 * The model's time for mailboxes, which can do the call. Where all ranks post, lines are written
 * and read by both sides at the same time: a byte takes so many times as long.
 */
#define GR_MAILBOX_BOTH_WAYS 1.6
double gr_cost_mailbox(const struct gr_costs *costs, const struct gr_select_args *q);

/*
 * What the model expects to be fastest, of what the call and what is forced allow. us negative:
 * nothing is allowed.
 */
struct gr_choice gr_select(const struct gr_costs *costs, const struct gr_select_args *q);

/*
 * The same with constants that were measured in this job. The results of a reduction among more
 * than two ranks must not depend on them, so its algorithm follows `fixed` (built in, or of a
 * tuning file or parameters); measured constants then choose how messages are copied, if the order
 * of reduction does not depend on that.
 */
struct gr_choice gr_select_measured(const struct gr_costs *fixed, const struct gr_costs *measured,
                                    const struct gr_select_args *q);

#endif
