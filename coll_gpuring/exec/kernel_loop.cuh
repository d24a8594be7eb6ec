/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of a block: one channel. The last warp schedules, the other threads move data. Items are in two places that
 * take turns; while one piece is moved, the scheduler finds the next and looks whether its slots are ready already.
 *
 *      scheduler                                        data threads
 *      ---------------- barrier: item n is there, all of item n-1 is stored ----------------
 *      post the counters of n-1                         if n must wait: to the second barrier
 *      if n must wait: poll, or give up
 *      - - - - - - - - - - second barrier, where n had to wait: ready, or leave - - - - - - -
 *      count n's slots as handled                       move n
 *      find item n+1, look at its counters
 *
 * A piece waits only where it begins a slot, and the counters are posted after the slot's last. The two barriers are
 * the only order between data and counters: stores before the first one come before the release behind it, and loads
 * behind one come after the acquire before it.
 *
 * A block leaves only at the second barrier, when item n-1 is posted and nothing of n was touched. What it needs to go
 * on lies in memory: how far the links are, from the moment that a slot is handled, and the place where n begins.
 */
#ifndef GR_EXEC_KERNEL_LOOP_CUH
#define GR_EXEC_KERNEL_LOOP_CUH

#include "kernel_move.cuh"
#include "kernel_steps.cuh"

/* Tests hear of each piece when its slots are ready. */
#if !defined(GR_KERNEL_TRACE)
#define GR_KERNEL_TRACE(args, walk) ((void) 0)
#endif

/* Polls between two looks at the abort word, which lies in host memory. */
#define GR_ABORT_EVERY 64

enum gr_what {
    GR_ITEM_GO,   /* move it */
    GR_ITEM_WAIT, /* its slots were not ready when it was found */
    GR_ITEM_OVER  /* there is none: the block leaves */
};

struct gr_block {
    struct gr_item item[2];
    struct gr_walk walk;
    uint32_t go; /* 0: the item that had to wait will not be moved in this launch */
};

/*
 * A thread of the scheduler. Thread k < GR_FAN looks after from[k] of the step, thread GR_FAN + k after to[k]; all of
 * them know the rest alike.
 */
struct gr_scheduler {
    const struct gr_gpu_args *args;
    const struct gr_sched *sched;
    struct gr_block *block;
    uint32_t lane, writes;  /* writes: this thread's link is one to write to */
    uint32_t changes;       /* walk.changes when the link was looked up */
    int32_t peer;           /* rank at the other end, -1: no link */
    struct gr_gpu_end *end; /* of that link, */
    struct gr_gpu_end link; /* a copy; and */
    uint64_t seen;          /* the other end's counter, when last looked at */
    gr_gpu_ptr post;        /* the counter to be posted behind the next barrier, or 0; */
    uint64_t value;         /* as the link that is looked after may be another by then */
    uint64_t moved;
    uint32_t state;         /* an enum gr_gpu_state, once the block is to leave; 0 before */
    uint32_t unready;       /* threads whose slot it waited for in vain */
};

#define GR_ALL_LANES 0xffffffffu

/* ---- one thread's link ---- */

/* Look up this thread's link of the step. */
__device__ static GP_INLINE void gr_link_find(struct gr_scheduler *s)
{
    const struct gr_step *step = &s->block->walk.step;
    const struct gr_gpu_end *ends = (const struct gr_gpu_end *) (s->writes ? s->args->out : s->args->in);
    uint32_t k = s->writes ? s->lane - GR_FAN : s->lane;
    int32_t peer = -1;

    if (!s->writes && k < step->nfrom) {
        peer = step->from[k];
    } else if (s->writes && k < step->nto) {
        peer = step->to[k];
    }
    if (peer == s->peer) {
        return;
    }
    s->peer = peer;
    if (peer < 0) {
        return;
    }
    s->end = (struct gr_gpu_end *) ends + (size_t) blockIdx.x * (size_t) s->sched->p + (size_t) peer;
    s->link.slots = gp_ld(&s->end->slots);
    s->link.mine = gp_ld(&s->end->mine);
    s->link.other = gp_ld(&s->end->other);
    s->link.count = gp_ld(&s->end->count);
    /* as if no slot were ready */
    s->seen = s->link.count - (s->writes ? s->args->nslots : 0);
}

/* Whether this thread's link has a slot to read, to write. */
__device__ static GP_INLINE int gr_link_ready(struct gr_scheduler *s)
{
    uint64_t none = s->writes ? s->args->nslots : 0;

    if (s->peer < 0 || s->link.count - s->seen != none) {
        return 1;
    }
    s->seen = gp_ld_acquire((const uint64_t *) s->link.other);
    return s->link.count - s->seen != none;
}

