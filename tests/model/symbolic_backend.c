/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbolic backend of the stepper: values, links, and all checks that are made
 * while data move.
 */
#include "symbolic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (SYM_MAX_RANKS / 64)

int sym_fail(struct sym *w, enum sym_check check, int rank, const char *format, ...)
{
    va_list args;
    int n;

    if (SYM_OK == w->failed) {
        w->failed = check;
        n = snprintf(w->why, sizeof(w->why), "%s: rank %d: ", sym_check_name(check), rank);
        va_start(args, format);
        vsnprintf(w->why + n, sizeof(w->why) - (size_t) n, format, args);
        va_end(args);
    }
    return -1;
}

void *sym_grow(void *array, size_t *room, size_t need, size_t size)
{
    if (need > *room) {
        *room = need + need / 2;
        array = realloc(array, *room * size);
        if (NULL == array) {
            abort();
        }
    }
    return array;
}

/* Depends on the order of its arguments: a op b is not b op a. */
uint64_t sym_hash(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u + ((b << 23) | (b >> 41)) * 0xc2b2ae3d27d4eb4fu + 1;

    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 29);
}

struct sym_value sym_leaf(int rank, size_t elem)
{
    struct sym_value v = {.elem = (int32_t) elem, .valid = 1};

    v.ranks[rank / 64] = UINT64_C(1) << rank % 64;
    v.hash = sym_hash((uint64_t) rank + 1, (uint64_t) elem + 1);
    return v;
}

/* a = a op b */
static enum sym_check combine(struct sym_value *a, const struct sym_value *b)
{
    uint64_t both = 0;
    int k;

    if (!a->valid || !b->valid) {
        return SYM_POISON;
    }
    if (a->elem != b->elem) {
        return SYM_ELEMENT;
    }
    for (k = 0; k < WORDS; k++) {
        both |= a->ranks[k] & b->ranks[k];
        a->ranks[k] |= b->ranks[k];
    }
    a->hash = sym_hash(a->hash, b->hash);
    return 0 == both ? SYM_OK : SYM_TWICE;
}

/* The link of the step's pair, made at first use. NULL after sym_fail(). */
static struct sym_link *link_find(struct sym_rank *me, uint32_t channel, int from, int to)
{
    struct sym *w = me->w;
    int p = w->c->p, side = from == me->rank ? SYM_OUT : SYM_IN;
    size_t pair;

    if (from < 0 || from >= p || to < 0 || to >= p) {
        sym_fail(w, SYM_PEER, me->rank, "link %d -> %d", from, to);
        return NULL;
    }
    pair = ((size_t) channel * (size_t) p + (size_t) from) * (size_t) p + (size_t) to;
    if (0 == (w->peers[pair] & side)) {
        sym_fail(w, SYM_PEER, me->rank, "link %d -> %d is not in its list of peers", from, to);
        return NULL;
    }
    if (w->link_of[pair] < 0) {
        size_t slots = w->c->slots;

        w->links = sym_grow(w->links, &w->links_room, w->nlinks + 1, sizeof(*w->links));
        w->slots = sym_grow(w->slots, &w->slots_room, (w->nlinks + 1) * slots, sizeof(*w->slots));
        w->slot_values =
            sym_grow(w->slot_values, &w->values_room, (w->nlinks + 1) * slots * w->c->slot_elems,
                     sizeof(*w->slot_values));
        w->data_at = sym_grow(w->data_at, &w->data_at_room,
                              (w->nlinks + 1) * slots * w->c->slot_elems, sizeof(*w->data_at));
        w->links[w->nlinks] =
            (struct sym_link) {.from = from, .to = to, .channel = channel, .tick = {-1, -1}};
        w->link_of[pair] = (int) w->nlinks++;
    }
    return &w->links[w->link_of[pair]];
}

static struct sym_link *link_in(struct sym_rank *me, uint32_t channel, const struct gr_step *s,
                                int k)
{
    return link_find(me, channel, s->from[k], me->rank);
}

static struct sym_link *link_out(struct sym_rank *me, uint32_t channel, const struct gr_step *s,
                                 int k)
{
    return link_find(me, channel, me->rank, s->to[k]);
}

/* Slot number n of a link's life. */
static size_t slot_at(const struct sym *w, const struct sym_link *l, uint64_t n)
{
    return (size_t) (l - w->links) * w->c->slots + (size_t) (n % w->c->slots);
}

