/* SPDX-License-Identifier: BSD-3-Clause */
/* The dispatch to the algorithms of alltoall.h, and the arithmetic of their slots. */
#include "sched/alltoall.h"

#include <stddef.h>

const char *gr_alltoall_name(enum gr_alltoall_algo algo)
{
    static const char *const names[GR_NALLTOALLS] = {"suh-shin", "dimension-ordered"};

    return (unsigned) algo < GR_NALLTOALLS ? names[algo] : NULL;
}

int gr_alltoall_suits(enum gr_alltoall_algo algo, const struct gr_torus *torus)
{
    int d;

    for (d = 0; d < torus->ndims && GR_ALLTOALL_SUH_SHIN == algo; d++) {
        int extent = torus->dims[d];

        /* in a ring of 2 it only uses one link each way, so that it may as well be a line */
        if (extent > 2 && (0 != extent % 4 || gr_torus_is_line(torus, d))) {
            return 0;
        }
    }
    return torus->ndims >= 1;
}

uint32_t gr_alltoall_ticks(const struct gr_alltoall *a)
{
    return GR_ALLTOALL_SUH_SHIN == a->algo ? gr_suh_shin_ticks(&a->torus)
                                           : gr_ordered_ticks(&a->torus);
}

int gr_alltoall_lanes(const struct gr_alltoall *a)
{
    return GR_ALLTOALL_SUH_SHIN == a->algo ? 1 : 2;
}

struct gr_exchange gr_alltoall_step(const struct gr_alltoall *a, int lane, uint32_t tick)
{
    return GR_ALLTOALL_SUH_SHIN == a->algo ? gr_suh_shin_step(a, tick)
                                           : gr_ordered_step(a, lane, tick);
}

int gr_alltoall_origin(const struct gr_alltoall *a, int slot)
{
    const struct gr_torus *t = &a->torus;
    int origin = slot, d;

    for (d = 0; d < t->ndims; d++) {
        int x = gr_torus_coord(t, a->rank, d), v = gr_torus_coord(t, slot, d);

        origin = gr_torus_at(t, origin, d,
                             GR_ALLTOALL_SUH_SHIN == a->algo ? gr_suh_shin_origin(t, d, x, v)
                                                             : gr_ordered_origin(t, d, x, v));
    }
    return origin;
}

/* Slots with the same digit. */
static int alike(const struct gr_alltoall *a, const struct gr_slots *slots)
{
    return gr_torus_stride(&a->torus, a->torus.ndims) / slots->radix;
}

int gr_slots_count(const struct gr_alltoall *a, const struct gr_slots *slots)
{
    return slots->count * alike(a, slots);
}

int gr_slots_at(const struct gr_alltoall *a, const struct gr_slots *slots, int k)
{
    int rest = k % alike(a, slots);
    int digit = gr_wrap(slots->first + slots->step * (k / alike(a, slots)), slots->radix);

    if (slots->fold) {
        digit = gr_fold(slots->radix, digit);
    }
    return (rest / slots->weight * slots->radix + digit) * slots->weight + rest % slots->weight;
}
