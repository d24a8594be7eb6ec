/* SPDX-License-Identifier: BSD-3-Clause */
/* The one entry to the steps of all algorithms. */
#include "sched/algos.h"

uint32_t gr_sched_len(const struct gr_sched *s)
{
    return gr_algorithms[s->algo]->len(s);
}

struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    return gr_algorithms[s->algo]->step(s, i);
}
