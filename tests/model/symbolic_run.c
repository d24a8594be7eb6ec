/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run of the symbolic checker: sets a case up, runs the ranks in the order of its policy,
 * checks the end.
 */
#include "rng.h"
#include "symbolic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const check_names[SYM_NCHECKS] = {
    "ok",
    "malformed step",
    "link not among the peers",
    "read outside",
    "read of poison",
    "wrong element",
    "contribution twice",
    "wrote the input",
    "wrote outside",
    "message size",
    "tick not after its cause",
    "tick collision",
    "deadlock",
    "unread data",
    "result not written",
    "contribution missing",
    "order of reduction",
    "result that is none",
    "overwritten before it was taken",
    "stored more than once",
    "links idle in one direction",
};

const char *sym_check_name(enum sym_check check)
{
    return (unsigned) check < SYM_NCHECKS ? check_names[check] : "?";
}

enum gr_layout sym_layout(const struct sym_case *c)
{
    return gr_algo_layout(c->algo, c->coll);
}

const char *sym_describe(const struct sym_case *c, char *text, size_t size)
{
    static const char *const policies[SYM_NPOLICIES] = {"round", "lowest", "highest", "random"};

    snprintf(text, size,
             "%s %s p=%d root=%d channels=%u order=%d slots=%u slot=%zu chunk=%zu align=%zu "
             "total=%zu block=%zu%s%s chunks=%u%s%s %s seed=%llu",
             gr_algo_name(c->algo), gr_coll_name(c->coll), c->p, c->root, c->nchannels,
             (int) c->order, c->slots, c->slot_elems, c->chunk_elems, c->align, c->total, c->block,
             NULL != c->counts ? " counts" : "", NULL != c->displs ? " displs" : "",
             c->slice_chunks, c->in_place ? " in place" : "", c->zero_copy ? " zero copy" : "",
             policies[c->policy], (unsigned long long) c->seed);
    return text;
}

struct sym_case sym_smallest(enum gr_algo algo, enum gr_coll coll, int p)
{
    return (struct sym_case) {.algo = algo,
                              .coll = coll,
                              .p = p,
                              .nchannels = 1,
                              .slots = 2,
                              .slot_elems = 1,
                              .chunk_elems = 1,
                              .align = 1,
                              .seed = 1};
}

void sym_set_slots(struct sym_case *c)
{
    uint32_t most = gr_algo_message_chunks(c->algo, c->coll, c->p, &c->torus);
    uint32_t least = 1 + most * (uint32_t) ((c->chunk_elems + c->slot_elems - 1) / c->slot_elems);

    c->slots = most > 1 && c->slots < least ? least : c->slots;
}

void sym_size(struct sym_case *c, uint32_t chunks, size_t ragged)
{
    int blocks = GR_BLOCKS == sym_layout(c);
    size_t n = (size_t) chunks * c->nchannels * c->chunk_elems;

    ragged = ragged < c->nchannels * c->chunk_elems ? ragged : c->nchannels * c->chunk_elems - 1;
    c->counts = c->displs = NULL;
    c->total = c->block = 0;
    if (blocks && GR_COLL_ALLREDUCE != c->coll) {
        c->block = n - ragged;
    } else {
        c->total = (blocks ? (size_t) c->p : 1) * n - ragged;
    }
}

static void make_order(const struct sym_case *c, uint32_t channel, int *order)
{
    int kind = SYM_IDENTITY == c->order || gr_algo_is_by_rank(c->algo)
                   ? SYM_IDENTITY
                   : (int) ((c->order + channel) % SYM_NORDERS);
    uint64_t state = c->seed + channel;
    int k, other, swap;

    for (k = 0; k < c->p; k++) {
        order[k] = SYM_REVERSED == kind ? c->p - 1 - k : k;
    }
    for (k = c->p - 1; SYM_SHUFFLED == kind && k > 0; k--) {
        other = rng_below(&state, k + 1);
        swap = order[k];
        order[k] = order[other];
        order[other] = swap;
    }
}

