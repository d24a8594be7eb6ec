/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's side of kernel_case.h: the step machine and the host executor over links in plain memory. Types that the
 * host executor has no loops for, the halves, are combined here.
 */
#include "kernel_case.h"

#include "exec/host.h"
#include "symbolic.h" /* the seeded random numbers */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wraps let steps of several chunks be made of a chain's (kernel_trace.h). */
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

/* ---- halves ---- */

/* A format of 16 bits by the number of its fraction's and its exponent's least value. */
struct half {
    int fraction, least;
};

static const struct half f16 = {10, -14}, bf16 = {7, -126};

static float widen(const struct half *h, uint16_t bits)
{
    int most = 1 << (15 - h->fraction), e = (bits & 0x7fff) >> h->fraction, f = bits & ((1 << h->fraction) - 1);
    double x;

    if (e == most - 1) {
        x = 0 == f ? INFINITY : NAN;
    } else if (0 == e) {
        x = ldexp(f, h->least - h->fraction);
    } else {
        x = ldexp(f + (1 << h->fraction), h->least + e - 1 - h->fraction);
    }
    return (float) (bits & 0x8000 ? -x : x);
}

static uint16_t narrow(const struct half *h, float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0, most = (uint16_t) (0x7fff >> h->fraction << h->fraction);
    double x = fabs((double) value);
    long q;
    int e;

    if (isnan(value)) {
        return 0x7fff;
    }
    if (isinf(value)) {
        return sign | most;
    }
    e = 0 == x || ilogb(x) < h->least ? h->least : ilogb(x);
    q = lrint(ldexp(x, h->fraction - e)); /* to nearest even */
    q += (long) (e - h->least) << h->fraction;
    return (uint16_t) (sign | (q > most ? most : (uint16_t) q));
}

static float combine(enum gr_kernel kernel, float x, float y)
{
    switch (kernel) {
    case GR_KERNEL_f16_sum:
    case GR_KERNEL_bf16_sum:
        return x + y;
    case GR_KERNEL_f16_prod:
    case GR_KERNEL_bf16_prod:
        return x * y;
    case GR_KERNEL_f16_min:
    case GR_KERNEL_bf16_min:
        return x < y ? x : y;
    default:
        return x > y ? x : y;
    }
}

static const struct half *half_of(enum gr_kernel kernel)
{
    const char *name = kd_kernel_name(kernel);

    return 0 == strncmp(name, "f16", 3) ? &f16 : 0 == strncmp(name, "bf16", 4) ? &bf16 : NULL;
}

/* ---- the executor ---- */

struct rank_run {
    struct gr_host_op op; /* first: the host executor takes this for its own context */
    const struct kc_call *call;
    struct kc_trace *trace;
    struct gr_plan plan;
    struct gr_machine machine;
    int rank;
};

static unsigned char *in_slot(struct gr_link *l, const struct gr_move *mv, size_t elem)
{
    return (unsigned char *) gr_link_slot(l) + mv->slot * elem;
}

/* A reducing move of halves: in float, rounded once. */
static void move_halves(struct rank_run *r, const struct gr_move *mv, const struct half *h)
{
    const struct gr_step *s = mv->step;
    struct gr_host_op *op = &r->op;
    size_t links = (size_t) mv->channel * (size_t) op->p, i;
    uint16_t bits;
    int k;

    for (i = 0; i < mv->count; i++) {
        float sum;

        memcpy(&bits, op->space[s->operand] + 2 * (mv->operand + i), 2);
        sum = widen(h, bits);
        for (k = 0; k < s->nfrom; k++) {
            memcpy(&bits, in_slot(&op->in[links + (size_t) s->from[k]], mv, 2) + 2 * i, 2);
            sum = combine(r->call->c->kernel, sum, widen(h, bits));
        }
        bits = narrow(h, sum);
        if (s->bits & GR_STORE) {
            memcpy(op->space[s->dest] + 2 * (mv->dest + i), &bits, 2);
        }
        for (k = 0; k < s->nto; k++) {
            memcpy(in_slot(&op->out[links + (size_t) s->to[k]], mv, 2) + 2 * i, &bits, 2);
        }
    }
}

static int ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    return gr_host_mover.ready(ctx, channel, step);
}

