/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main loop of a block, which runs one channel. The last warp is the scheduler, the other
 * threads move data. There are two items, used in turns: while the data threads move one, the
 * scheduler finds the next one and polls its slots.
 *
 *      scheduler                                        data threads
 *      ------------------- barrier 1: item n is written, item n-1 is stored -----------------
 *      post the counters of n-1                         if n waits: go to barrier 2
 *      if n waits: poll its slots, or give up
 *      - - - - - - - - - barrier 2, only if n waited: n is ready, or the block exits - - - - -
 *      count n's slots as handled                       move n
 *      find item n+1, poll its slots once
 *
 * An item waits only if it begins a slot. Counters are posted after the slot's last item. The two
 * barriers order data and counters: stores before barrier 1 are visible before the release after
 * it, and loads after a barrier follow the acquire before it.
 *
 * In LL and LL128 (ll.cuh) the data threads find out whether a message has arrived, and the
 * scheduler polls for free slots only. A third barrier, before n is stored and its slots count as
 * handled, tells whether all threads have their units.
 *
 * A block exits only at one of these barriers: item n-1 is posted, and n is untouched. The state
 * for the next launch is in memory: the counters of the links, and the cursor of the slot where n
 * begins.
 */
#ifndef GR_EXEC_GPU_KERNELS_LOOP_CUH
#define GR_EXEC_GPU_KERNELS_LOOP_CUH

#include "exec/gpu/kernels/ll.cuh"
#include "exec/gpu/kernels/link.cuh"

/* A hook for tests, called for each item when its slots are ready. */
#if !defined(GR_KERNEL_TRACE)
#define GR_KERNEL_TRACE(args, walk, begin) ((void) 0)
#endif

/* ---- the scheduler ---- */

/*
 * Write the item for the current piece. Each thread writes the address of its link's slot, and
 * thread 0 the rest. A result that bypassed its slot is in the output already, and is sent from
 * there.
 */
__device__ static GP_INLINE void gr_item_write(const struct gr_scheduler *s, struct gr_item *item,
                                               size_t elem_bytes)
{
    const struct gr_walk *w = &s->walk;
    const struct gr_gpu_step_head *step = &w->step;
    gr_gpu_ptr at = s->link.slots + s->link.position * s->args->slot_bytes + w->slot * elem_bytes;
    uint32_t k = s->writes ? s->lane - GR_FAN : s->lane, clean;
    uint32_t operand = step->bits & GR_REDUCE || !(step->bits & GR_RECV);
    gr_gpu_ptr from = s->args->space[step->operand] + w->operand * elem_bytes;
    gr_gpu_ptr to = s->args->space[step->dest] + w->dest * elem_bytes;
    /* an in-place operand needs no copy */
    uint32_t store = step->bits & GR_STORE && (step->bits & GR_RECV || from != to);
    uint32_t bypass = gr_may_zero_copy(s) && s->peer >= 0 && s->zero_copy, stored = 0;

    if (0 != s->args->zero) {
        stored = __any_sync(GR_ALL_LANES, bypass && !s->writes);
        store &= !stored;
    }
    if (bypass) {
        at = s->writes ? s->peer_out + w->dest * elem_bytes : to;
    }
    if (0 == s->lane) {
        item->count = stored && 0 == step->nto ? 0 : w->count;
        item->nsrc = operand + step->nfrom;
        item->ndst = store + step->nto;
        item->operand = operand ? step->before : item->nsrc;
        item->stores = store;
        if (operand) {
            item->src[step->before] = from;
        }
        if (store) {
            item->dst[0] = to;
        }
    }
    if (s->peer >= 0 && s->writes) {
        item->dst[store + k] = at;
        item->dst_flag[store + k] = s->link.count + 1;
    } else if (s->peer >= 0) {
        k += operand && k >= step->before;
        item->src[k] = at;
        item->src_flag[k] = s->link.count + 1;
    }
    clean = s->peer >= 0 && s->writes && s->link.count % GR_LL_CYCLE < s->args->nslots;
    clean = __any_sync(GR_ALL_LANES, clean);
    if (0 == s->lane) {
        item->clean = clean;
    }
}

/* Find the next item. It waits if it begins a slot and a link of it is not ready. */
__device__ static GP_INLINE void gr_prepare(struct gr_scheduler *s, struct gr_item *item,
                                            size_t elem_bytes)
{
    struct gr_walk *w = &s->walk;
    uint32_t kind = GR_ITEM_READY;

    gr_walk_next(s->args, w, &s->block->begin);
    __syncwarp(); /* a link's count is visible to its next thread */
    if (w->at.over) {
        s->state = GR_GPU_DONE;
        kind = GR_ITEM_END;
    } else {
        if (w->changed) {
            gr_link_find(s);
        }
        if (w->first && !__all_sync(GR_ALL_LANES, gr_link_ready(s))) {
            kind = GR_ITEM_WAIT;
        }
        gr_item_write(s, item, elem_bytes);
    }
    if (0 == s->lane) {
        item->kind = kind;
    }
}

