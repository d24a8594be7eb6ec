/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the steps of a collective are due: from the ticks of all ranks' schedules, the bytes of
 * their messages and the latencies of their ways. No message is exchanged for it, since all ranks
 * know all sizes.
 *
 *      tick        0           1       2                   3
 *      offset      0 ......... a ..... b ................. c ...... slice
 *                  |-- slowest message of tick 0 --|
 *                                                a = its latency + bytes x time per byte
 *
 * What is sent in one tick is used in a later one, so a tick lasts as long as its slowest message.
 * Slices follow each other. A barrier may stand before a tick only where no rank can be kept from
 * arriving at it by another one that waits behind it:
 *
 *   - a message's reader must not wait behind a barrier for which its sender cannot arrive before
 *     it has been read;
 *   - nor may it be behind one while all the slots of a link are full of what is read only behind
 *     that barrier.
 *
 * Ticks between which none may stand form a group. Inside a group ranks run as freely as without
 * barriers, and wait for nothing that lies in a later one: so if the schedule does not deadlock
 * without barriers, it does not with them.
 */
#ifndef GR_TIMING_TIMELINE_H
#define GR_TIMING_TIMELINE_H

#include "sched/split.h"
#include "timing/latency.h"

/* What is to be timed. */
struct gr_timing_job {
    int p;
    const struct gr_split *split;
    size_t elem_bytes, slot_elems;
    uint32_t nslots; /* of a link */
    /* the schedule of every rank */
    struct gr_sched (*sched)(const void *ctx, int rank, uint32_t channel);
    const void *ctx;
    int whole; /* its steps cannot be kept apart: only its start counts */
    const struct gr_latency *latency;
};

struct gr_timeline {
    uint32_t nticks, nslices, ngroups;
    uint32_t full;   /* slices from the first on in which channel 0 has data */
    int64_t *at;     /* [tick]: ns from the slice's begin, [nticks]: of the slice; owned */
    uint32_t *group; /* [tick]: 0.. in each slice, not decreasing; owned */
};

/* All ranks make the same. 0 or GR_ERR_NOMEM. To be freed, also when it is made again. */
int gr_timeline_make(struct gr_timeline *t, const struct gr_timing_job *job);
void gr_timeline_free(struct gr_timeline *t);

/* ns from the start at which a step is due. */
static inline int64_t gr_timeline_at(const struct gr_timeline *t, uint32_t slice, uint32_t tick)
{
    return (int64_t) slice * t->at[t->nticks] + t->at[tick];
}

/* The number of its group, over all slices. */
static inline uint64_t gr_timeline_group(const struct gr_timeline *t, uint32_t slice, uint32_t tick)
{
    return (uint64_t) slice * t->ngroups + t->group[tick];
}

#endif