static int move(void *ctx, const struct gr_move *mv)
{
    struct rank_run *r = ctx;
    const struct gr_cursor *at = &r->machine.at[mv->channel];
    const struct half *h = half_of(r->call->c->kernel);
    struct kt_piece piece;

    memset(&piece, 0, sizeof(piece));
    piece.rank = (uint64_t) r->rank;
    piece.channel = mv->channel;
    piece.slice = at->slice;
    piece.index = at->index;
    piece.begins = 0 == mv->slot;
    piece.operand = mv->operand;
    piece.dest = mv->dest;
    piece.slot = mv->slot;
    piece.count = mv->count;
    kc_note(r->trace, &piece);
    if (NULL != h && mv->step->bits & GR_REDUCE) {
        move_halves(r, mv, h);
        return 0;
    }
    return gr_host_mover.move(&r->op, mv);
}

static void commit(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct rank_run *r = ctx;

    r->trace->pieces[r->trace->n - 1].ends = 1;
    gr_host_mover.commit(&r->op, channel, step);
}

static const struct gr_mover mover = {ready, move, commit, NULL};

static void *allocate(size_t bytes)
{
    void *at = calloc(1, bytes);

    if (NULL == at) {
        abort();
    }
    return at;
}

/* The host's loop for the kernel's type and operation. */
static gr_reduce_fn host_loop(enum gr_kernel kernel)
{
#define LOOP(type, op) [GR_KERNEL_##type##_##op] = {#type, #op},
    static const struct {
        const char *type, *op;
    } rows[GR_NKERNELS] = {GR_KERNELS(LOOP)};
#undef LOOP
    static const char *const types[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"};
    static const char *const ops[] = {"sum", "prod", "min", "max"};
    int t, o;

    for (t = 0; t < 10 && NULL != rows[kernel].type; t++) {
        for (o = 0; o < 4; o++) {
            if (0 == strcmp(types[t], rows[kernel].type) && 0 == strcmp(ops[o], rows[kernel].op)) {
                return gr_reduce_find((enum gr_type) t, (enum gr_redop) o);
            }
        }
    }
    return NULL;
}

static void rank_open(struct rank_run *r, struct kc_call *call, int rank, struct kc_trace *trace)
{
    const struct kc_case *c = call->c;
    size_t links = (size_t) c->p * c->nchannels, k;

    r->call = call;
    r->trace = trace;
    r->rank = rank;
    r->op.p = c->p;
    r->op.nchannels = c->nchannels;
    r->op.in = allocate(links * sizeof(*r->op.in));
    r->op.out = allocate(links * sizeof(*r->op.out));
    for (k = 0; k < 3; k++) {
        r->op.space[k] = call->ranks[rank].image.bytes + call->ranks[rank].image.space[k];
    }
    r->op.reducer.elem_bytes = call->elem_bytes;
    r->op.reducer.fused = host_loop(c->kernel);
    r->plan.split = call->ranks[rank].split;
    r->plan.slot_elems = call->slot_elems;
    for (k = 0; k < c->nchannels; k++) {
        r->plan.sched[k] = call->ranks[rank].sched[k % 2];
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
                gr_link_attach(&runs[from].op.out[at + (size_t) to], shared, c->first, c->nslots, c->slot_bytes);
                gr_link_attach(&runs[to].op.in[at + (size_t) from], shared, c->first, c->nslots, c->slot_bytes);
            }
        }
    }
}

int kc_run_host(struct kc_call *call, struct kc_trace *trace, char *why, size_t size)
{
    const struct kc_case *c = call->c;
    struct rank_run *runs = allocate((size_t) c->p * sizeof(*runs));
    uint64_t moved = 0, before;
    int left, rc = 0, r;

    for (r = 0; r < c->p; r++) {
        rank_open(&runs[r], call, r, trace);
    }
    connect(runs, c, 1);
    for (r = 0; r < c->p; r++) {
        gr_machine_start(&runs[r].machine, &runs[r].plan, &mover, &runs[r]);
    }
    do {
        before = moved;
        for (left = 0, r = 0; r < c->p; r++) {
            left += GR_DONE != gr_machine_run(&runs[r].machine, &moved);
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