/* Whether the host has set the abort word. */
__device__ static GP_INLINE int gr_aborted(const struct gr_scheduler *s)
{
    uint64_t word = 0;

    if (0 == s->lane) {
        word = gp_ld_relaxed((const uint64_t *) s->args->abort);
    }
    return __any_sync(GR_ALL_LANES, 0 != word);
}

/* Poll until all links are ready. Returns 0 if the block must exit instead. */
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

/* LL, LL128: find the links whose messages are missing, for the report. The block exits. */
__device__ static GP_INLINE void gr_find_missing(struct gr_scheduler *s, const struct gr_item *item)
{
    uint32_t reads = s->peer >= 0 && !s->writes, late = 0;
    uint64_t words[2] = {0, 0};

    if (reads) {
        uint32_t k = s->lane + (item->operand <= s->lane);
        gr_gpu_ptr at = item->src[k];

        /* test only the first unit of LL, or the first line of LL128 */
        if (GR_PROTOCOL_LL == s->args->protocol) {
            gp_ld_pair((const void *) at, &words[0], &words[1]);
            late = words[0] >> 32 != (uint32_t) item->src_flag[k];
        } else {
            gp_ld_pair((const void *) (at + 112), &words[0], &words[1]);
            late = words[1] != item->src_flag[k];
        }
    }
    s->unready = __ballot_sync(GR_ALL_LANES, late);
    if (0 == s->unready) {
        s->unready = __ballot_sync(GR_ALL_LANES, reads);
    }
    s->state = gr_aborted(s) ? GR_GPU_ABORTED : GR_GPU_LEFT;
}

/*
 * The item will be moved: if it is the slot's last one, count the slot as handled. The thread that
 * stores the slot's length also posts the tail, so the two are in order.
 */
__device__ static GP_INLINE void gr_count_slot(struct gr_scheduler *s, size_t elem_bytes)
{
    const struct gr_walk *w = &s->walk;

    if (0 == s->lane) {
        GR_KERNEL_TRACE(s->args, w, &s->block->begin);
    }
    if (!w->last) {
        return;
    }
    s->moved++;
    if (s->peer >= 0) {
        if (0 != s->link.valid_bytes) {
            gp_st((uint32_t *) s->link.valid_bytes + s->link.position,
                  (uint32_t) ((w->slot + w->count) * elem_bytes));
        }
        s->link.count++;
        s->link.position = s->link.position + 1 == s->args->nslots ? 0 : s->link.position + 1;
        gp_st(&s->end->count, s->link.count);
        gp_st(&s->end->position, s->link.position);
        s->post = s->link.mine;
        s->value = s->link.count;
    }
}

/* All threads have finished the slot: post its counter. */
__device__ static GP_INLINE void gr_post(struct gr_scheduler *s)
{
    if (0 != s->post) {
        gp_st_release((uint64_t *) s->post, s->value);
        s->post = 0;
    }
}

/*
 * Store the cursor for the next launch, and the report for the host. A channel that is done stores
 * one word: the host waits for it, and each store to the host's memory costs time.
 */
__device__ static GP_INLINE void gr_leave(const struct gr_scheduler *s)
{
    struct gr_gpu_cursor *cursor = (struct gr_gpu_cursor *) s->args->cursor + blockIdx.x;
    struct gr_gpu_report *report = (struct gr_gpu_report *) s->args->report + blockIdx.x;
    const struct gr_gpu_cursor *at = &s->block->begin;

    __syncwarp(); /* the other threads' stores are visible before the report */
    if (0 != s->lane) {
        return;
    }
    if (GR_GPU_LEFT == s->state) {
        gp_st(&cursor->slice, at->slice);
        gp_st(&cursor->index, at->index);
        gp_st(&cursor->run, at->run);
        gp_st(&cursor->done, at->done);
        gp_st(&report->slice, at->slice);
        gp_st(&report->index, at->index);
        gp_st(&report->from, s->unready & ((1u << GR_FAN) - 1));
        gp_st(&report->to, s->unready >> GR_FAN);
    }
    gp_st_release(&report->word, gr_gpu_report_word(s->args->launch, s->state, s->moved));
}

