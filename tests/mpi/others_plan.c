/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of a call: the table of the collectives, the choice of random cases, and the sizes of
 * all blocks. All of it is a function of the case's key, so ranks agree without communication.
 */
#include <stdlib.h>

#include "others.h"
#include "rng.h"

#define ALL NUM_FORMS
#define BOTH (ON_INTRA | ON_INTER)
#define V SPREAD_V
#define W SPREAD_W
#define ONE SPREAD_ONE
#define EVEN SPREAD_EVEN
#define PAIR (VARY_FROM | VARY_TO)

const struct others_info others_infos[NUM_OTHERS] = {
    /* name, on, forms, send, recv, what sizes vary with, rooted, in place, reduces */
    [OTHERS_GATHER] = {"gather", BOTH, ALL, ONE, EVEN, 0, ROOTED_TO, true, false},
    [OTHERS_GATHERV] = {"gatherv", BOTH, ALL, ONE, V, VARY_FROM, ROOTED_TO, true, false},
    [OTHERS_SCATTER] = {"scatter", BOTH, ALL, EVEN, ONE, 0, ROOTED_FROM, true, false},
    [OTHERS_SCATTERV] = {"scatterv", BOTH, ALL, V, ONE, VARY_TO, ROOTED_FROM, true, false},
    [OTHERS_ALLTOALL] = {"alltoall", BOTH, ALL, EVEN, EVEN, 0, ROOTED_NOT, true, false},
    [OTHERS_ALLTOALLV] = {"alltoallv", BOTH, ALL, V, V, PAIR, ROOTED_NOT, true, false},
    [OTHERS_ALLTOALLW] = {"alltoallw", BOTH, ALL, W, W, PAIR, ROOTED_NOT, true, false},
    [OTHERS_SCAN] = {"scan", ON_INTRA, ALL, ONE, ONE, 0, ROOTED_NOT, true, true},
    [OTHERS_EXSCAN] = {"exscan", ON_INTRA, ALL, ONE, ONE, 0, ROOTED_NOT, true, true},
    [OTHERS_NEIGHBOR_ALLGATHER] = {"neighbor_allgather", ON_TOPOLOGY, ALL, ONE, EVEN, 0, ROOTED_NOT,
                                   false, false},
    [OTHERS_NEIGHBOR_ALLGATHERV] = {"neighbor_allgatherv", ON_TOPOLOGY, ALL, ONE, V, VARY_FROM,
                                    ROOTED_NOT, false, false},
    [OTHERS_NEIGHBOR_ALLTOALL] = {"neighbor_alltoall", ON_TOPOLOGY, ALL, EVEN, EVEN, 0, ROOTED_NOT,
                                  false, false},
    [OTHERS_NEIGHBOR_ALLTOALLV] = {"neighbor_alltoallv", ON_TOPOLOGY, ALL, V, V, PAIR, ROOTED_NOT,
                                   false, false},
    [OTHERS_NEIGHBOR_ALLTOALLW] = {"neighbor_alltoallw", ON_TOPOLOGY, ALL, W, W, PAIR, ROOTED_NOT,
                                   false, false},
    [OTHERS_REDUCE_LOCAL] = {"reduce_local", ON_SELF, 1, ONE, ONE, 0, ROOTED_NOT, false, true},
    [OTHERS_ALLREDUCE] = {"allreduce", ON_INTER, 2, ONE, ONE, 0, ROOTED_NOT, false, true},
    [OTHERS_ALLGATHER] = {"allgather", ON_INTER, 2, ONE, EVEN, 0, ROOTED_NOT, false, false},
    [OTHERS_ALLGATHERV] = {"allgatherv", ON_INTER, 2, ONE, V, VARY_FROM, ROOTED_NOT, false, false},
    [OTHERS_REDUCE_SCATTER] = {"reduce_scatter", ON_INTER, 2, ONE, ONE, 0, ROOTED_NOT, false, true},
    [OTHERS_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", ON_INTER, 2, ONE, ONE, 0, ROOTED_NOT,
                                     false, true},
    [OTHERS_BCAST] = {"bcast", ON_INTER, 2, SPREAD_NONE, ONE, 0, ROOTED_FROM, false, false},
    [OTHERS_REDUCE] = {"reduce", ON_INTER, 2, ONE, ONE, 0, ROOTED_TO, false, true},
};

