/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's side of kernel_case.h: the step machine and the host executor over links in plain
 * memory, with kernel_reference.h for what the host executor has no loops for.
 */
#include "kernel_case.h"

#include "kernel_reference.h"

#include "exec/host.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wraps let steps of several chunks be made of a chain's (KT_RUNS). */
struct gr_step __real_gr_sched_step(const struct gr_sched *s, uint32_t i);
struct gr_step __wrap_gr_sched_step(const struct gr_sched *s, uint32_t i);
uint32_t __real_gr_sched_len(const struct gr_sched *s);
uint32_t __wrap_gr_sched_len(const struct gr_sched *s);

static struct gr_sched plain(const struct gr_sched *s)
{
    struct gr_sched copy = *s;

    copy.nchunks = 0 != s->nchunks >> 16 ? KT_STEPS(s->nchunks) : s->nchunks;
    return copy;
}

struct gr_step __wrap_gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_sched copy = plain(s);
    struct gr_step t = __real_gr_sched_step(&copy, i);

    KT_MAKE_RUN(&t, s->nchunks, i);
    return t;
}

uint32_t __wrap_gr_sched_len(const struct gr_sched *s)
{
    struct gr_sched copy = plain(s);

    return __real_gr_sched_len(&copy);
}

/* ---- the executor ---- */

struct rank_run {
    struct gr_host_op op; /* first: the host executor takes this for its own context */
    const struct kc_call *call;
    struct kc_trace *trace;
    struct gr_plan plan;
    struct gr_stepper machine;
    int rank;
};

static unsigned char *in_slot(struct gr_link *l, const struct gr_move *mv, size_t elem)
{
    return (unsigned char *) gr_link_slot(l) + mv->slot * elem;
}

/* A reducing move by the reference, element by element. */
static void move_by_reference(struct rank_run *r, const struct gr_move *mv)
{
    const struct gr_step *s = mv->step;
    struct gr_host_op *op = &r->op;
    size_t links = (size_t) mv->channel * (size_t) op->p, elem = r->call->elem_bytes, i;
    unsigned char result[16];
    const void *src[1 + GR_FAN];
    int k;

    for (i = 0; i < mv->count; i++) {
        src[s->before] = op->space[s->operand] + (mv->operand + i) * elem;
        for (k = 0; k < s->nfrom; k++) {
            src[k + (k >= s->before)] =
                in_slot(&op->in[links + (size_t) s->from[k]], mv, elem) + i * elem;
        }
        kr_combine(r->call->c->kernel, result, src, 1 + s->nfrom);
        if (s->bits & GR_STORE) {
            memcpy(op->space[s->dest] + (mv->dest + i) * elem, result, elem);
        }
        for (k = 0; k < s->nto; k++) {
            memcpy(in_slot(&op->out[links + (size_t) s->to[k]], mv, elem) + i * elem, result, elem);
        }
    }
}

static int ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    return gr_host_backend.ready(ctx, channel, step);
}

static int move(void *ctx, const struct gr_move *mv)
{
    struct rank_run *r = ctx;
    const struct gr_cursor *at = &r->machine.at[mv->channel];
    struct kt_piece piece;

    memset(&piece, 0, sizeof(piece));
    piece.rank = (uint64_t) r->rank;
    piece.channel = mv->channel;
    piece.slice = at->walk.slice;
    piece.index = at->walk.index;
    piece.begins = 0 == mv->slot;
    piece.operand = mv->operand;
    piece.dest = mv->dest;
    piece.slot = mv->slot;
    piece.count = mv->count;
    kc_note(r->trace, &piece);
    if (kr_has(r->call->c->kernel) && mv->step->bits & GR_REDUCE) {
        move_by_reference(r, mv);
        return 0;
    }
    return gr_host_backend.move(&r->op, mv);
}

static void commit(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct rank_run *r = ctx;

    r->trace->pieces[r->trace->n - 1].ends = 1;
    gr_host_backend.commit(&r->op, channel, step);
}

static const struct gr_backend ops = {ready, move, commit, NULL, NULL};

static void rank_open(struct rank_run *r, struct kc_call *call, int rank, struct kc_trace *trace)
{
    const struct kc_case *c = call->c;
    size_t links = (size_t) c->p * c->nchannels, k;

    r->call = call;
    r->trace = trace;
    r->rank = rank;
    r->op.p = c->p;
    r->op.in = kd_calloc(links * sizeof(*r->op.in));
    r->op.out = kd_calloc(links * sizeof(*r->op.out));
    for (k = 0; k < 3; k++) {
        r->op.space[k] = call->ranks[rank].image.bytes + call->ranks[rank].image.space[k];
    }
    r->op.reducer.elem_bytes = call->elem_bytes;
    r->op.reducer.fused = kr_host_loop(c->kernel);
    r->plan.split = call->ranks[rank].split;
    r->plan.slot_elems = call->slot_elems;
    for (k = 0; k < c->nchannels; k++) {
        r->plan.sched[k] = call->ranks[rank].sched[k % 2];
        r->plan.sched[k].channel = k;
    }
}

/* A link between each two ranks of each channel. */
static void connect(struct rank_run *runs, const struct kc_case *c, int connecting)
{
    size_t bytes = (gr_link_bytes(c->nslots, c->slot_bytes) + 63) / 64 * 64, at;
    struct gr_link_shared *shared;
    uint32_t channel;
    int from, to;

    for (channel = 0; channel < c->nchannels; channel++) {
        for (from = 0; from < c->p; from++) {
            for (to = 0; to < c->p; to++) {
                at = (size_t) channel * (size_t) c->p;
                if (!connecting) {
                    free(runs[to].op.in[at + (size_t) from].shared);
                    continue;
                }
                shared = aligned_alloc(64, bytes);
                if (NULL == shared) {
                    abort();
                }
                memset(shared, 0xff, bytes);
                shared->tail = shared->head = c->first;
                gr_link_attach(&runs[from].op.out[at + (size_t) to], shared, c->first, c->nslots,
                               c->slot_bytes);
                gr_link_attach(&runs[to].op.in[at + (size_t) from], shared, c->first, c->nslots,
                               c->slot_bytes);
            }
        }
    }
}

int kc_run_host(struct kc_call *call, struct kc_trace *trace, char *why, size_t size)
{
    const struct kc_case *c = call->c;
    struct rank_run *runs = kd_calloc((size_t) c->p * sizeof(*runs));
    uint64_t moved = 0, before;
    int left, rc = 0, r;

    for (r = 0; r < c->p; r++) {
        rank_open(&runs[r], call, r, trace);
    }
    connect(runs, c, 1);
    for (r = 0; r < c->p; r++) {
        gr_stepper_start(&runs[r].machine, &runs[r].plan, &ops, &runs[r]);
    }
    do {
        before = moved;
        for (left = 0, r = 0; r < c->p; r++) {
            left += GR_DONE != gr_stepper_run(&runs[r].machine, &moved);
        }
    } while (left > 0 && before != moved);
    if (left > 0) {
        snprintf(why, size, "the host's machine stands still");
        rc = -1;
    }
    connect(runs, c, 0);
    for (r = 0; r < c->p; r++) {
        free(runs[r].op.in);
        free(runs[r].op.out);
    }
    free(runs);
    return rc;
}