static int malformed(const struct gr_step *s)
{
    return s->nfrom > GR_FAN || s->nto > GR_FAN || (0 != (s->bits & GR_RECV)) != (s->nfrom > 0) ||
           (0 != (s->bits & GR_SEND)) != (s->nto > 0) ||
           (0 != (s->bits & GR_REDUCE) && 0 == s->nfrom) ||
           (0 == (s->bits & GR_REDUCE) ? s->nfrom > 1 || 0 != s->before : s->before > s->nfrom) ||
           s->operand > GR_TMP || s->dest > GR_TMP;
}

static int backend_ready(void *ctx, uint32_t channel, const struct gr_step *s)
{
    struct sym_rank *me = ctx;
    struct sym_link *l;
    int k;

    if (SYM_OK != me->w->failed) {
        return -1;
    }
    if (0 == me->budget || (me->gate >= 0 && (uint32_t) me->gate != channel)) {
        return 0;
    }
    if (malformed(s)) {
        return sym_fail(me->w, SYM_MALFORMED, me->rank, "a step with bits %d, %d from, %d to",
                        s->bits, s->nfrom, s->nto);
    }
    for (k = 0; k < s->nfrom; k++) {
        l = link_in(me, channel, s, k);
        if (NULL == l || l->head == l->tail) {
            return NULL == l ? -1 : 0;
        }
    }
    for (k = 0; k < s->nto; k++) {
        l = link_out(me, channel, s, k);
        if (NULL == l || l->tail - l->head == me->w->c->slots) {
            return NULL == l ? -1 : 0;
        }
    }
    return 1;
}

/* One move with its pointers: where the elements come from and go to. */
struct work {
    const struct sym_value *operand, *from[GR_FAN];
    struct sym_value *dest, *to[GR_FAN];
};

/* The slots' side of the work. */
static int find_slots(struct sym_rank *me, const struct gr_move *mv, struct work *work)
{
    struct sym *w = me->w;
    const struct gr_step *s = mv->step;
    struct sym_link *l;
    size_t n;
    int k;

    if (mv->slot != me->fill || mv->slot + mv->count > w->c->slot_elems) {
        return sym_fail(w, SYM_MESSAGE, me->rank, "%zu elements at %zu of a slot", mv->count,
                        mv->slot);
    }
    if (mv->piece != me->pieces || me->closed ||
        (mv->piece >= GR_DIRECT_PIECES && gr_algo_may_fetch(w->c->algo))) {
        return sym_fail(w, SYM_MESSAGE, me->rank, "piece %u of a slot that holds %u", mv->piece,
                        me->pieces);
    }
    for (k = 0; k < s->nfrom; k++) {
        l = link_in(me, mv->channel, s, k);
        n = slot_at(w, l, l->head);
        if (mv->slot + mv->count > w->slots[n].count) {
            return sym_fail(w, SYM_MESSAGE, me->rank, "takes %zu elements of %zu from %d",
                            mv->slot + mv->count, w->slots[n].count, s->from[k]);
        }
        work->from[k] = w->slot_values + n * w->c->slot_elems + mv->slot;
    }
    for (k = 0; k < s->nto; k++) {
        l = link_out(me, mv->channel, s, k);
        work->to[k] = w->slot_values + slot_at(w, l, l->tail) * w->c->slot_elems + mv->slot;
    }
    return 0;
}

/* The caller's buffers' side of the work. */
static int find_buffers(struct sym_rank *me, const struct gr_move *mv, struct work *work)
{
    const struct gr_step *s = mv->step;
    const struct sym_space *in = &me->space[s->operand], *out = &me->space[s->dest];

    if (0 == (s->bits & GR_RECV) || 0 != (s->bits & GR_REDUCE)) {
        if (mv->operand + mv->count > in->len) {
            return sym_fail(me->w, SYM_READ_OUTSIDE, me->rank, "[%zu, +%zu) of space %d",
                            mv->operand, mv->count, s->operand);
        }
        work->operand = in->at + mv->operand;
    }
    if (0 != (s->bits & GR_STORE)) {
        if (GR_IN == s->dest) {
            return sym_fail(me->w, SYM_WROTE_INPUT, me->rank, "[%zu, +%zu)", mv->dest, mv->count);
        }
        if (mv->dest + mv->count > out->len) {
            return sym_fail(me->w, SYM_WROTE_OUTSIDE, me->rank, "[%zu, +%zu) of space %d", mv->dest,
                            mv->count, s->dest);
        }
        work->dest = out->at + mv->dest;
        me->stored += GR_OUT == s->dest ? mv->count : 0;
    }
    return 0;
}

