/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler's threads (loop.cuh). Each one handles one link of the current step: it finds the
 * link, polls for a slot, and decides whether results bypass the slots (zero copy).
 */
#ifndef GR_EXEC_GPU_KERNELS_LINK_CUH
#define GR_EXEC_GPU_KERNELS_LINK_CUH

#include "exec/gpu/kernels/item.cuh"
#include "exec/gpu/kernels/steps.cuh"

/* The state of an item. */
enum gr_item_kind {
    GR_ITEM_READY, /* its slots are ready: move it */
    GR_ITEM_WAIT,  /* its slots were not ready when the scheduler found the item */
    GR_ITEM_END    /* there is no item: the block exits */
};

/* The shared memory of a block. */
struct gr_block {
    struct gr_item item[2];     /* used in turns */
    struct gr_gpu_cursor begin; /* where the slot of the last piece began */
    uint32_t go;                /* 1: the item that waited is ready; 0: the block exits */
    uint32_t stop;              /* LL, LL128: 1: a data thread gave up, so the block exits */
};

/*
 * A scheduler thread. Thread k < GR_FAN handles from[k] of the step, thread GR_FAN + k handles
 * to[k]. Fields that do not belong to a link are equal in all threads.
 */
struct gr_scheduler {
    const struct gr_gpu_args *args;
    struct gr_block *block;
    uint32_t lane;            /* this thread's number in the warp */
    uint32_t writes;          /* 1: this thread's link is one to a peer */
    uint32_t lines;           /* 1: LL or LL128 */
    struct gr_walk walk;      /* the channel's position */
    int32_t peer;             /* rank at the other end of the link; -1: no link */
    struct gr_gpu_end *end;   /* this end of the link, in device memory */
    struct gr_gpu_end link;   /* a copy of *end */
    uint64_t seen;            /* last known value of the other end's counter */
    gr_gpu_ptr peer_out;      /* zero copy: the peer's GR_OUT; 0: not accessible */
    uint32_t zero_copy_known; /* zero copy: `zero_copy` is valid */
    uint32_t zero_copy;       /* zero copy: results bypass this link's slots */
    gr_gpu_ptr post;          /* counter to store after the next barrier; 0: none */
    uint64_t value;           /* value to store there */
    uint32_t moved;           /* slots handled in this launch */
    uint32_t state;           /* enum gr_gpu_state when the block exits; 0: it does not */
    uint32_t unready;         /* mask of the threads whose slots were not ready */
};

#define GR_ALL_LANES 0xffffffffu

/* Find this thread's link of the current step. */
__device__ static GP_INLINE void gr_link_find(struct gr_scheduler *s)
{
    const struct gr_walk *w = &s->walk;
    struct gr_gpu_end *ends = (struct gr_gpu_end *) (s->writes ? s->args->out : s->args->in);
    uint32_t k = s->writes ? s->lane - GR_FAN : s->lane;
    int32_t peer = k < (s->writes ? w->step.nto : w->step.nfrom) ? (int32_t) w->end : -1;

    if (peer == s->peer) {
        return;
    }
    s->peer = peer;
    if (peer < 0) {
        return;
    }
    s->end = &ends[(size_t) blockIdx.x * s->args->p + (size_t) peer];
    s->link.slots = gp_ld(&s->end->slots);
    s->link.mine = gp_ld(&s->end->mine);
    s->link.other = gp_ld(&s->end->other);
    s->link.valid_bytes = gp_ld(&s->end->valid_bytes);
    s->link.count = gp_ld(&s->end->count);
    s->link.position = gp_ld(&s->end->position);
    /* no slot is ready, as far as is known */
    s->seen = s->link.count - (s->writes ? s->args->nslots : 0);
    s->peer_out =
        0 != s->args->zero && s->writes ? gp_ld((const gr_gpu_ptr *) s->args->peers + peer) : 0;
    s->zero_copy_known = s->zero_copy = 0;
}

/*
 * Zero copy: decide whether results bypass this link's slots, once per call. Returns 0 if the
 * reader's permission is still missing. A reader calls this when a slot is full: by then the writer
 * has published its decision.
 */
__device__ static GP_INLINE int gr_link_zero_copy(struct gr_scheduler *s)
{
    uint64_t call = s->args->zero, word;

    if (s->zero_copy_known) {
        return 1;
    }
    if (!s->writes) {
        s->zero_copy =
            gp_ld_relaxed((const uint64_t *) (s->link.other + GR_GPU_ZERO_COPY_AT)) == call;
    } else if (0 != s->peer_out) {
        word = gp_ld_acquire((const uint64_t *) (s->link.other + GR_GPU_OPEN_AT));
        if (word < 2 * call) {
            return 0;
        }
        s->zero_copy = word == 2 * call + 1;
        if (s->zero_copy) {
            /*
             * Release order puts this before the tail. If the thread has handled another link in
             * between, it stores the same value again, which the reader may be polling.
             */
            gp_st_release((uint64_t *) (s->link.mine + GR_GPU_ZERO_COPY_AT), call);
        }
    }
    s->zero_copy_known = 1;
    return 1;
}

/* Zero copy: whether this thread's message is a final result. Messages to be reduced are not. */
__device__ static GP_INLINE int gr_may_zero_copy(const struct gr_scheduler *s)
{
    uint32_t bits = s->walk.step.bits;

    return 0 != s->args->zero && bits & GR_FINAL && (s->writes || !(bits & GR_REDUCE));
}

/* Whether this thread's link has a full slot to read, or a free slot to write. */
__device__ static GP_INLINE int gr_link_ready(struct gr_scheduler *s)
{
    uint64_t none = s->writes ? s->args->nslots : 0;

    if (s->peer < 0 || (s->lines && !s->writes)) {
        return 1;
    }
    if (s->link.count - s->seen == none) {
        s->seen = gp_ld_acquire((const uint64_t *) s->link.other);
    }
    return s->link.count - s->seen != none && (!gr_may_zero_copy(s) || gr_link_zero_copy(s));
}

/* Zero copy: tell the senders whether they may store results in this rank's output. */
__device__ static GP_INLINE void gr_allow_zero_copy(const struct gr_gpu_args *args, uint32_t lane)
{
    uint32_t r, p = args->p;
    const struct gr_gpu_end *end;
    gr_gpu_ptr head;

    for (r = lane; r < p; r += 32) {
        end = (const struct gr_gpu_end *) args->in + (size_t) blockIdx.x * p + r;
        head = gp_ld(&end->mine);
        if (0 != head) {
            gp_st_release((uint64_t *) (head + GR_GPU_OPEN_AT), 2 * args->zero + args->allows);
        }
    }
}

#endif