/* ---- the scheduler ---- */

/* Write down the piece that was walked to: thread 0 what all know, the others the slots of their links. */
__device__ static GP_INLINE void gr_item_write(const struct gr_scheduler *s, struct gr_item *item, size_t elem_bytes)
{
    const struct gr_walk *w = &s->block->walk;
    const struct gr_step *step = &w->step;
    uint32_t operand = step->bits & GR_REDUCE || !(step->bits & GR_RECV);
    gr_gpu_ptr from = s->args->space[step->operand] + w->operand * elem_bytes;
    gr_gpu_ptr to = s->args->space[step->dest] + w->dest * elem_bytes;
    uint32_t store = step->bits & GR_STORE && (step->bits & GR_RECV || from != to); /* in place, it is there already */

    if (0 == s->lane) {
        item->count = w->count;
        item->nsrc = operand + step->nfrom;
        item->ndst = store + step->nto;
        if (operand) {
            item->src[0] = from;
        }
        if (store) {
            item->dst[0] = to;
        }
    }
    if (s->peer >= 0) {
        uint64_t number = s->link.count % s->args->nslots;
        gr_gpu_ptr at = s->link.slots + number * s->args->slot_bytes + w->slot * elem_bytes;

        if (s->writes) {
            item->dst[store + s->lane - GR_FAN] = at;
        } else {
            item->src[operand + s->lane] = at;
        }
    }
}

/* Find the next piece. It must wait if it begins a slot and its links are not ready yet. */
__device__ static GP_INLINE void gr_prepare(struct gr_scheduler *s, struct gr_item *item, size_t elem_bytes)
{
    struct gr_walk *w = &s->block->walk;
    uint32_t what = GR_ITEM_GO;

    __syncwarp(); /* all know what they need of the last piece; and a link's count, which another may look after now */
    if (0 == s->lane) {
        gr_walk_next(s->args, s->sched, w);
    }
    __syncwarp();
    if (w->at.over) {
        s->state = 0 == s->state ? (uint32_t) GR_GPU_DONE : s->state;
        what = GR_ITEM_OVER;
    } else {
        if (s->changes != w->changes) {
            s->changes = w->changes;
            gr_link_find(s);
        }
        gr_item_write(s, item, elem_bytes);
        if (w->first && !__all_sync(GR_ALL_LANES, gr_link_ready(s))) {
            what = GR_ITEM_WAIT;
        }
    }
    if (0 == s->lane) {
        item->what = what;
    }
}

/* The host wants all blocks to leave. */
__device__ static GP_INLINE int gr_aborted(const struct gr_scheduler *s)
{
    uint64_t word = 0;

    if (0 == s->lane) {
        word = gp_ld_relaxed((const uint64_t *) s->args->abort);
    }
    return __any_sync(GR_ALL_LANES, 0 != word);
}

/* Poll until the links are ready; 0 when it must leave instead. */
__device__ static GP_INLINE uint32_t gr_wait(struct gr_scheduler *s)
{
    uint64_t polls = 0;

    for (;;) {
        s->unready = __ballot_sync(GR_ALL_LANES, !gr_link_ready(s));
        if (0 == s->unready) {
            return 1;
        }
        if (++polls >= s->args->patience) {
            s->state = GR_GPU_LEFT;
            return 0;
        }
        if (0 == polls % GR_ABORT_EVERY && gr_aborted(s)) {
            s->state = GR_GPU_ABORTED;
            return 0;
        }
        gp_spin();
    }
}

/* The item will be moved for certain: with a slot's last piece, the slot is handled. */
__device__ static GP_INLINE void gr_claim(struct gr_scheduler *s)
{
    if (0 == s->lane) {
        GR_KERNEL_TRACE(s->args, &s->block->walk);
    }
    if (!s->block->walk.last) {
        return;
    }
    s->moved++;
    if (s->peer >= 0) {
        s->link.count++;
        gp_st(&s->end->count, s->link.count);
        s->post = s->link.mine;
        s->value = s->link.count;
    }
}

/* All threads are through with the slot. */
__device__ static GP_INLINE void gr_post(struct gr_scheduler *s)
{
    if (0 != s->post) {
        gp_st_release((uint64_t *) s->post, s->value);
        s->post = 0;
    }
}