struct others_case others_draw(uint64_t *rng, const struct others_scene *on, enum others_coll coll)
{
    const struct others_info *info = &others_infos[coll];
    struct others_case c = {.coll = coll, .key = rng_next(rng)};

    c.root = rng_below(rng, 1 << 20);
    c.root_side = rng_below(rng, 2);
    c.op = rng_below(rng, NUM_OPS);
    c.base = rng_below(rng, NUM_BASES);
    c.in_place = 0 == rng_below(rng, 3) && info->in_place && ON_INTER != on->kind;
    c.absolute = rng_below(rng, 2) && SPREAD_W == info->send;
    return c;
}

/* ---- sizes ---- */

/* About how many units a block has: mostly few. */
static int usual(const struct others_case *c, int side)
{
    uint64_t rng = rng_key(c->key, 1, (uint64_t) side);
    int percent = rng_below(&rng, 100);

    return percent < 10   ? 0
           : percent < 65 ? 1 + rng_below(&rng, 8)
           : percent < 95 ? 9 + rng_below(&rng, 100)
                          : 500 + rng_below(&rng, 1500);
}

/*
 * Of the turn-th message between two ranks. An in-place call has the same in both directions. Open
 * MPI's libnbc (4.1.4) has two faults in those: where one rank has nothing at all, it loses count
 * of the calls on it; where one has nothing for another, it sends long messages from a buffer that
 * it writes to meanwhile.
 */
static int units_between(const struct others_call *c, int from, int to, int turn)
{
    bool in_place = c->what.in_place, swapped = in_place && from > to;
    uint64_t pair = (uint64_t) (swapped ? to : from) << 32 | (uint64_t) (swapped ? from : to);
    uint64_t way = rng_key(c->what.key, 2, 0),
             rng = rng_key(c->what.key, 3 + (uint64_t) turn, pair);
    int n = usual(&c->what, 0);

    if (0 == way % 8 || 0 == n) {
        return 0;
    }
    if (1 == way % 8 || (in_place && from == to)) {
        return n;
    }
    if (in_place && n > 12) {
        return 1 + rng_below(&rng, 2 * n);
    }
    switch (way % 8) {
    case 2:
        return rng_below(&rng, 4) ? 0 : 4 * n; /* a few messages only */
    case 3:
        return (from + to) % 2 ? n : 0;
    default:
        return rng_below(&rng, 2 * n + 1);
    }
}

/* Ranks of the other side of an intercommunicator are others. */
static int name_of(int rank, int side)
{
    return MPI_PROC_NULL == rank ? 999 : 1000 * side + rank;
}

/* Block i of a side: what goes to, or comes from, the i-th of those we talk with. */
static void size_block(const struct others_call *c, const struct others_side *s, int i)
{
    const struct others_info *info = &others_infos[c->what.coll];
    const struct others_scene *on = c->on;
    bool sends = s == &c->send, all = SPREAD_ONE != s->spread;
    int me = name_of(on->rank, on->side), from = me, to = me, turn = 0;
    struct others_block *b = &s->blocks[i];

    if (all && sends) {
        to = name_of(on->dest[i], on->other);
        turn = on->dest_turn[i];
    } else if (all) {
        from = name_of(on->source[i], on->other);
        turn = on->source_turn[i];
    }
    b->base = c->what.base;
    if (SPREAD_W == s->spread) { /* a base for each pair */
        b->base = (c->what.base + from + to) % NUM_BASES;
    }
    if (0 == info->vary) { /* each side of an intercommunicator has its own size to send */
        int sender = SPREAD_NONE == info->send ? c->what.root_side : sends ? on->side : on->other;

        b->units = usual(&c->what, info->reduces ? 0 : sender);
    } else {
        b->units =
            units_between(c, info->vary & VARY_FROM ? from : 0, info->vary & VARY_TO ? to : 0,
                          (VARY_FROM | VARY_TO) == info->vary ? turn : 0);
    }
}

/*
 * Open MPI's coll/inter counts what one group's ranks have in the type of its first, and, in a
 * scatterv, in that of the root: there, all have one type, or one of as many elements.
 */