/* What the value is made of, in the order in which it is combined. */
static int in_turn(const struct gr_step *s, const struct work *work,
                   const struct sym_value **sources)
{
    int n = 0, k;

    for (k = 0; k <= s->nfrom; k++) {
        if (k == s->before && NULL != work->operand) {
            sources[n++] = work->operand;
        }
        if (k < s->nfrom) {
            sources[n++] = work->from[k];
        }
    }
    return n;
}

/* What is wrong with results is told only when nothing else is. */
static void note(struct sym_rank *me, const char *what, const struct gr_step *s, size_t element)
{
    struct sym *w = me->w;

    if ('\0' == w->noted[0]) {
        snprintf(w->noted, sizeof(w->noted), "%s: rank %d: %s of chunk %u, element %zu: %s",
                 sym_check_name(SYM_FINAL), me->rank, gr_step_name(s), s->first, element, what);
    }
}

/* Results: both ends of a message know alike that it is one, and it is stored as it is; once. */
static void check_final(struct sym_rank *me, const struct gr_move *mv, const struct work *work,
                        size_t n)
{
    const struct gr_step *s = mv->step;
    int final = 0 != (s->bits & GR_FINAL), taken = s->bits & GR_RECV && !(s->bits & GR_REDUCE), k;

    if (final && (GR_OUT != s->dest || (taken && !(s->bits & GR_STORE)))) {
        note(me, "a result that is not put into the output", s, mv->dest + n);
    }
    for (k = 0; k < s->nfrom; k++) {
        sym_take_from_buffer(me, s, &work->from[k][n]);
        if (work->from[k][n].final != (taken && final)) {
            note(me,
                 work->from[k][n].final ? "takes a result for something else"
                                        : "takes something else for a result",
                 s, mv->dest + n);
        }
    }
    if (NULL != work->dest && work->dest[n].final && !(taken && me->w->c->zero_copy)) {
        note(me, "stores where there is a result", s, mv->dest + n);
    }
}

/* Zero copy: a result that is sent is where it belongs, before its receiver knows. */
static void deliver(struct sym_rank *me, const struct gr_move *mv, size_t n,
                    const struct sym_value *v)
{
    const struct gr_step *s = mv->step;
    int k;

    for (k = 0; k < s->nto; k++) {
        struct sym_space *out = &me->w->ranks[s->to[k]].space[GR_OUT];

        if (mv->dest + n >= out->len) {
            note(me, "sends a result to where there is no output", s, mv->dest + n);
        } else if (out->at[mv->dest + n].final) {
            note(me, "sends a result to where there is one", s, mv->dest + n);
        } else {
            out->at[mv->dest + n] = *v;
        }
    }
}

static int backend_move(void *ctx, const struct gr_move *mv)
{
    struct sym_rank *me = ctx;
    const struct gr_step *s = mv->step;
    const struct sym_value *sources[1 + GR_FAN];
    struct work work = {0};
    int nsources, k;
    size_t n;

    if (find_slots(me, mv, &work) < 0 || find_buffers(me, mv, &work) < 0) {
        return -1;
    }
    nsources = in_turn(s, &work, sources);
    for (n = 0; n < mv->count; n++) {
        struct sym_value v = sources[0][n];
        enum sym_check check = v.valid ? SYM_OK : SYM_POISON;

        for (k = 1; k < nsources && SYM_OK == check; k++) {
            check = combine(&v, &sources[k][n]);
            if (SYM_TWICE == check && GR_COLL_BARRIER == me->w->c->coll) {
                check = SYM_OK; /* a set: sched/dissemination.c */
            }
        }
        if (SYM_OK != check) {
            return sym_fail(me->w, check, me->rank, "%s of chunk %u, element %d", gr_step_name(s),
                            s->first, v.elem);
        }
        check_final(me, mv, &work, n);
        v.final = 0 != (s->bits & GR_FINAL);
        if (NULL != work.dest && work.dest[n].final && work.dest[n].hash != v.hash) {
            note(me, "was delivered as another", s, mv->dest + n);
        }
        if (NULL != work.dest) {
            work.dest[n] = v;
        }
        for (k = 0; k < s->nto; k++) {
            work.to[k][n] = v;
            sym_send_from_buffer(me->w, s, &work.to[k][n], &sources[0][n],
                                 NULL == work.dest ? NULL : &work.dest[n]);
        }
        if (v.final && me->w->c->zero_copy) {
            deliver(me, mv, n, &v);
        }
    }
    me->fill += mv->count;
    me->pieces++;
    me->closed = mv->last;
    return 0;
}