/* Mark the links that this rank may use on the channel. */
static void mark_peers(struct sym *w, const struct gr_sched *s, uint32_t channel)
{
    int in[SYM_MAX_RANKS], out[SYM_MAX_RANKS], nin, nout, k;
    size_t p = (size_t) s->p, me = (size_t) (NULL == s->order ? s->pos : s->order[s->pos]);
    uint8_t *peers = w->peers + channel * p * p;

    gr_sched_peers(s, in, &nin, out, &nout);
    for (k = 0; k < nin; k++) {
        peers[(size_t) in[k] * p + me] |= SYM_IN;
    }
    for (k = 0; k < nout; k++) {
        peers[me * p + (size_t) out[k]] |= SYM_OUT;
    }
}

static void make_plan(struct sym *w, struct sym_rank *me)
{
    const struct sym_case *c = w->c;
    int along = gr_algo_is_by_rank(c->algo);
    struct gr_split split = {.coll = c->coll,
                             .layout = sym_layout(c),
                             .p = c->p,
                             .total = c->total,
                             .block = c->block,
                             .counts = c->counts,
                             .displs = c->displs,
                             .nchannels = c->nchannels,
                             .chunk_elems = c->chunk_elems,
                             .align = c->align,
                             .slice_chunks = c->slice_chunks};
    uint32_t channel;
    int pos;

    gr_split_init(&split);
    me->plan.split = split;
    me->plan.slot_elems = c->slot_elems;
    for (channel = 0; channel < c->nchannels; channel++) {
        struct gr_sched *s = &me->plan.sched[channel];
        const int *order = w->order + channel * (size_t) c->p;

        *s = (struct gr_sched) {.coll = c->coll,
                                .algo = c->algo,
                                .p = c->p,
                                .order = along ? NULL : order,
                                .nchunks = me->plan.split.nchunks,
                                .torus = c->torus,
                                .channel = (int) channel};
        for (pos = 0; pos < c->p; pos++) {
            s->pos = order[pos] == me->rank ? pos : s->pos;
            s->root = order[pos] == c->root ? pos : s->root;
        }
        if (0 != gr_sched_check(s)) {
            sym_fail(w, SYM_MALFORMED, me->rank, "gr_sched_check() refuses the schedule");
        }
        mark_peers(w, s, channel);
    }
}

/* Elements of a rank's input and output; 0 where MPI gives it none. */
static size_t in_len(const struct sym_case *c, int rank)
{
    if (GR_COLL_ALLGATHER == c->coll) {
        return sym_count(c, rank);
    }
    return GR_COLL_BCAST == c->coll && rank != c->root ? 0 : sym_extent(c);
}

static size_t out_len(const struct sym_case *c, int rank)
{
    switch (c->coll) {
    case GR_COLL_REDUCE_SCATTER:
        return sym_count(c, rank);
    case GR_COLL_BCAST:
        return rank == c->root ? 0 : c->total;
    case GR_COLL_REDUCE:
        return rank == c->root ? c->total : 0;
    default:
        return sym_extent(c);
    }
}

/* Lay out one rank's buffers in *mem, poison but for the input. */
static void make_buffers(struct sym_rank *me, struct sym_value **mem)
{
    const struct sym_case *c = me->w->c;
    struct sym_space *in = &me->space[GR_IN], *out = &me->space[GR_OUT], *tmp = &me->space[GR_TMP];
    size_t first = GR_COLL_ALLGATHER == c->coll ? sym_displ(c, me->rank) : 0, k;

    out->len = out_len(c, me->rank);
    out->at = *mem;
    in->len = in_len(c, me->rank);
    in->at = out->at + out->len;
    tmp->len = sym_extent(c);
    tmp->at = in->at + in->len;
    *mem = tmp->at + tmp->len;
    if (c->in_place && GR_COLL_REDUCE_SCATTER != c->coll && out->len > 0 && in->len > 0) {
        in->at = out->at + first;
    }
    for (k = 0; k < in->len; k++) {
        in->at[k] = sym_leaf(me->rank, first + k);
    }
}

