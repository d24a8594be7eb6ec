/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of a channel's slots, one after the other: the loop of stepper.c turned inside out.
 * All threads of the scheduler's warp walk alike. Steps come from a table; the next one is on its
 * way while a step is handled.
 */
#ifndef GR_EXEC_GPU_KERNELS_STEPS_CUH
#define GR_EXEC_GPU_KERNELS_STEPS_CUH

#include "exec/gpu/kernels/port.cuh"

#include "exec/gpu/args.h"

struct gr_walk {
    struct gr_gpu_cursor at;      /* of the next piece */
    gr_gpu_ptr steps;             /* the channel's schedule */
    struct gr_gpu_step_head step; /* number at.index */
    uint32_t end;    /* of it: the rank at the other end of this thread's link, if it has one */
    uint4 next_step; /* the step after it, in few registers */
    uint32_t next_end;
    uint32_t lane;    /* this thread's number in the warp */
    uint32_t fetched; /* `step` is the current step */
    uint32_t changed; /* the last piece is the first one of its step */
    /* the chunk of at.run: its block's begin, its offset in the block, and its elements */
    uint64_t block, offset, elems;
    /* elements that the slot still takes; 0: the next piece begins a slot */
    uint64_t room;
    /* the piece, in elements: */
    uint64_t operand, dest; /* offsets in their spaces */
    uint64_t slot;          /* offset in the slot */
    uint64_t count;
    uint32_t first, last; /* whether it begins, ends the slot */
};

/* The chunk that comes next. */
__device__ static GP_INLINE uint32_t gr_step_chunk(const struct gr_walk *w)
{
    return (w->step.first + w->at.run * w->step.stride) & 0xffff;
}

/* Load step number i of this channel, ahead of its use. */
__device__ static GP_INLINE void gr_step_load(struct gr_walk *w, uint32_t i)
{
    const struct gr_gpu_step *at = (const struct gr_gpu_step *) w->steps + i;

    w->next_step = gp_ld((const uint4 *) &at->head);
    w->next_end = gp_ld(&at->end[w->lane % (2 * GR_FAN)]);
}

/* Begin at a cursor, which must be where a slot begins. *w is zero. */
__device__ static GP_INLINE void gr_walk_begin(struct gr_walk *w, const struct gr_gpu_args *args,
                                               struct gr_gpu_cursor at, uint32_t lane)
{
    size_t first = (size_t) (blockIdx.x % args->schedules) * args->nsteps;

    w->at = at;
    w->lane = lane;
    w->steps = args->steps + first * sizeof(struct gr_gpu_step);
    if (!at.over) {
        gr_step_load(w, at.index);
    }
}

/* The current step becomes the one that was loaded ahead. */
__device__ static GP_INLINE void gr_walk_fetch(struct gr_walk *w, const struct gr_gpu_args *args)
{
    memcpy(&w->step, &w->next_step, sizeof(w->step));
    w->end = w->next_end;
    gr_step_load(w, w->at.index + 1 == args->nsteps ? 0 : w->at.index + 1);
    w->fetched = w->changed = 1;
}

/* Find where a chunk of the current slice lies. */
__device__ static GP_INLINE void gr_walk_find(const struct gr_gpu_split *split, struct gr_walk *w,
                                              uint32_t chunk)
{
    uint64_t number = ((uint64_t) blockIdx.x * split->nslices + w->at.slice) * split->nchunks;
    uint64_t count, cell;

    if (0 != split->cells) {
        const uint64_t *cells = (const uint64_t *) split->cells + 3 * (size_t) chunk;

        w->block = gp_ld(&cells[0]);
        count = gp_ld(&cells[1]);
        cell = gp_ld(&cells[2]);
    } else {
        w->block = split->blocks ? chunk * split->block : 0;
        count = w->block >= split->end                 ? 0
                : split->end - w->block < split->block ? split->end - w->block
                                                       : split->block;
        cell = split->cell;
    }
    w->offset = (number + (split->blocks ? 0 : chunk)) * cell;
    w->elems = w->offset >= count ? 0 : count - w->offset < cell ? count - w->offset : cell;
}

/* Offset of the chunk that was found, in a space. */
__device__ static GP_INLINE uint64_t gr_walk_offset(const struct gr_gpu_split *split,
                                                    const struct gr_walk *w, uint32_t space)
{
    return w->offset + (split->own >> space & 1 ? 0 : w->block);
}

/* Whether the step still has data to move; skips the empty chunks of its run. */
__device__ static GP_INLINE int gr_walk_more(const struct gr_gpu_split *split, struct gr_walk *w)
{
    for (; 0 != w->step.bits && w->at.run < w->step.count; w->at.run++, w->at.done = 0) {
        gr_walk_find(split, w, gr_step_chunk(w));
        if (w->at.done < w->elems) {
            return 1;
        }
    }
    return 0;
}

/* Go to where the next slot begins. 0: all steps are through. */
__device__ static GP_INLINE int gr_walk_slot(const struct gr_gpu_args *args, struct gr_walk *w)
{
    while (w->at.slice < args->split.nslices) {
        if (!w->fetched) {
            gr_walk_fetch(w, args);
        }
        if (gr_walk_more(&args->split, w)) {
            return 1;
        }
        w->at.run = 0;
        w->at.done = 0;
        w->fetched = 0;
        if (++w->at.index == args->nsteps) {
            w->at.index = 0;
            w->at.slice++;
        }
    }
    return 0;
}

/*
 * Find the next piece; at the end, at.over becomes 1. *begin, in shared memory: where the piece's
 * slot begins.
 */
__device__ static GP_INLINE void gr_walk_next(const struct gr_gpu_args *args, struct gr_walk *w,
                                              struct gr_gpu_cursor *begin)
{
    const struct gr_gpu_split *split = &args->split;
    uint64_t left, done;

    w->changed = 0;
    w->slot += w->count;
    w->first = 0 == w->room;
    if (w->first) {
        if (w->at.over || !gr_walk_slot(args, w)) {
            w->at.over = 1;
            return;
        }
        if (0 == w->lane) {
            *begin = w->at;
        }
        w->room = args->slot_elems;
        w->slot = 0;
    }
    done = w->at.done;
    left = w->elems - done;
    w->count = left < w->room ? left : w->room;
    w->room -= w->count;
    w->at.done += w->count;
    w->operand = gr_walk_offset(split, w, w->step.operand) + done;
    if (0 != w->step.shift) {
        gr_walk_find(split, w, (gr_step_chunk(w) + w->step.shift) & 0xffff);
    }
    w->dest = gr_walk_offset(split, w, w->step.dest) + done;
    /* in lines a slot takes one piece: threads share it out from the slot's begin */
    w->last = GR_PROTOCOL_SIMPLE != args->protocol || 0 == w->room || !gr_walk_more(split, w);
    if (w->last) {
        w->room = 0;
    }
}

#endif
