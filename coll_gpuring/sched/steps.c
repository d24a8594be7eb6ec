/* SPDX-License-Identifier: BSD-3-Clause */
/* The one entry to the steps of all algorithms. */
#include "sched/algos.h"

#if !defined(GR_SCHED_FOR_KERNELS)

uint32_t gr_sched_len(const struct gr_sched *s)
{
    return gr_algorithms[s->algo]->len(s);
}

struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    return gr_algorithms[s->algo]->step(s, i);
}

#else

/*
 * Device code calls no function through a pointer: a switch over the algorithms that kernels
 * compute. Others have tables; of those that are left the last case takes all.
 */
#define GR_CASE_COMPUTED(NAME, call) \
    case GR_ALGO_##NAME:             \
        return call;
#define GR_CASE_PRECOMPUTED(NAME, call)
#define GR_LEN_OF(NAME, name, how) GR_CASE_##how(NAME, gr_##name##_len(s))
#define GR_STEP_OF(NAME, name, how) GR_CASE_##how(NAME, gr_##name##_step(s, i))

GR_HD uint32_t gr_sched_len(const struct gr_sched *s)
{
    switch (s->algo) {
        GR_ALGORITHMS(GR_LEN_OF)
    default:
        return gr_flat_len(s);
    }
}

GR_HD struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    switch (s->algo) {
        GR_ALGORITHMS(GR_STEP_OF)
    default:
        return gr_flat_step(s, i);
    }
}

#endif