static void set_up(struct sym *w, const struct sym_case *c)
{
    size_t p = (size_t) c->p, npairs = p * p * c->nchannels;
    struct sym_value *mem;
    uint32_t channel;
    int r;

    w->c = c;
    w->runs++;
    w->failed = SYM_OK;
    w->nlinks = w->nmessages = 0;
    w->last_tick = w->longest_wait = 0;
    if (NULL == w->ranks) {
        w->ranks = calloc(SYM_MAX_RANKS, sizeof(*w->ranks));
        w->order = calloc(SYM_MAX_RANKS * GR_MAX_CHANNELS, sizeof(*w->order));
    }
    if (npairs > w->pairs_room) {
        w->peers = realloc(w->peers, npairs);
        w->link_of = sym_grow(w->link_of, &w->pairs_room, npairs, sizeof(*w->link_of));
        w->peers = realloc(w->peers, w->pairs_room);
    }
    memset(w->peers, 0, npairs);
    memset(w->link_of, 0xff, npairs * sizeof(*w->link_of));
    for (channel = 0; channel < c->nchannels; channel++) {
        make_order(c, channel, w->order + channel * p);
    }
    w->mem_len = 0;
    for (r = 0; r < c->p; r++) {
        w->mem_len += out_len(c, r) + in_len(c, r) + sym_extent(c);
    }
    mem = w->mem = sym_grow(w->mem, &w->mem_room, w->mem_len + 1, sizeof(*w->mem));
    memset(w->mem, 0, w->mem_len * sizeof(*w->mem));
    for (r = 0; r < c->p; r++) {
        struct sym_rank *me = &w->ranks[r];

        *me = (struct sym_rank) {.w = w, .rank = r};
        make_plan(w, me);
        make_buffers(me, &mem);
        gr_stepper_start(&me->stepper, &me->plan, &sym_backend, me);
    }
}

/* Run a rank for at most `budget` slots of channel `gate` (-1: all). Whether it did something. */
static int run_rank(struct sym_rank *me, int gate, uint64_t budget)
{
    uint64_t moved = 0;
    int rc;

    if (me->done || SYM_OK != me->w->failed) {
        return 0;
    }
    me->gate = gate;
    me->budget = budget;
    rc = gr_stepper_run(&me->stepper, &moved);
    me->done = GR_DONE == rc;
    return moved > 0 || me->done;
}

/*
 * Every rank once, forwards or backwards, one channel at a time. Stops at the first that did
 * something where `first`.
 */
static int sweep(struct sym *w, int backwards, int first)
{
    int p = w->c->p, nchannels = (int) w->c->nchannels, any = 0, k, channel, r;

    for (k = 0; k < p; k++) {
        r = backwards ? p - 1 - k : k;
        for (channel = 0; channel < nchannels; channel++) {
            any |=
                run_rank(&w->ranks[r], backwards ? nchannels - 1 - channel : channel, UINT64_MAX);
            if (first && any) {
                return 1;
            }
        }
    }
    return any;
}

static int random_turns(struct sym *w, uint64_t *state)
{
    int any = 0, turns;

    for (turns = 0; turns < 2 * w->c->p; turns++) {
        struct sym_rank *me = &w->ranks[rng_below(state, w->c->p)];

        any |= run_rank(me, rng_below(state, w->c->nchannels), 1 + rng_below(state, 4));
    }
    return any;
}