/* What the next launch goes on with, and what the host is told. */
__device__ static GP_INLINE void gr_leave(const struct gr_scheduler *s)
{
    struct gr_gpu_place *place = (struct gr_gpu_place *) s->args->place + blockIdx.x;
    struct gr_gpu_report *report = (struct gr_gpu_report *) s->args->report + blockIdx.x;
    const struct gr_gpu_place *at = &s->block->walk.begin;

    __syncwarp(); /* what the other threads stored is there when the report is */
    if (0 != s->lane) {
        return;
    }
    if (GR_GPU_LEFT == s->state) {
        gp_st(&place->slice, at->slice);
        gp_st(&place->index, at->index);
        gp_st(&place->run, at->run);
        gp_st(&place->done, at->done);
        gp_st(&report->slice, at->slice);
        gp_st(&report->index, at->index);
    }
    if (GR_GPU_ABORTED != s->state) {
        gp_st(&place->over, (uint32_t) (GR_GPU_DONE == s->state));
    }
    gp_st(&report->from, s->unready & ((1u << GR_FAN) - 1));
    gp_st(&report->to, s->unready >> GR_FAN);
    gp_st(&report->moved, s->moved);
    gp_st_release(&report->word, s->args->launch * 4 + s->state);
}

/* Where the channel is: at the beginning, or where the last launch left it. */
__device__ static GP_INLINE struct gr_gpu_place gr_place_load(const struct gr_gpu_args *args)
{
    const struct gr_gpu_place *place = (const struct gr_gpu_place *) args->place + blockIdx.x;
    struct gr_gpu_place at;

    at.slice = at.index = at.run = at.over = 0;
    at.done = 0;
    if (!args->fresh) {
        at.slice = gp_ld(&place->slice);
        at.index = gp_ld(&place->index);
        at.run = gp_ld(&place->run);
        at.over = gp_ld(&place->over);
        at.done = gp_ld(&place->done);
    }
    return at;
}

__device__ static GP_INLINE void gr_enter(struct gr_scheduler *s, const struct gr_gpu_args *args,
                                          struct gr_block *block, uint32_t lane)
{
    s->args = args;
    s->sched = &args->sched[blockIdx.x % 2];
    s->block = block;
    s->lane = lane;
    s->writes = lane >= GR_FAN;
    s->changes = 0;
    s->peer = -1;
    s->end = NULL;
    s->link.slots = s->link.mine = s->link.other = s->link.count = s->seen = 0;
    s->post = s->value = 0;
    s->moved = 0;
    s->unready = 0;
    s->state = gr_aborted(s) ? GR_GPU_ABORTED : 0;
    if (0 == lane) {
        gr_walk_begin(&block->walk, s->sched, gr_place_load(args));
        block->walk.at.over |= 0 != s->state;
    }
}

/* The scheduler's side of the loop. */
__device__ static GP_INLINE void gr_schedule(const struct gr_gpu_args *args, struct gr_block *block, uint32_t lane,
                                             size_t elem_bytes)
{
    struct gr_scheduler s;
    uint32_t n, what, go;

    gr_enter(&s, args, block, lane);
    for (n = 0;; n ^= 1) {
        gr_prepare(&s, &block->item[n], elem_bytes);
        gp_barrier(); /* the item is there, all of the one before is stored */
        what = block->item[n].what;
        gr_post(&s);
        if (GR_ITEM_OVER == what) {
            break;
        }
        if (GR_ITEM_WAIT == what) {
            go = gr_wait(&s);
            if (0 == lane) {
                block->go = go;
            }
            gp_barrier(); /* its slots are ready, or it stays untouched */
            if (!go) {
                break;
            }
        }
        gr_claim(&s);
    }
    gr_leave(&s);
}

/* The other threads' side. */
template <class Mover> __device__ static GP_INLINE void gr_move_items(const struct gr_block *block)
{
    const struct gr_item *item;
    uint32_t n;

    for (n = 0;; n ^= 1) {
        item = &block->item[n];
        gp_barrier();
        if (GR_ITEM_OVER == item->what) {
            break;
        }
        if (GR_ITEM_WAIT == item->what) {
            gp_barrier();
            if (!block->go) {
                break;
            }
        }
        Mover::move(item);
    }
}

template <class Mover> __device__ static GP_INLINE void gr_run_channel(const struct gr_gpu_args *args)
{
    __shared__ struct gr_block block;
    uint32_t first = GP_BLOCK_THREADS - 32;

    if (threadIdx.x >= first) {
        gr_schedule(args, &block, threadIdx.x - first, Mover::elem_bytes);
    } else {
        gr_move_items<Mover>(&block);
    }
}

#endif
