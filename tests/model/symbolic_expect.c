/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each rank must have at the end: MPI's definition of the collectives, and the orders of
 * reduction as the comments of sched/{ring,chain,tree,flat}.c state them, written again
 * from the words (torus_expect.c: those along a torus). Nothing here calls a schedule.
 */
#include "symbolic.h"
#include "torus_expect.h"

#include <string.h>

size_t sym_count(const struct sym_case *c, int rank)
{
    return NULL != c->counts ? c->counts[rank] : c->block;
}

size_t sym_displ(const struct sym_case *c, int rank)
{
    size_t begin = 0;
    int k;

    if (NULL != c->displs) {
        return c->displs[rank];
    }
    for (k = 0; k < rank; k++) {
        begin += sym_count(c, k);
    }
    return begin;
}

static int has_blocks(const struct sym_case *c)
{
    return GR_COLL_ALLGATHER == c->coll || GR_COLL_REDUCE_SCATTER == c->coll ||
           GR_COLL_ALLTOALL == c->coll;
}

size_t sym_extent(const struct sym_case *c)
{
    size_t end, most = 0;
    int r;

    if (!has_blocks(c)) {
        return c->total;
    }
    if (NULL == c->counts && NULL == c->displs) {
        return c->block * (size_t) c->p;
    }
    for (r = 0; r < c->p; r++) {
        end = sym_displ(c, r) + sym_count(c, r);
        most = end > most ? end : most;
    }
    return most;
}

/* An element's place in the schedule. */
struct place {
    const int *order; /* of its channel: rank at a position */
    int p;
    int owner;                     /* position of the owner of its block (ring, reduce_scatter) */
    int root;                      /* position of the root */
    const struct sym_case *chains; /* positions are nodes, NULL: ranks */
    uint32_t channel, chunk;       /* of a pipeline */
    size_t elem;
};

/*
 * node-tree: what a node gives, x + (next in its chain + (... + last)). In tree 0 the chain begins
 * with the rank of the root's number, in tree 1 with the one before it but where the root is, and
 * goes the other way round.
 */
static uint64_t chain_sum(const struct place *e, int node)
{
    int tree = (int) (e->chunk % 2), ranks = e->chains->torus.dims[0], root = e->chains->root, k;
    int first = root % ranks + ranks - (tree && node != root / ranks);
    uint64_t h = 0;

    for (k = ranks - 1; k >= 0; k--) {
        uint64_t x = sym_leaf(node * ranks + (first + (tree ? -k : k)) % ranks, e->elem).hash;

        h = ranks - 1 == k ? x : sym_hash(x, h);
    }
    return h;
}

/* What a position has to begin with. */
static uint64_t leaf(const struct place *e, int pos)
{
    return NULL != e->chains ? chain_sum(e, pos % e->p)
                             : sym_leaf(e->order[pos % e->p], e->elem).hash;
}

/* ring, chain: x_last + (x_{last-1} + (... + (x_{last+2} + x_{last+1}))) */
static uint64_t once_around(const struct place *e, int last)
{
    uint64_t h = leaf(e, last + 1);
    int k;

    for (k = 2; k <= e->p; k++) {
        h = sym_hash(leaf(e, last + k), h);
    }
    return h;
}

/* flat: ((x_first + x_{first+step}) + x_{first+2 step}) + ... */
static uint64_t from_left(const struct place *e, int first, int step)
{
    uint64_t h = leaf(e, first);
    int k;

    for (k = 1; k < e->p; k++) {
        h = sym_hash(h, leaf(e, first + e->p * e->p + k * step));
    }
    return h;
}

/* The rank with a label in tree t is the one at this position. */
static int tree_pos(const struct place *e, int t, int label)
{
    int n = e->p - 1, distance = label;

    if (1 == t) {
        distance = 0 == n % 2 ? n + 1 - label : 1 == label ? n : label - 1;
    }
    return e->root + distance;
}

/*
 * up(x) = (x + up(left child)) + up(right child) in the in-order tree over the n labels after
 * `base`: at its top is the greatest power of two in 1..n, the labels below it are its left
 * subtree, those above it the right one.
 */
static uint64_t tree_up(const struct place *e, int t, int base, int n)
{
    int top = 1;
    uint64_t h;

    while (2 * top <= n) {
        top *= 2;
    }
    h = leaf(e, tree_pos(e, t, base + top));
    if (top > 1) {
        h = sym_hash(h, tree_up(e, t, base, top - 1));
    }
    if (n > top) {
        h = sym_hash(h, tree_up(e, t, base + top, n - top));
    }
    return h;
}

static uint64_t double_tree(const struct place *e)
{
    uint64_t h = leaf(e, e->root);

    return 1 == e->p ? h : sym_hash(h, tree_up(e, (int) (e->chunk % 2), 0, e->p - 1));
}

static uint64_t stated_order(const struct sym_case *c, const struct place *e)
{
    if (GR_ALGO_NODE_TREE == c->algo) {
        struct place nodes = *e;

        nodes.chains = c;
        nodes.p = c->p / c->torus.dims[0];
        nodes.root = c->root / c->torus.dims[0];
        return double_tree(&nodes);
    }
    if (gr_algo_is_by_rank(c->algo)) {
        return torus_expect(c, e->channel, e->owner, e->elem);
    }
    if (1 == e->p) {
        return leaf(e, 0);
    }
    switch (c->algo) {
    case GR_ALGO_RING:
        return once_around(e, e->owner);
    case GR_ALGO_CHAIN:
        return once_around(e, e->root);
    case GR_ALGO_TREE:
        return double_tree(e);
    case GR_ALGO_ONESHOT:
        return from_left(e, 0, 1);
    case GR_ALGO_TWOSHOT:
        return from_left(e, e->owner, -1);
    default:
        return GR_COLL_REDUCE_SCATTER == c->coll ? from_left(e, e->owner, -1)
                                                 : from_left(e, e->root, 1);
    }
}