/* The channel's cursor: the beginning, or where the last launch stopped. */
__device__ static GP_INLINE struct gr_gpu_cursor gr_cursor_load(const struct gr_gpu_args *args)
{
    const struct gr_gpu_cursor *cursor = (const struct gr_gpu_cursor *) args->cursor + blockIdx.x;
    struct gr_gpu_cursor at = {};

    at.over = args->over >> blockIdx.x & 1 || 0 == args->nsteps;
    if (!args->fresh) {
        at.slice = gp_ld(&cursor->slice);
        at.index = gp_ld(&cursor->index);
        at.run = gp_ld(&cursor->run);
        at.done = gp_ld(&cursor->done);
    }
    return at;
}

__device__ static GP_INLINE void gr_scheduler_init(struct gr_scheduler *s,
                                                   const struct gr_gpu_args *args,
                                                   struct gr_block *block, uint32_t lane)
{
    *s = {};
    s->args = args;
    s->block = block;
    s->lane = lane;
    s->writes = lane >= GR_FAN;
    s->lines = GR_PROTOCOL_SIMPLE != args->protocol;
    s->peer = -1;
    if (0 != args->zero && args->fresh) {
        gr_allow_zero_copy(args, lane);
    }
    if (0 == lane) {
        block->stop = 0;
    }
    gr_walk_begin(&s->walk, args, gr_cursor_load(args), lane);
}

/* The loop of the scheduler. */
__device__ static GP_INLINE void gr_schedule(const struct gr_gpu_args *args, struct gr_block *block,
                                             uint32_t lane, size_t elem_bytes)
{
    struct gr_scheduler s;
    uint32_t n, kind, go;

    gr_scheduler_init(&s, args, block, lane);
    for (n = 0;; n ^= 1) {
        gr_prepare(&s, &block->item[n], elem_bytes);
        gp_barrier(); /* barrier 1 */
        kind = block->item[n].kind;
        gr_post(&s);
        if (GR_ITEM_END == kind) {
            break;
        }
        if (GR_ITEM_WAIT == kind) {
            go = gr_wait(&s);
            if (go && 0 != args->zero) {
                /* the addresses may have changed: results may bypass the slots */
                gr_item_write(&s, &block->item[n], elem_bytes);
            }
            if (0 == lane) {
                block->go = go;
            }
            gp_barrier(); /* barrier 2 */
            if (!go) {
                break;
            }
        }
        if (s.lines && !gp_barrier_and(1)) { /* barrier 3: a unit is missing */
            gr_find_missing(&s, &block->item[n]);
            break;
        }
        gr_count_slot(&s, elem_bytes);
    }
    gr_leave(&s);
}

/* Data threads: wait for the next item. Returns NULL: the block exits. */
__device__ static GP_INLINE const struct gr_item *gr_item_next(const struct gr_block *block,
                                                               uint32_t n)
{
    const struct gr_item *item;

    item = &block->item[n];
    gp_barrier();
    if (GR_ITEM_END == item->kind) {
        return NULL;
    }
    if (GR_ITEM_WAIT == item->kind) {
        gp_barrier();
        if (!block->go) {
            return NULL;
        }
    }
    return item;
}

/* The loop of the data threads, protocol Simple. */
template <class Mover> __device__ static GP_INLINE void gr_move_items(const struct gr_block *block)
{
    const struct gr_item *item;
    uint32_t n;

    for (n = 0; NULL != (item = gr_item_next(block, n)); n ^= 1) {
        Mover::move(item);
    }
}

/* The loop of the data threads, protocols LL and LL128. */
template <class Mover, class Lines>
__device__ static GP_INLINE void gr_move_lines(const struct gr_gpu_args *args,
                                               struct gr_block *block)
{
    const struct gr_item *item;
    struct gr_unit u;
    uint4 v;
    uint32_t n;

    for (n = 0; NULL != (item = gr_item_next(block, n)); n ^= 1) {
        v = make_uint4(0, 0, 0, 0);
        u = Lines::find(threadIdx.x, item->count * Mover::elem_bytes, Mover::elem_bytes);
        if (!gp_barrier_and(gr_receive_unit<Mover, Lines>(args, item, u, &block->stop, &v))) {
            break;
        }
        gr_send_unit<Lines>(args, item, u, v);
    }
}

template <class Mover>
__device__ static GP_INLINE void gr_run_channel(const struct gr_gpu_args *args)
{
    __shared__ struct gr_block block;
    uint32_t first = blockDim.x - 32;

    if (threadIdx.x >= first) {
        gr_schedule(args, &block, threadIdx.x - first, Mover::elem_bytes);
    } else if (GR_PROTOCOL_SIMPLE == args->protocol) {
        gr_move_items<Mover>(&block);
    } else if (GR_PROTOCOL_LL == args->protocol) {
        gr_move_lines<Mover, gr_ll>(args, &block);
    } else {
        gr_move_lines<Mover, gr_ll128>(args, &block);
    }
}

#endif