static void size_side(const struct others_call *c, struct others_side *s)
{
    bool inter = ON_INTER == c->on->kind;
    int who = name_of(inter ? 0 : c->on->rank, c->on->side);
    uint64_t rng = rng_key(c->what.key, s == &c->send ? 20 : 21, (uint64_t) who);
    int layout =
        rng_below(&rng, inter && OTHERS_SCATTERV == c->what.coll ? LAYOUTS_OF_3 : NUM_LAYOUTS);

    s->n = SPREAD_ONE == s->spread ? 1 : s == &c->send ? c->on->dests : c->on->sources;
    s->blocks = calloc((size_t) s->n + 1, sizeof *s->blocks);
    /* the one after the last for its type, where there are none */
    for (int i = 0; i <= s->n; i++) {
        s->blocks[i].base = c->what.base;
        s->blocks[i].layout = SPREAD_W == s->spread ? rng_below(&rng, NUM_LAYOUTS) : layout;
        if (i < s->n) {
            size_block(c, s, i);
        } else if (0 == s->n) { /* of no neighbours: Open MPI makes nothing of calls that say 0 */
            s->blocks[i].units = usual(&c->what, 0);
        }
        s->blocks[i].count = s->blocks[i].units * (UNIT / others_elements(s->blocks[i].layout));
        if (others_infos[c->what.coll].reduces) {
            s->blocks[i].count = s->blocks[i].units;
        }
    }
}

/* ---- what is special ---- */

/* The vector that is shared out among this side's ranks is as long as the one among the other's. */
static void share_out(struct others_call *c)
{
    int n = c->on->size, total = n * c->on->sources * usual(&c->what, 0), left = total;
    uint64_t rng = rng_key(c->what.key, 22, (uint64_t) c->on->side);

    c->shares = malloc((size_t) n * sizeof *c->shares);
    c->shares_c = malloc((size_t) n * sizeof *c->shares_c);
    for (int r = 0; r < n; r++) {
        c->shares[r] = r == n - 1 ? left : rng_below(&rng, 2 * total / n + 1);
        c->shares[r] = c->shares[r] < left ? c->shares[r] : left;
        c->shares_c[r] = c->shares[r];
        left -= c->shares[r];
    }
    c->send.blocks[0].count = total;
    c->recv.blocks[0].count =
        OTHERS_REDUCE_SCATTER == c->what.coll ? c->shares[c->on->rank] : total / n;
}

/* Who has a part in a rooted call, and what its root is called. */
static void find_root(struct others_call *c)
{
    const struct others_info *info = &others_infos[c->what.coll];
    const struct others_scene *on = c->on;
    bool inter = ON_INTER == on->kind, here = !inter || c->what.root_side == on->side;
    int ranks = here ? on->size : on->sources;
    bool is_root;

    c->root = c->what.root % ranks;
    is_root = here && on->rank == c->root;
    if (ROOTED_TO == info->rooted) {
        c->recv.unread = !is_root;
        c->send.unread = inter && here;
    } else if (ROOTED_FROM == info->rooted) {
        c->send.unread = !is_root;
        c->recv.unread = inter && here && !(is_root && SPREAD_NONE == info->send);
    }
    if (c->what.in_place) {
        struct others_side *s = ROOTED_FROM == info->rooted ? &c->recv : &c->send;

        s->in_place = ROOTED_NOT == info->rooted || is_root;
    }
    if (inter && here) {
        c->root = is_root ? MPI_ROOT : MPI_PROC_NULL;
    }
}

void others_plan(struct others_call *c)
{
    const struct others_info *info = &others_infos[c->what.coll];

    c->send.spread = info->send;
    c->recv.spread = info->recv;
    c->send.absolute = c->recv.absolute = c->what.absolute;
    if (ROOTED_NOT != info->rooted || c->what.in_place) {
        find_root(c);
    }
    if (SPREAD_NONE != info->send) {
        size_side(c, &c->send);
    }
    size_side(c, &c->recv);
    if (OTHERS_REDUCE_SCATTER == c->what.coll || OTHERS_REDUCE_SCATTER_BLOCK == c->what.coll) {
        share_out(c);
    }
}
