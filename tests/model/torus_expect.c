/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of reduction along a torus; see torus_expect.h. */
#include "torus_expect.h"

/* A channel: dimensions above extent 1 in its order, and whether it goes up. */
struct channel {
    const struct gr_torus *t;
    int n, dims[GR_MAX_DIMS], up;
    size_t elem;
};

static struct channel channel_of(const struct gr_torus *t, int number, int from_the_ends)
{
    /* by dimensions: row 1 of the latter */
    static const int second[5][4] = {{0}, {0}, {1, 0}, {2, 0, 1}, {3, 2, 1, 0}};
    struct channel c = {.t = t, .up = 1};
    int all[GR_MAX_DIMS], d, k, lines = 0, row;

    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] > 1) {
            all[c.n++] = d;
            lines |= gr_torus_is_line(t, d);
        }
    }
    row = lines ? number : number / 2;
    c.up = lines || number % 2 == 0;
    for (k = 0; k < c.n; k++) {
        c.dims[k] = all[from_the_ends && row == 1 ? second[c.n][k] : (row + k) % c.n];
    }
    return c;
}

/* Coordinates around the ring in the channel's direction, from `first` on, k places further. */
static int around(const struct channel *c, int d, int first, int k)
{
    int n = c->t->dims[d], ring[64], m = 0, x, at = 0;

    for (x = 0; x < n; x++) {
        ring[x] = c->up ? x : n - 1 - x;
    }
    if (gr_torus_is_line(c->t, d)) { /* even places up, odd ones down */
        for (x = 0; x < n; x += 2) {
            ring[m++] = x;
        }
        for (x = n - 1 - n % 2; x > 0; x -= 2) {
            ring[m++] = x;
        }
    }
    while (ring[at] != first) {
        at++;
    }
    return ring[(at + k) % n];
}

/*
 * Bucket: what a rank that shares the owner's coordinates in the first `level` dimensions holds
 * after as many phases.
 */
static uint64_t bucket_sum(const struct channel *c, int level, int rank, int owner)
{
    uint64_t h = 0;
    int d, k, first;

    if (0 == level) {
        return sym_leaf(rank, c->elem).hash;
    }
    d = c->dims[level - 1];
    first = gr_torus_coord(c->t, owner, d);
    for (k = 1; k <= c->t->dims[d]; k++) {
        uint64_t theirs =
            bucket_sum(c, level - 1, gr_torus_at(c->t, rank, d, around(c, d, first, k)), owner);

        h = 1 == k ? theirs : sym_hash(theirs, h);
    }
    return h;
}

/*
 * The rank whose coordinates are the digits of the number, the channel's first dimension the
 * lowest.
 */
static int bucket_owner(const struct channel *c, int number)
{
    int rank = 0, k;

    for (k = 0; k < c->n; k++) {
        rank = gr_torus_at(c->t, rank, c->dims[k], number % c->t->dims[c->dims[k]]);
        number /= c->t->dims[c->dims[k]];
    }
    return rank;
}

/* ---- swing ---- */

static const int distances[] = {1, -1, 3, -5, 11, -21, 43};

/*
 * The places of a dimension, as many as the greatest power of two in it: their coordinates, and how
 * many.
 */
static int swing_places(const struct channel *c, int d, int *coords)
{
    int n = c->t->dims[d], places = 1, k;

    while (2 * places <= n) {
        places *= 2;
    }
    for (k = 0; k < places; k++) {
        coords[k] = k * n / places;
        coords[k] = c->up ? coords[k] : (n - coords[k]) % n;
    }
    return places;
}

/* The rank's place, -1: it has none. */
static int swing_place(const struct channel *c, int rank, int d)
{
    int coords[64], k;

    for (k = swing_places(c, d, coords) - 1; k >= 0 && coords[k] != gr_torus_coord(c->t, rank, d);
         k--) {
    }
    return k;
}

static int swing_peer(const struct channel *c, int rank, int d, int step)
{
    int coords[64], places = swing_places(c, d, coords), x = swing_place(c, rank, d);

    return gr_torus_at(c->t, rank, d,
                       coords[(x + (x % 2 == 0 ? 1 : -1) * distances[step] + 8 * places) % places]);
}

/* The one without a place after a rank, which it folds in; -1: there is none. */
static int swing_folded(const struct channel *c, int rank, int d)
{
    int n = c->t->dims[d], next = (gr_torus_coord(c->t, rank, d) + (c->up ? 1 : n - 1)) % n;
    int other = gr_torus_at(c->t, rank, d, next);

    return swing_place(c, other, d) < 0 ? other : -1;
}

