/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk over the steps of a schedule, slice by slice, in the order in which executors run them. A
 * walk can be interrupted at any step and continued later.
 *
 *      struct gr_step_walk w;
 *      const struct gr_step *step;
 *
 *      gr_step_walk_begin(&w, &sched, nslices);
 *      while (NULL != (step = gr_step_walk_get(&w, &sched))) {
 *          ...                                     w.slice, w.index: where the step is
 *          gr_step_walk_next(&w);
 *      }
 *
 * Kernels have a walk of their own (exec/gpu/kernels/steps.cuh).
 */
#ifndef GR_SCHED_WALK_H
#define GR_SCHED_WALK_H

#include "sched/sched.h"
#include "sched/split.h"

struct gr_step_walk {
    uint32_t len;        /* steps of the schedule; each slice takes all of them */
    uint32_t nslices;    /* number of slices */
    uint32_t slice;      /* slice of the present step */
    uint32_t index;      /* number of the present step in the schedule */
    int fetched;         /* whether `step` is the present step */
    struct gr_step step; /* the present step, once fetched */
};

/* Begin a walk over nslices slices at the first step of the first slice. */
static inline void gr_step_walk_begin(struct gr_step_walk *w, const struct gr_sched *sched,
                                      uint32_t nslices)
{
    w->len = gr_sched_len(sched);
    w->nslices = nslices;
    w->slice = 0 == w->len ? nslices : 0;
    w->index = 0;
    w->fetched = 0;
}

/* Whether all steps are through. */
static inline int gr_step_walk_over(const struct gr_step_walk *w)
{
    return w->slice >= w->nslices;
}

/* The present step, or NULL when all are through. sched: the one that the walk began with. */
static inline const struct gr_step *gr_step_walk_get(struct gr_step_walk *w,
                                                     const struct gr_sched *sched)
{
    if (gr_step_walk_over(w)) {
        return NULL;
    }
    if (!w->fetched) {
        w->step = gr_sched_step(sched, w->index);
        w->fetched = 1;
    }
    return &w->step;
}

/* Go on to the next step, which may be the first of the next slice. */
static inline void gr_step_walk_next(struct gr_step_walk *w)
{
    w->fetched = 0;
    if (++w->index == w->len) {
        w->index = 0;
        w->slice++;
    }
}

/* Chunk number k of the step's run. */
static inline uint32_t gr_step_chunk(const struct gr_step *step, uint32_t k)
{
    return step->first + k * step->stride;
}

/* Elements of the step's message, whose chunks are as long in all spaces. */
static inline size_t gr_step_elems(const struct gr_split *split, uint32_t channel, uint32_t slice,
                                   const struct gr_step *step)
{
    size_t n = 0;
    uint32_t k;

    for (k = 0; 0 != step->bits && k < step->count; k++) {
        n += gr_split_at(split, GR_OUT, channel, slice, gr_step_chunk(step, k)).count;
    }
    return n;
}

#endif
