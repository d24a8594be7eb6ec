/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences of mailbox calls (grouped.h). */
#include "exec/grouped.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int top(const struct gr_grouped_call *c)
{
    return c->levels - 1;
}

/* Levels below the top that this rank is in. */
static int below(const struct gr_grouped_call *c)
{
    return c->mine < c->levels ? c->mine : top(c);
}

static const struct gr_group *group(const struct gr_grouped_call *c, int level)
{
    return &c->boards[level].group;
}

/* The member that speaks for the root in this rank's group of a level; the leader: none does. */
static int speaker(const struct gr_grouped_call *c, int level)
{
    int member = gr_group_member(group(c, level), c->whole.root);

    return member < 0 ? 0 : member;
}

/* The lowest level whose group holds the root; mine: none. */
static int root_level(const struct gr_grouped_call *c)
{
    int level = 0;

    while (level < c->mine && gr_group_member(group(c, level), c->whole.root) < 0) {
        level++;
    }
    return level;
}

/* Elements of the vector that is combined, or that all ranks get. */
static size_t all(const struct gr_grouped_call *c)
{
    const struct gr_mailbox_call *w = &c->whole;

    return GR_COLL_REDUCE_SCATTER == w->coll ? gr_mailbox_scattered(w, c->team->p)
           : GR_COLL_ALLGATHER == w->coll    ? gr_mailbox_elems(w, 0, c->team->p)
                                             : w->count;
}

/* ---- the steps of a call ---- */

/* From the members of a group to its leader, or to the root's speaker; to all: at the top. */
static void set_upward(struct gr_grouped_call *c, int level)
{
    const struct gr_mailbox_call *w = &c->whole;
    const struct gr_group *g = group(c, level);
    struct gr_mailbox_call *now = &c->now;
    int is_top = level == top(c), receives = is_top || 0 == g->me, k;

    now->in = 0 == level ? w->in : c->acc;
    now->out = c->acc;
    now->count = all(c);
    switch (w->coll) {
    case GR_COLL_ALLGATHER:
        now->in = 0 == level
                      ? w->in
                      : c->acc + gr_mailbox_elems(w, 0, c->team->rank) * w->reducer.elem_bytes;
        now->coll = GR_COLL_ALLGATHER;
        now->counts = c->counts;
        now->displs = c->displs;
        for (k = 0; k < g->n; k++) {
            int first = g->first + k * g->step;

            c->counts[k] =
                receives || k == g->me ? gr_mailbox_elems(w, first, gr_group_next(g, k)) : 0;
            c->displs[k] = gr_mailbox_elems(w, 0, first);
        }
        if (!receives) { /* it leaves its own block where it is */
            now->out = (unsigned char *) now->in;
            c->displs[g->me] = 0;
        }
        break;
    case GR_COLL_BARRIER:
        now->in = w->in;
        now->coll = receives ? GR_COLL_BARRIER : GR_COLL_REDUCE;
        break;
    case GR_COLL_REDUCE:
        now->coll = GR_COLL_REDUCE;
        now->root = is_top ? speaker(c, level) : 0;
        break;
    default:
        now->coll = is_top ? GR_COLL_ALLREDUCE : GR_COLL_REDUCE;
    }
}

/* From the leader of a group to all members; of a reduce, to the root's speaker only. */
static void set_downward(struct gr_grouped_call *c, int level)
{
    struct gr_mailbox_call *now = &c->now;
    int me = group(c, level)->me, to = speaker(c, level);

    now->coll = GR_COLL_BCAST;
    now->in = GR_COLL_BARRIER == c->whole.coll ? c->whole.in : c->acc;
    now->out = c->acc;
    now->count = all(c);
    if (GR_COLL_REDUCE == c->whole.coll && (0 == to || (0 != me && me != to))) {
        now->count = 0;
    }
}

