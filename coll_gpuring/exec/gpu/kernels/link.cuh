/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of the scheduler (loop.cuh) and the link that it looks after: where it is, whether it
 * has a slot to read or to write, and whether results go past its slots.
 */
#ifndef GR_EXEC_GPU_KERNELS_LINK_CUH
#define GR_EXEC_GPU_KERNELS_LINK_CUH

#include "exec/gpu/kernels/copy.cuh"
#include "exec/gpu/kernels/steps.cuh"

enum gr_what {
    GR_ITEM_GO,   /* move it */
    GR_ITEM_WAIT, /* its slots were not ready when it was found */
    GR_ITEM_OVER  /* there is none: the block leaves */
};

struct gr_block {
    struct gr_item item[2];
    struct gr_sched sched; /* of this channel */
    struct gr_walk walk;
    uint32_t go;   /* 0: the item that had to wait will not be moved in this launch */
    uint32_t stop; /* 1: a thread that takes lines gave up; then the block leaves */
};

/*
 * A thread of the scheduler. Thread k < GR_FAN looks after from[k] of the step, thread GR_FAN + k
 * after to[k]; all of them know the rest alike.
 */
struct gr_scheduler {
    const struct gr_gpu_args *args;
    struct gr_block *block;
    uint32_t lane, writes;  /* writes: this thread's link is one to write to */
    uint32_t lines;         /* not the Simple protocol */
    uint32_t changes;       /* walk.changes when the link was looked up */
    int32_t peer;           /* rank at the other end, -1: no link */
    struct gr_gpu_end *end; /* of that link, */
    struct gr_gpu_end link; /* a copy; and */
    uint64_t seen;          /* the other end's counter, when last looked at */
    gr_gpu_ptr beyond;      /* where the reader at the other end has its GR_OUT; 0: out of reach */
    uint32_t asked, past;   /* whether it is known: do results go past this link's slots? */
    gr_gpu_ptr post;        /* the counter to be posted behind the next barrier, or 0; */
    uint64_t value;         /* as the link that is looked after may be another by then */
    uint64_t moved;
    uint32_t state;   /* an enum gr_gpu_state, once the block is to leave; 0 before */
    uint32_t unready; /* threads whose slot it waited for in vain */
};

#define GR_ALL_LANES 0xffffffffu

/* Look up this thread's link of the step. */
__device__ static GP_INLINE void gr_link_find(struct gr_scheduler *s)
{
    const struct gr_step *step = &s->block->walk.step;
    const struct gr_gpu_end *ends =
        (const struct gr_gpu_end *) (s->writes ? s->args->out : s->args->in);
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
    s->end = (struct gr_gpu_end *) ends + (size_t) blockIdx.x * (size_t) s->args->sched[0].p +
             (size_t) peer;
    s->link.slots = gp_ld(&s->end->slots);
    s->link.mine = gp_ld(&s->end->mine);
    s->link.other = gp_ld(&s->end->other);
    s->link.count = gp_ld(&s->end->count);
    s->link.fill = gp_ld(&s->end->fill);
    /* as if no slot were ready */
    s->seen = s->link.count - (s->writes ? s->args->nslots : 0);
    s->beyond =
        0 != s->args->zero && s->writes ? gp_ld((const gr_gpu_ptr *) s->args->peers + peer) : 0;
    s->asked = s->past = 0;
}

/*
 * Of a result: whether it is known if it goes past the slots, which holds for the link until the
 * call is over. The reader asks when a slot is there: by then the writer has said so.
 */
__device__ static GP_INLINE int gr_link_asked(struct gr_scheduler *s)
{
    uint64_t call = s->args->zero, word;

    if (s->asked) {
        return 1;
    }
    if (!s->writes) {
        s->past = gp_ld_relaxed((const uint64_t *) (s->link.other + GR_GPU_DIRECT_AT)) == call;
    } else if (0 != s->beyond) {
        word = gp_ld_acquire((const uint64_t *) (s->link.other + GR_GPU_OPEN_AT));
        if (word < 2 * call) {
            return 0;
        }
        s->past = word == 2 * call + 1;
        if (s->past) {
            /*
             * the tail is posted behind it; said again, where other links were used in between, to
             * one who may be reading
             */
            gp_st_release((uint64_t *) (s->link.mine + GR_GPU_DIRECT_AT), call);
        }
    }
    s->asked = 1;
    return 1;
}

/*
 * Whether this thread's message of the step is a result that may go past the slots: what is
 * combined is none yet.
 */
__device__ static GP_INLINE int gr_may_direct(const struct gr_scheduler *s)
{
    uint32_t bits = s->block->walk.step.bits;

    return 0 != s->args->zero && bits & GR_FINAL && (s->writes || !(bits & GR_REDUCE));
}

/* Whether this thread's link has a slot to read, to write. */
__device__ static GP_INLINE int gr_link_ready(struct gr_scheduler *s)
{
    uint64_t none = s->writes ? s->args->nslots : 0;

    if (s->peer < 0 || (s->lines && !s->writes)) {
        return 1;
    }
    if (s->link.count - s->seen == none) {
        s->seen = gp_ld_acquire((const uint64_t *) s->link.other);
    }
    return s->link.count - s->seen != none && (!gr_may_direct(s) || gr_link_asked(s));
}

/* Tell those who send to this rank whether they may store results where they belong. */
__device__ static GP_INLINE void gr_open(const struct gr_gpu_args *args, uint32_t lane)
{
    uint32_t r, p = (uint32_t) args->sched[0].p;
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