/* Dimension and its step of step j of all; -1 beyond the last. */
static int swing_step(const struct channel *c, int j, int *step)
{
    int coords[64], k;

    for (*step = 0; *step < 7; ++*step) {
        for (k = 0; k < c->n; k++) {
            if (2 << *step <= swing_places(c, c->dims[k], coords) && j-- == 0) {
                return c->dims[k];
            }
        }
    }
    return -1;
}

static uint64_t swing_sum(const struct channel *c, int j, int rank);

/*
 * Before step j of all: what there is after j steps, with that of who folds where it is a
 * dimension's first.
 */
static uint64_t swing_operand(const struct channel *c, int j, int rank)
{
    int step, d = swing_step(c, j, &step), folded = step == 0 ? swing_folded(c, rank, d) : -1;
    uint64_t mine = swing_sum(c, j, rank);

    return folded < 0 ? mine : sym_hash(mine, swing_sum(c, j, folded));
}

/* After j steps: mine + (the partner's). */
static uint64_t swing_sum(const struct channel *c, int j, int rank)
{
    int step, d;

    if (0 == j) {
        return sym_leaf(rank, c->elem).hash;
    }
    d = swing_step(c, j - 1, &step);
    return sym_hash(swing_operand(c, j - 1, rank),
                    swing_operand(c, j - 1, swing_peer(c, rank, d, step)));
}

/*
 * Bit `step` of a place's number: of half of it where it is even, else of half of a later partner;
 * the last: the parity.
 */
static int swing_bit(const struct channel *c, int rank, int d, int step)
{
    int coords[64], x = swing_place(c, rank, d);

    if (2 << step == swing_places(c, d, coords)) {
        return x % 2;
    }
    if (x % 2) {
        x = swing_place(c, swing_peer(c, rank, d, step + 1), d);
    }
    return x / 2 >> step & 1;
}

/*
 * The rank whose number agrees in all its bits with a block's: its bits in the order of the steps.
 */
static int swing_owner(const struct channel *c, int number)
{
    int rank, j, step, d, right;

    for (rank = 0;; rank++) {
        for (right = 1, j = 0; right && (d = swing_step(c, j, &step)) >= 0; j++) {
            right =
                swing_place(c, rank, d) >= 0 && swing_bit(c, rank, d, step) == (number >> j & 1);
        }
        if (right) {
            return rank;
        }
    }
}

/* ---- mst ---- */

struct tree {
    const struct channel *c;
    int p, parent[512], tick[512];
};

/* The part least..most of the root's line in dimension d; coordinates as seen from the cut. */
static void grow(struct tree *tree, int rank, int d, int root, int cut, int least, int most,
                 int tick)
{
    int n = tree->c->t->dims[d], middle = (least + most) / 2,
        other = root <= middle ? middle + 1 : middle, child, x;

    if (least == most) {
        return;
    }
    x = gr_torus_is_line(tree->c->t, d) ? other
        : tree->c->up                   ? (cut + other) % n
                                        : (cut - other + n) % n;
    child = gr_torus_at(tree->c->t, rank, d, x);
    tree->parent[child] = rank;
    tree->tick[child] = tick;
    grow(tree, root <= middle ? rank : child, d, root <= middle ? root : other, cut, least, middle,
         tick + 1);
    grow(tree, root <= middle ? child : rank, d, root <= middle ? other : root, cut, middle + 1,
         most, tick + 1);
}

static uint64_t mst_sum(const struct tree *tree, int rank)
{
    uint64_t h = sym_leaf(rank, tree->c->elem).hash;
    int tick, k;

    for (tick = 32 * GR_MAX_DIMS; tick >= 0; tick--) {
        for (k = 0; k < tree->p; k++) {
            if (tree->parent[k] == rank && tree->tick[k] == tick) {
                h = sym_hash(h, mst_sum(tree, k));
            }
        }
    }
    return h;
}

static uint64_t mst_order(const struct channel *c, int root)
{
    struct tree tree = {.c = c, .p = gr_torus_size(c->t)};
    char has[512] = {0};
    int k, r, d;

    for (r = 0; r < tree.p; r++) {
        tree.parent[r] = -1;
    }
    has[root] = 1;
    for (k = 0; k < c->n; k++) {
        int x = gr_torus_coord(c->t, root, d = c->dims[k]), line = gr_torus_is_line(c->t, d);

        for (r = 0; r < tree.p; r++) {
            if (has[r]) {
                grow(&tree, r, d, line ? x : 0, x, 0, c->t->dims[d] - 1, 32 * k);
            }
        }
        for (r = 0; r < tree.p; r++) {
            has[r] |= tree.parent[r] >= 0;
        }
    }
    return mst_sum(&tree, root);
}

/* ---- two levels ---- */