/* From the root's speaker to all members, or from the leader where the group does not hold it. */
static void set_bcast(struct gr_grouped_call *c, int level)
{
    const struct gr_mailbox_call *w = &c->whole;

    c->now.coll = GR_COLL_BCAST;
    c->now.root = speaker(c, level);
    c->now.in = c->team->rank == w->root ? w->in : w->out;
    c->now.out = w->out;
    c->now.count = w->count;
}

/*
 * Blocks [i][k] of the grid that has n columns, as [k][i]: `rows` times n blocks of `bytes` each.
 */
static void transpose(unsigned char *to, const unsigned char *from, int rows, int n, size_t bytes)
{
    int i, k;

    for (i = 0; i < rows; i++) {
        for (k = 0; k < n; k++) {
            memcpy(to + (size_t) (k * rows + i) * bytes, from + (size_t) (i * n + k) * bytes,
                   bytes);
        }
    }
}

/*
 * Of the grid's two steps, the first: blocks for the ranks of column k go to the member of that
 * column in this rank's row. The second: what the row has for row i goes to the member of that row
 * in this rank's column. Between them blocks lie in the order of their senders.
 */
static void set_alltoall(struct gr_grouped_call *c, int step)
{
    const struct gr_mailbox_call *w = &c->whole;
    size_t bytes = w->count * w->reducer.elem_bytes;
    int columns = c->boards[0].group.n, rows = c->team->p / columns;

    c->now.coll = GR_COLL_ALLTOALL;
    c->now.out = w->out;
    c->now.in = c->team->scratch;
    c->now.count = w->count * (size_t) (0 == step ? rows : columns);
    if (0 == step) {
        transpose(c->team->scratch, w->in, rows, columns, bytes);
    } else {
        transpose(c->team->scratch, w->out, columns, rows, bytes);
    }
}

static void set_step(struct gr_grouped_call *c)
{
    int step = c->step, up, k;

    c->at = 0;
    c->now = (struct gr_mailbox_call) {.kind = c->whole.kind, .reducer = c->whole.reducer};
    switch (c->whole.coll) {
    case GR_COLL_ALLTOALL:
        c->at = step;
        set_alltoall(c, step);
        break;
    case GR_COLL_BCAST:
        k = root_level(c);
        k = k < c->mine ? k : c->mine - 1;
        c->at = step < c->mine - k ? k + step : c->mine - 1 - step;
        set_bcast(c, c->at);
        break;
    default:
        up = c->mine;
        c->at = step < up ? step : below(c) - 1 - (step - up);
        (step < up ? set_upward : set_downward)(c, c->at);
    }
    gr_mailbox_begin(&c->boards[c->at].box, &c->now);
}

static int steps_of(const struct gr_grouped_call *c)
{
    int lowest = 0;

    if (GR_COLL_BCAST == c->whole.coll || GR_COLL_ALLTOALL == c->whole.coll) {
        return c->mine;
    }
    if (GR_COLL_REDUCE == c->whole.coll) {
        lowest = root_level(c);
        lowest = lowest < below(c) ? lowest : below(c);
    }
    return c->mine + below(c) - lowest;
}

/* ---- a call ---- */

void gr_grouped_prepare(struct gr_grouped_call *c, struct gr_team *team)
{
    int use = gr_mailbox_use(c->whole.coll, team->p);

    c->team = team;
    c->boards = gr_team_boards(team, use);
    c->levels = gr_group_levels(team->p);
    c->mine = gr_team_nboards(team, use);
    c->at = 0;
    if (1 == c->levels) {
        gr_mailbox_prepare(&c->boards->box, &c->whole);
    } else {
        c->nsteps = steps_of(c);
    }
}