static void run_ranks(struct sym *w)
{
    uint64_t state = w->c->seed;
    int any, r, round = 0;

    do {
        any = 0;
        switch (w->c->policy) {
        case SYM_ROUND: /* there and back again: pipelines run both ways */
            for (r = 0; r < w->c->p; r++) {
                any |= run_rank(&w->ranks[round % 2 ? w->c->p - 1 - r : r], -1, UINT64_MAX);
            }
            round++;
            break;
        case SYM_RANDOM:
            any = random_turns(w, &state) || sweep(w, 0, 1);
            break;
        default:
            any = sweep(w, SYM_HIGHEST == w->c->policy, 1);
        }
    } while (any);
}

static void check_through(struct sym *w)
{
    const struct gr_step *s;
    uint32_t channel;
    size_t k;
    int r;

    for (r = 0; r < w->c->p; r++) {
        for (channel = 0; channel < w->c->nchannels && !w->ranks[r].done; channel++) {
            s = gr_stepper_waits(&w->ranks[r].stepper, channel);
            if (NULL != s) {
                sym_fail(w, SYM_DEADLOCK, r, "channel %u waits in %s of chunk %u", channel,
                         gr_step_name(s), s->first);
            }
        }
    }
    for (k = 0; k < w->nlinks; k++) {
        if (w->links[k].head != w->links[k].tail) {
            sym_fail(w, SYM_UNREAD, w->links[k].to, "%llu slots from %d",
                     (unsigned long long) (w->links[k].tail - w->links[k].head), w->links[k].from);
        }
    }
}

/*
 * Flat algorithms, and those along a torus but for trees, sum in their output where they need more
 * steps than one for it.
 */
static int sums_in_output(const struct sym_case *c)
{
    if (gr_algo_is_by_rank(c->algo)) {
        return GR_ALGO_NODE_TREE != c->algo &&
               (GR_COLL_ALLREDUCE == c->coll || GR_COLL_REDUCE == c->coll ||
                GR_COLL_BARRIER == c->coll);
    }
    return GR_ALGO_FLAT == c->algo || (GR_ALGO_TWOSHOT == c->algo && c->p > GR_FAN + 1);
}

/* All others write each element of the result once. */
static void check_stores(struct sym *w)
{
    int once = !sums_in_output(w->c);
    size_t k, valid;
    int r;

    for (r = 0; r < w->c->p && once; r++) {
        const struct sym_space *out = &w->ranks[r].space[GR_OUT];

        for (k = valid = 0; k < out->len; k++) {
            valid += (size_t) out->at[k].valid;
        }
        if (w->ranks[r].stored != valid) {
            sym_fail(w, SYM_STORES, r, "%zu stores for %zu elements", w->ranks[r].stored, valid);
        }
    }
}

/* What was noted of results; and whoever waits for them must hear of all. */
static void check_final(struct sym *w)
{
    size_t k;
    int r;

    if (SYM_OK == w->failed && '\0' != w->noted[0]) {
        w->failed = SYM_FINAL;
        memcpy(w->why, w->noted, sizeof(w->why));
    }
    for (r = 0; r < w->c->p; r++) {
        const struct sym_space *out = &w->ranks[r].space[GR_OUT];

        for (k = 0; k < out->len; k++) {
            if (out->at[k].valid && !out->at[k].final) {
                sym_fail(w, SYM_FINAL, r, "element %zu of the output was never said to be one", k);
            }
        }
    }
}

enum sym_check sym_run(struct sym *w, const struct sym_case *c)
{
    w->why[0] = w->noted[0] = '\0';
    set_up(w, c);
    run_ranks(w);
    if (SYM_OK == w->failed) {
        check_through(w);
    }
    if (SYM_OK == w->failed && 0 == sym_check_values(w)) {
        check_stores(w);
        check_final(w);
    }
    return w->failed;
}

void sym_free(struct sym *w)
{
    free(w->ranks);
    free(w->order);
    free(w->mem);
    free(w->want);
    free(w->links);
    free(w->slots);
    free(w->slot_values);
    free(w->data_at);
    free(w->link_of);
    free(w->peers);
    free(w->messages);
    memset(w, 0, sizeof(*w));
}