struct levels {
    size_t elem;
    int ranks, nodes, leader; /* of a node; altogether; the leaders' number in them */
    int places, at[512];      /* the nodes that take part in the doubling */
};

static struct levels levels_of(const struct sym_case *c, size_t elem)
{
    int ranks = GR_ALGO_DOUBLING == c->algo ? 1 : c->torus.dims[0], k;
    struct levels l = {.elem = elem,
                       .ranks = ranks,
                       .nodes = c->p / ranks,
                       .leader = c->root % ranks,
                       .places = 1};

    while (2 * l.places <= l.nodes) {
        l.places *= 2;
    }
    for (k = 0; k < l.places && k < 512; k++) {
        l.at[k] = k * l.nodes / l.places;
    }
    return l;
}

/* The leader of a node, and then the others. */
static uint64_t node_sum(const struct levels *l, int node)
{
    uint64_t h = sym_leaf(node * l->ranks + l->leader, l->elem).hash;
    int k;

    for (k = 0; k < l->ranks; k++) {
        h = k == l->leader ? h : sym_hash(h, sym_leaf(node * l->ranks + k, l->elem).hash);
    }
    return h;
}

/* A place, with the node before the next place where that is another one. */
static uint64_t place_sum(const struct levels *l, int place)
{
    int next = place + 1 < l->places ? l->at[place + 1] : l->nodes;
    uint64_t h = node_sum(l, l->at[place]);

    return next == l->at[place] + 1 ? h : sym_hash(h, node_sum(l, next - 1));
}

/*
 * Pairs of places that differ in one bit: `bit` last, the one before in the way of the algorithm
 * first. The place itself comes first, or where bits rise the lower one of both.
 */
static uint64_t pair_sum(const struct levels *l, int place, int bit, int rising)
{
    int before = rising ? bit / 2 : bit * 2;

    if (bit < 1 || bit >= l->places) {
        return place_sum(l, place);
    }
    place = rising ? place & ~bit : place;
    return sym_hash(pair_sum(l, place, before, rising), pair_sum(l, place ^ bit, before, rising));
}

/*
 * The root's node is number 0; below number v are v + 1, v + 2, v + 4, ... up to the lowest bit of
 * v.
 */
static uint64_t tree_sum(const struct levels *l, int root, int v)
{
    uint64_t h = node_sum(l, (root + v) % l->nodes);
    int step;

    for (step = 1; v + step < l->nodes && 0 == (v & step); step *= 2) {
        h = sym_hash(h, tree_sum(l, root, v + step));
    }
    return h;
}

static uint64_t two_level_order(const struct sym_case *c, int block, size_t elem)
{
    struct levels l = levels_of(c, elem);
    int place = l.places - 1;

    if (GR_COLL_REDUCE == c->coll) {
        return tree_sum(&l, c->root / l.ranks, 0);
    }
    if (GR_COLL_ALLREDUCE == c->coll) {
        return pair_sum(&l, 0, l.places / 2, 1);
    }
    while (l.at[place] > block / l.ranks) {
        place--;
    }
    return pair_sum(&l, place, 1, 0);
}

/* ---- PAT ---- */

/* What distance d from the owner of a block sends: its own, then what d + 1, d + 2, d + 4, ... send. */
static uint64_t pat_sum(int p, int owner, int d, size_t elem)
{
    uint64_t h = sym_leaf((owner + d) % p, elem).hash;
    int step;

    for (step = 1; d + step < p && 0 == (d & step); step *= 2) {
        h = sym_hash(h, pat_sum(p, owner, d + step, elem));
    }
    return h;
}

uint64_t torus_expect(const struct sym_case *c, uint32_t number, int block, size_t elem)
{
    int from_the_ends = GR_ALGO_BUCKET == c->algo && GR_COLL_REDUCE_SCATTER == c->coll, steps = 0,
        step;
    struct channel ch = channel_of(&c->torus, (int) number, from_the_ends);

    ch.elem = elem;
    switch (c->algo) {
    case GR_ALGO_SWING:
        while (swing_step(&ch, steps, &step) >= 0) {
            steps++;
        }
        return swing_sum(&ch, steps, swing_owner(&ch, block));
    case GR_ALGO_MST:
        return mst_order(&ch, c->root);
    case GR_ALGO_PAT:
        return pat_sum(c->p, block, 0, elem);
    case GR_ALGO_TWO_LEVEL:
    case GR_ALGO_DOUBLING:
        return two_level_order(c, block, elem);
    default:
        block = GR_COLL_REDUCE_SCATTER == c->coll ? block : bucket_owner(&ch, block);
        return bucket_sum(&ch, ch.n, block, block);
    }
}
