/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of a channel's slots, one after the other: the loop of stepper.c turned inside out.
 * One thread walks; the walk lies in shared memory, where what it found is read by others.
 */
#ifndef GR_EXEC_GPU_KERNELS_STEPS_CUH
#define GR_EXEC_GPU_KERNELS_STEPS_CUH

#include "exec/gpu/kernels/port.cuh"

#include "exec/gpu/args.h"

/*
 * without the algorithms along tori, whose steps the host writes down: with them the kernels take
 * six times as long to compile
 */
#define GR_SCHED_FOR_KERNELS
#include "sched/split.c"
#define GR_REGISTRY_OF_KERNELS
#include "sched/registry.h"
/* last, as it calls the others */
#include "sched/steps.c"

/* Tests put schedules of their own in the place of these. */
#if !defined(GR_KERNEL_STEP)
#define GR_KERNEL_STEP(sched, i) gr_sched_step(sched, i)
#define GR_KERNEL_LEN(sched) gr_sched_len(sched)
#endif

struct gr_walk {
    struct gr_gpu_cursor at;    /* of the next piece */
    struct gr_gpu_cursor begin; /* where the slot of the last piece began */
    struct gr_step step;        /* the last piece's */
    uint32_t len;               /* steps of the schedule */
    uint32_t fetched;           /* step is number at.index */
    uint32_t changes;           /* grows when another step is fetched */
    /* elements that the slot still takes; 0: the next piece begins a slot */
    size_t room;
    /* the piece, in elements: */
    size_t operand, dest; /* offsets in their spaces */
    size_t slot;          /* offset in the slot */
    size_t count;
    uint32_t first, last; /* whether it begins, ends the slot */
};

/*
 * Step number i of this channel, as the host has written it down: all of it is on its way at once.
 */
__device__ static GP_INLINE void gr_step_read(const struct gr_gpu_args *args, uint32_t i,
                                              struct gr_step *step)
{
    enum { words = sizeof(*step) / 4, vectors = sizeof(struct gr_gpu_step) / 16 };
    size_t number = (size_t) (blockIdx.x % args->schedules) * args->nsteps + i;
    gr_gpu_ptr at = args->steps + number * sizeof(struct gr_gpu_step);
    uint32_t *to = (uint32_t *) step;
    uint4 v[vectors];
    int k;

#pragma unroll
    for (k = 0; k < vectors; k++) {
        v[k] = gp_ld16((const void *) (at + 16 * k));
    }
#pragma unroll
    for (k = 0; k < words; k++) {
        to[k] = 0 == k % 4   ? v[k / 4].x
                : 1 == k % 4 ? v[k / 4].y
                : 2 == k % 4 ? v[k / 4].z
                             : v[k / 4].w;
    }
}

/* Begin at a cursor, which must be where a slot begins. */
__device__ static GP_INLINE void gr_walk_begin(struct gr_walk *w, const struct gr_gpu_args *args,
                                               const struct gr_sched *sched,
                                               struct gr_gpu_cursor at)
{
    w->at = at;
    w->len = 0 != args->steps ? args->nsteps : GR_KERNEL_LEN(sched);
    w->at.over = at.over || 0 == w->len;
    w->fetched = 0;
    w->changes = 0;
    w->room = 0;
}

/* The piece of the step's run that comes next, in a space; its number there is so much higher. */
__device__ static GP_INLINE struct gr_range gr_walk_chunk(const struct gr_split *split,
                                                          const struct gr_walk *w, int space,
                                                          int32_t shift)
{
    uint32_t chunk = w->step.first + w->at.run * w->step.stride + (uint32_t) shift;

    return gr_split_at(split, (enum gr_space) space, blockIdx.x, w->at.slice, chunk);
}

/* Whether the step still has data to move; skips the empty chunks of its run. */
__device__ static GP_INLINE int gr_walk_more(const struct gr_split *split, struct gr_walk *w)
{
    for (; 0 != w->step.bits && w->at.run < w->step.count; w->at.run++, w->at.done = 0) {
        if (w->at.done < gr_walk_chunk(split, w, GR_OUT, 0).count) {
            return 1;
        }
    }
    return 0;
}

/* Go to where the next slot begins. 0: all steps are through. */
__device__ static GP_INLINE int gr_walk_slot(const struct gr_gpu_args *args,
                                             const struct gr_sched *sched, struct gr_walk *w)
{
    const struct gr_split *split = &args->split;

    while (w->at.slice < split->nslices) {
        if (!w->fetched) {
            if (0 != args->steps) {
                gr_step_read(args, w->at.index, &w->step);
            } else {
                w->step = GR_KERNEL_STEP(sched, w->at.index);
            }
            w->fetched = 1;
            w->changes++;
        }
        if (gr_walk_more(split, w)) {
            return 1;
        }
        w->at.run = 0;
        w->at.done = 0;
        w->fetched = 0;
        if (++w->at.index == w->len) {
            w->at.index = 0;
            w->at.slice++;
        }
    }
    return 0;
}

/* Find the next piece; at the end, at.over becomes 1. */
__device__ static GP_NOINLINE void gr_walk_next(const struct gr_gpu_args *args,
                                                const struct gr_sched *sched, struct gr_walk *w)
{
    const struct gr_split *split = &args->split;
    struct gr_range operand;
    size_t left;

    w->first = 0 == w->room;
    if (w->first) {
        if (w->at.over || !gr_walk_slot(args, sched, w)) {
            w->at.over = 1;
            return;
        }
        w->begin = w->at;
        w->room = args->slot_elems;
        w->slot = 0;
    } else {
        w->slot += w->count;
    }
    operand = gr_walk_chunk(split, w, w->step.operand, 0);
    left = operand.count - w->at.done;
    w->operand = operand.offset + w->at.done;
    w->dest = gr_walk_chunk(split, w, w->step.dest, w->step.shift).offset + w->at.done;
    w->count = left < w->room ? left : w->room;
    w->room -= w->count;
    w->at.done += w->count;
    /* in lines a slot takes one piece: threads share it out from the slot's begin */
    w->last = GR_PROTOCOL_SIMPLE != args->protocol || 0 == w->room || !gr_walk_more(split, w);
    if (w->last) {
        w->room = 0;
    }
}

#endif