static size_t up_to(size_t n, size_t pieces, size_t align)
{
    size_t cell = (n + pieces - 1) / pieces;

    return (cell + align - 1) / align * align;
}

static int position(const int *order, int rank)
{
    int pos = 0;

    while (order[pos] != rank) {
        pos++;
    }
    return pos;
}

/*
 * Where element k of a block of count elements is: a block is cut into channels, slices, and
 * chunks.
 */
static void locate(const struct sym *w, size_t count, size_t k, int owner, struct place *e)
{
    const struct gr_split *split = &w->ranks[0].plan.split;
    size_t per_channel = (size_t) split->nslices * split->nchunks;
    /* blocks at the end of a vector that is cut into some are shorter, and their cells are not */
    size_t cell = up_to(GR_BLOCKS == split->layout && NULL == split->counts ? split->block : count,
                        per_channel * split->nchannels, split->align);
    size_t piece = k / cell;

    e->channel = (uint32_t) (piece / per_channel);
    e->order = w->order + e->channel * (size_t) w->c->p;
    e->chunk = (uint32_t) (piece % split->nchunks);
    e->root = position(e->order, w->c->root);
    e->owner = position(e->order, owner);
}

/* Whether the order of reduction is stated: not of sets. */
static int has_order(const struct sym_case *c)
{
    return GR_COLL_BARRIER != c->coll;
}

static void want_element(struct sym *w, size_t count, size_t k, int owner, size_t elem)
{
    const struct sym_case *c = w->c;
    struct place e = {.p = c->p, .elem = elem};
    struct sym_value *v = &w->want[elem];
    int r;

    if (GR_COLL_BCAST == c->coll || GR_COLL_ALLGATHER == c->coll) {
        *v = sym_leaf(GR_COLL_BCAST == c->coll ? c->root : owner, elem);
        return;
    }
    locate(w, count, k, owner, &e);
    *v = (struct sym_value) {.elem = (int32_t) elem, .valid = 1};
    v->hash = has_order(c) ? stated_order(c, &e) : 0;
    for (r = 0; r < c->p; r++) {
        v->ranks[r / 64] |= UINT64_C(1) << r % 64;
    }
}

/* The whole vector: what allgather gathers and bcast sends, or all sums. Gaps stay poison. */
static void want_vector(struct sym *w)
{
    const struct sym_case *c = w->c;
    int cut = GR_BLOCKS == sym_layout(c) && GR_COLL_ALLREDUCE == c->coll;
    size_t block = cut && c->total > 0
                       ? up_to(c->total, (size_t) c->p, w->ranks[0].plan.split.align)
                       : c->total;
    size_t e, k, begin, count;
    int r;

    for (e = 0; !has_blocks(c) && e < c->total; e++) {
        begin = e / block * block;
        count = c->total - begin < block ? c->total - begin : block;
        want_element(w, count, e - begin, cut ? (int) (e / block) : 0, e);
    }
    for (r = 0; has_blocks(c) && r < c->p; r++) {
        begin = sym_displ(c, r);
        for (k = 0; k < sym_count(c, r); k++) {
            want_element(w, sym_count(c, r), k, r, begin + k);
        }
    }
}

static int check_value(struct sym *w, int rank, const struct sym_value *got,
                       const struct sym_value *want)
{
    if ((got->hash == want->hash || !has_order(w->c)) && got->valid == want->valid &&
        got->elem == want->elem && 0 == memcmp(got->ranks, want->ranks, sizeof(got->ranks))) {
        return 0;
    }
    if (!want->valid) {
        return sym_fail(w, SYM_WROTE_OUTSIDE, rank, "between the blocks, with element %d",
                        got->elem);
    }
    if (!got->valid) {
        return sym_fail(w, SYM_UNWRITTEN, rank, "element %d", want->elem);
    }
    if (got->elem != want->elem) {
        return sym_fail(w, SYM_ELEMENT, rank, "element %d in the place of %d", got->elem,
                        want->elem);
    }
    if (0 != memcmp(got->ranks, want->ranks, sizeof(got->ranks))) {
        return sym_fail(w, SYM_MISSING, rank, "element %d", want->elem);
    }
    return sym_fail(w, SYM_ORDER, rank, "element %d", want->elem);
}

/* Rank r's block from rank s is what s had for r. */
static int check_alltoall(struct sym *w)
{
    size_t block = w->c->block, k;
    int r;

    for (r = 0; r < w->c->p; r++) {
        const struct sym_space *out = &w->ranks[r].space[GR_OUT];

        for (k = 0; k < out->len; k++) {
            struct sym_value want = sym_leaf((int) (k / block), (size_t) r * block + k % block);

            if (check_value(w, r, &out->at[k], &want) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

int sym_check_values(struct sym *w)
{
    const struct sym_case *c = w->c;
    size_t first, k;
    int r;

    if (GR_COLL_ALLTOALL == c->coll) {
        return check_alltoall(w);
    }
    w->want_len = sym_extent(c);
    w->want = sym_grow(w->want, &w->want_room, w->want_len, sizeof(*w->want));
    if (w->want_len > 0) {
        memset(w->want, 0, w->want_len * sizeof(*w->want));
    }
    want_vector(w);
    for (r = 0; r < c->p; r++) {
        const struct sym_space *out = &w->ranks[r].space[GR_OUT];

        first = GR_COLL_REDUCE_SCATTER == c->coll ? sym_displ(c, r) : 0;
        for (k = 0; k < out->len; k++) {
            if (check_value(w, r, &out->at[k], &w->want[first + k]) < 0) {
                return -1;
            }
        }
    }
    return 0;
}