void gr_grouped_begin(struct gr_grouped_call *c)
{
    const struct gr_mailbox_call *w = &c->whole;

    if (1 == c->levels) {
        gr_mailbox_begin_again(&c->boards->box, &c->whole);
        return;
    }
    c->acc = GR_COLL_REDUCE_SCATTER == w->coll ||
                     (GR_COLL_REDUCE == w->coll && c->team->rank != w->root) ||
                     (GR_COLL_ALLGATHER == w->coll && NULL != w->displs)
                 ? c->team->scratch
                 : w->out;
    c->step = 0;
    set_step(c);
}

void gr_grouped_hand_over(struct gr_grouped_call *to, const struct gr_grouped_call *from)
{
    if (1 == from->levels) {
        to->whole = from->whole;
        to->team = from->team;
        to->boards = from->boards;
        to->levels = 1;
        to->at = 0;
        return;
    }
    *to = *from;
    if (NULL != to->now.counts) {
        to->now.counts = to->counts;
        to->now.displs = to->displs;
    }
}

/* Copy results out of scratch. */
static void finish(const struct gr_grouped_call *c)
{
    const struct gr_mailbox_call *w = &c->whole;
    size_t elem = w->reducer.elem_bytes, at = 0, n;
    int r;

    if (GR_COLL_REDUCE_SCATTER == w->coll) {
        at = gr_mailbox_block_at(w, c->team->rank);
        memcpy(w->out, c->acc + at * elem, gr_mailbox_block_count(w, c->team->rank) * elem);
    }
    for (r = 0; GR_COLL_ALLGATHER == w->coll && NULL != w->displs && r < c->team->p; r++) {
        n = gr_mailbox_block_count(w, r);
        memcpy(w->out + w->displs[r] * elem, c->acc + at * elem, n * elem);
        at += n;
    }
}

int gr_grouped_poll(struct gr_grouped_call *c, uint64_t *moved)
{
    int rc;

    if (1 == c->levels) {
        return gr_mailbox_poll(&c->boards->box, &c->whole, moved);
    }
    for (;;) {
        rc = gr_mailbox_poll(&c->boards[c->at].box, &c->now, moved);
        if (1 != rc) {
            return rc;
        }
        if (++c->step == c->nsteps) {
            finish(c);
            return 1;
        }
        set_step(c);
    }
}

int gr_grouped_run_steps(struct gr_grouped_call *c)
{
    uint64_t moved = 0;

    gr_grouped_begin(c);
    return gr_grouped_poll(c, &moved);
}

/* ---- in words ---- */

struct gr_label_pair gr_grouped_difference(const struct gr_grouped_call *c)
{
    const struct gr_group *g = group(c, c->at);
    struct gr_label_pair pair = gr_mailbox_difference(&c->boards[c->at].box, gr_grouped_now(c));

    pair.rank = g->first + pair.rank * g->step;
    return pair;
}

void gr_mailbox_explain(const struct gr_boards *boards, const struct gr_mailbox_call *call,
                        const char *what, char *text, size_t size)
{
    const struct gr_mailbox *box = &boards->box;
    const struct gr_group *g = &boards->group;
    int *ranks = gr_calloc((size_t) box->p, sizeof(int)), n, k;

    snprintf(text, size, "%s, step %d (%s), waits for rank", what, call->next,
             box->posted == call->epoch - 1 ? "post" : "take");
    if (NULL != ranks) {
        n = gr_mailbox_waits_for(box, call, ranks);
        for (k = 0; k < n; k++) {
            ranks[k] = g->first + ranks[k] * g->step;
        }
        gr_text_ranks(text, size, ranks, n);
    }
    free(ranks);
}

void gr_grouped_explain(const struct gr_grouped_call *c, char *text, size_t size)
{
    char what[32] = "mailbox";

    if (1 != c->levels) {
        snprintf(what, sizeof(what),
                 GR_COLL_ALLTOALL == c->whole.coll ? "mailbox, dimension %d" : "mailbox, level %d",
                 c->at);
    }
    gr_mailbox_explain(gr_grouped_at(c), gr_grouped_now(c), what, text, size);
}