/* Hand a slot over. Ticks: one message per tick and link, in each tree of a double tree. */
static void send_slot(struct sym_rank *me, struct sym_link *l, const struct gr_step *s,
                      const struct gr_cursor *at)
{
    struct sym *w = me->w;
    int tree =
        GR_ALGO_TREE == w->c->algo || GR_ALGO_NODE_TREE == w->c->algo ? (int) (s->first % 2) : 0;
    /* the next slot of the same message */
    int again = l->slice[tree] == at->walk.slice && l->index[tree] == at->walk.index;
    int64_t last = l->slice[tree] == at->walk.slice ? l->tick[tree] : -1;

    if (last >= 0 && !again && (int64_t) s->tick <= last) {
        sym_fail(w, SYM_TICK_CLASH, me->rank, "sends to %d in tick %u, before it in tick %lld",
                 l->to, s->tick, (long long) last);
    }
    l->tick[tree] = s->tick;
    l->slice[tree] = at->walk.slice;
    l->index[tree] = at->walk.index;
    w->slots[slot_at(w, l, l->tail)] = (struct sym_slot) {me->fill, s->tick};
    l->tail++;
    l->elems += me->fill;
    l->sent[tree][GR_FINAL == (s->bits & (GR_FINAL | GR_REDUCE))]++;
    me->sent += me->fill;
    w->last_tick = s->tick > w->last_tick ? s->tick : w->last_tick;
    if (w->trace) {
        w->messages =
            sym_grow(w->messages, &w->messages_room, w->nmessages + 1, sizeof(*w->messages));
        w->messages[w->nmessages++] =
            (struct sym_message) {l->from, l->to, l->channel, s->tick, tree};
    }
}

static void take_slot(struct sym_rank *me, struct sym_link *l, const struct gr_step *s)
{
    struct sym *w = me->w;
    const struct sym_slot *slot = &w->slots[slot_at(w, l, l->head)];

    if (slot->count != me->fill) {
        sym_fail(w, SYM_MESSAGE, me->rank, "took %zu elements of %zu from %d", me->fill,
                 slot->count, l->from);
    }
    if (s->tick <= slot->tick) {
        sym_fail(w, SYM_TICK_CAUSE, me->rank, "takes in tick %u what %d sent in %u", s->tick,
                 l->from, slot->tick);
    } else if (s->tick - slot->tick > w->longest_wait) {
        w->longest_wait = s->tick - slot->tick;
    }
    l->head++;
    me->received += me->fill;
}

/*
 * Whether the last piece of the slot must have been announced as such: where the slot is full, and
 * where the last chunk of the run is in it. A last chunk without elements is no piece.
 */
static int must_be_closed(const struct sym_rank *me, uint32_t channel, const struct gr_step *s)
{
    uint32_t last = gr_step_chunk(s, s->count - 1);

    return me->fill == me->w->c->slot_elems ||
           gr_split_at(&me->plan.split, (enum gr_space) s->operand, channel,
                       me->stepper.at[channel].walk.slice, last)
                   .count > 0;
}

static void backend_commit(void *ctx, uint32_t channel, const struct gr_step *s)
{
    struct sym_rank *me = ctx;
    int k;

    if (!me->closed && must_be_closed(me, channel, s)) {
        sym_fail(me->w, SYM_MESSAGE, me->rank, "hands over a slot of %u pieces without a last one",
                 me->pieces);
    }
    for (k = 0; k < s->nfrom; k++) {
        take_slot(me, link_in(me, channel, s, k), s);
    }
    for (k = 0; k < s->nto; k++) {
        send_slot(me, link_out(me, channel, s, k), s, &me->stepper.at[channel]);
    }
    me->fill = 0;
    me->pieces = 0;
    me->closed = 0;
    me->budget--;
}

const struct gr_backend sym_backend = {backend_ready, backend_move, backend_commit, NULL, NULL};
