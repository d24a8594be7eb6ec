/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Double binary trees: two trees over the n = p - 1 ranks that are not the root, each carrying
 * every other chunk, the root above both. A rank that is inside one tree is a leaf of the other, so
 * all links carry data in both directions.
 *
 *      tree 0, n = 7:     root
 *                           |
 *                    .---- 4 ----.
 *                 .- 2 -.     .- 6 -.
 *                 1     3     5     7
 *
 * Tree 1 is the same tree over mirrored labels (n even: x -> n+1-x) or shifted ones (n odd: x ->
 * x+1, n -> 1), which turns odd labels into even ones. Even labels are inside, odd labels are
 * leaves. With n odd, one rank is a leaf twice.
 *
 * The trees are in-order: the lowest set bit b of a label is its height, its parent is (x ^ b) |
 * 2b, or x ^ b where that is beyond n; its children are x - b/2 and x + b/2 (b halved again while
 * beyond n).
 *
 * Time is a grid of ticks. With h the greatest depth of a rank (root: 0), a rank of depth d handles
 * chunk j of a tree upwards in tick j + h - d and downwards in tick j + h + d (bcast alone: j + d),
 * so that each message is taken one tick after it was sent. Within a tick: down tree 0, down tree
 * 1, up tree 0, up tree 1 (tree_grid_step(), of any two trees). Up and down are interleaved;
 * both directions of each link are busy. The root turns each chunk around in one step
 * (recvReduceCopySend). Down comes first because with p = 2 both trees share one link: a leaf that
 * sent up before it took what came down would wait for a root that waits for it (two slots).
 *
 * Cost: 2 (C/2 + 2 log2 p) steps of one chunk for an allreduce of C chunks: 2 n b for long vectors.
 * Order of reduction: up(x) = (x + up(left child)) + up(right child); the root adds up(top) to its
 * own. Source: Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan, 2009.
 */
#include "sched/algorithm.h"
#include "sched/torus.h"

/* A position in a tree. */
struct tree_node {
    int parent;          /* position, -1 for the root */
    int32_t kid[GR_FAN]; /* positions of the children; at most two in a binary tree */
    int nkids;           /* entries of kid[] */
    int depth;           /* links to the root; 0: it is the root */
};

/* The greatest depth in a tree over n labels; 0 when the root is alone. */
static int tree_height(int n)
{
    return n > 0 ? gr_place_bits(n) + 1 : 0;
}

/* Distance from the root (1..n) to the label in tree t, and back. */
static int label_of(int n, int t, int distance)
{
    if (0 == t) {
        return distance;
    }
    return 0 == n % 2 ? n + 1 - distance : distance % n + 1;
}

static int distance_of(int n, int t, int label)
{
    if (0 == t) {
        return label;
    }
    return 0 == n % 2 ? n + 1 - label : (label + n - 2) % n + 1;
}

/* The parent's label, 0 at the top. */
static int label_parent(int n, int x)
{
    int b = x & -x;
    int up = (x ^ b) | (b << 1);

    return up <= n ? up : x ^ b;
}

/* The child's label on that side (-1 left, +1 right), 0 where there is none. */
static int label_kid(int n, int x, int side)
{
    int h = (x & -x) >> 1;

    if (side < 0) {
        return h > 0 ? x - h : 0;
    }
    while (h > 0 && x + h > n) {
        h >>= 1;
    }
    return h > 0 ? x + h : 0;
}

/* The node of pos in tree t (0, 1) of the double binary tree over p positions with that root. */
static struct tree_node tree_node_of(int p, int pos, int root, int t)
{
    struct tree_node v;
    int n = p - 1;
    int d = gr_wrap(pos - root, p);
    int x, y, side;

    v.parent = -1;
    v.nkids = 0;
    v.depth = 0;
    v.kid[0] = v.kid[1] = v.kid[2] = -1;
    if (0 == d) {
        if (n > 0) {
            v.kid[v.nkids++] = (root + distance_of(n, t, 1 << gr_place_bits(n))) % p;
        }
        return v;
    }
    x = label_of(n, t, d);
    for (side = -1; side <= 1; side += 2) {
        y = label_kid(n, x, side);
        if (y > 0) {
            v.kid[v.nkids++] = (root + distance_of(n, t, y)) % p;
        }
    }
    y = label_parent(n, x);
    v.parent = (root + (y > 0 ? distance_of(n, t, y) : 0)) % p;
    for (y = x; y > 0; y = label_parent(n, y)) {
        v.depth++;
    }
    return v;
}

/* Chunks of tree t: the even or the odd ones. */
static uint32_t tree_chunks(const struct gr_sched *s, int t)
{
    return (s->nchunks + 1 - (uint32_t) t) / 2;
}

/* Combine the children's sums with my input and pass the result on; the root keeps it. */
static void tree_up(const struct gr_sched *s, const struct tree_node *v, struct gr_step *t)
{
    int k;

    t->bits = v->nkids > 0 ? GR_RECV | GR_REDUCE : 0;
    for (k = 0; k < v->nkids; k++) {
        gr_step_from(s, t, v->kid[k]);
    }
    if (v->parent >= 0) {
        t->bits |= GR_SEND;
        gr_step_to(s, t, v->parent);
    } else {
        t->bits |= GR_STORE | GR_FINAL;
    }
}

/* Pass the result on, which I have taken from the parent and keep; the root has it. */
static void tree_down(const struct gr_sched *s, const struct tree_node *v, struct gr_step *t)
{
    int k;

    if (v->parent >= 0) {
        t->bits = GR_RECV | GR_STORE | GR_FINAL;
        gr_step_from(s, t, v->parent);
    }
    if (v->nkids > 0) {
        t->bits |= GR_SEND | GR_FINAL;
    }
    for (k = 0; k < v->nkids; k++) {
        gr_step_to(s, t, v->kid[k]);
    }
}

/* The steps of two trees in which no depth is above height. */
static uint32_t tree_grid_len(const struct gr_sched *s, int height)
{
    uint32_t each = GR_COLL_ALLREDUCE == s->coll ? 2 : 1;

    return 2 * each * (tree_chunks(s, 0) + each * (uint32_t) height);
}

/* The tree, 0 or 1, of step i of the grid: the two take turns. */
static int tree_of_step(uint32_t i)
{
    return (int) (i % 2);
}

/* Step i of the grid; v: my node in its tree. */
static struct gr_step tree_grid_step(const struct gr_sched *s, const struct tree_node *v,
                                     int height, uint32_t i)
{
    int both = GR_COLL_ALLREDUCE == s->coll;
    int t = tree_of_step(i);
    int down = GR_COLL_BCAST == s->coll || (both && i % 4 < 2);
    int turns = both && v->parent < 0; /* the root sends a sum down at once */
    uint32_t tick = both ? i / 4 : i / 2;
    /* the tick in which this rank handles chunk 0 of this tree in this direction */
    int begin = down ? (both ? height : 0) + v->depth : height - v->depth;
    uint32_t j = tick - (uint32_t) begin;
    struct gr_step step = gr_step_make(0, GR_IN, GR_OUT, 0, tick);

    if (tick < (uint32_t) begin || j >= tree_chunks(s, t)) {
        return step;
    }
    step.first = 2 * j + (uint32_t) t;
    if (!down) {
        tree_up(s, v, &step);
    }
    if (down != turns) {
        tree_down(s, v, &step);
    }
    return step;
}

static uint32_t tree_len(const struct gr_sched *s)
{
    return tree_grid_len(s, tree_height(s->p - 1));
}

static struct gr_step tree_step(const struct gr_sched *s, uint32_t i)
{
    struct tree_node v = tree_node_of(s->p, s->pos, s->root, tree_of_step(i));

    return tree_grid_step(s, &v, tree_height(s->p - 1), i);
}

/* The parents and children of a rank in two binary trees. */
static struct gr_links_count tree_links(int p, const struct gr_torus *torus)
{
    (void) p;
    (void) torus;
    return (struct gr_links_count) {4, 4};
}

/*
 * The pipeline of two trees of that height: each has half of the chunks, and a rank inside one tree
 * is a leaf of the other.
 */
static struct gr_cost_pipe two_trees(double height, int allreduce)
{
    return allreduce ? (struct gr_cost_pipe) {2 * height, 3, 2}
                     : (struct gr_cost_pipe) {height, 1.5, 1};
}

static struct gr_cost_pipe tree_pipe(const struct gr_cost_terms *t)
{
    return two_trees(gr_doubling_rounds(t->p), GR_COLL_ALLREDUCE == t->coll);
}

/*
 * The ranks of a node lie side by side, so that few branches lead out of it; but those of both
 * trees do.
 */
static struct gr_internode_cost tree_internode_cost(const struct gr_cost_terms *t)
{
    double halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1, height = gr_doubling_rounds(t->p),
           hops = gr_doubling_rounds(t->internode->nodes) + 1;

    hops = hops < height ? hops : height;
    return (struct gr_internode_cost) {.hops = halves * hops,
                                       .local_hops = halves * (height - hops),
                                       .messages = 2,
                                       .bytes = halves * gr_cost_with_header(t) *
                                                (t->internode->ranks > 1 ? 1.5 : 1),
                                       .pipelined = 1,
                                       .two_trees = 1};
}

const struct gr_algorithm gr_algorithm_tree = {
    .name = "tree",
    .help = "two binary trees below the root, each with every other chunk",
    .colls = GR_BIT(GR_COLL_ALLREDUCE) | GR_ROOTED_COLLS,
    .pipes = GR_BIT(GR_COLL_ALLREDUCE) | GR_ROOTED_COLLS,
    .traits = GR_TRAIT_ROOTED | GR_TRAIT_PIPELINED,
    .len = tree_len,
    .step = tree_step,
    .links = tree_links,
    .pipe = tree_pipe,
    .internode_cost = tree_internode_cost,
};

/*
 * Node trees: double binary trees between nodes, chains inside. Dimension 0 of the torus is a node.
 * Over the nodes lie the two trees above, each with every other chunk; a node hangs in one with
 * its first rank and in the other with its last, so that two ranks of it, and what joins them to
 * the network, share the work. The other ranks are a chain behind:
 *
 *      tree 0, 8 nodes:   R---o---o---o  root's node      tree 1:   R---o---o---o  root's node
 *                         |                                         |
 *                         o---o---o---o  4                          o---o---o---o  3
 *                     .--' '--.                                 .--' '--.
 *              2  o---o---o---o   o---o---o---o  6       1  o---o---o---o   o---o---o---o  5
 *                / \                 / \                     / \                 / \
 *             1 o.. o.. 3         5 o.. o.. 7            7 o.. o.. 2         4 o.. o.. 6
 *
 * Ranks of a node are counted from the root's number r on. The chain of tree 0 is r, r + 1, ...,
 * that of tree 1 is r - 1, r - 2, ..., so that who begins one ends the other; in the root's own
 * node the root begins both: r, r - 1, ... there. A rank has up to two nodes and one rank below it.
 *
 * Ticks are those above, depths count a chain's ranks, too. Two trees use a link between
 * neighbours in a chain in the same tick, one down and one up: both ends in the order of the grid.
 *
 * Cost, Q nodes of P ranks, C chunks: C/2 + h ticks in a bcast or reduce, C/2 + 2 h in an
 * allreduce, each way over h = log2 Q + P - 1 hops, of which log2 Q cross the network. Of n bytes a
 * node that is inside one tree takes n/2 of each of the two below it, and gives n/2 up in that tree
 * and n/2 in the other, whose leaf it is: n bytes pass its link each way in a reduce or bcast, 2 n
 * in an allreduce. Order of reduction: up(x) = ((x + up(next in its chain)) + up(left node)) +
 * up(right node), of those that there are. Source: as above; chains inside nodes: NCCL since 2.4,
 * 2019.
 */
/* The number of the rank that begins a node's chain of tree t. */
static int chain_first(const struct gr_sched *s, int node, int t)
{
    int ranks = s->torus.dims[0], first = s->root % ranks;

    return 1 == t && node != s->root / ranks ? (first + ranks - 1) % ranks : first;
}

/* The position that comes k-th in it, and my index in it. */
static int chain_at(const struct gr_sched *s, int node, int t, int k)
{
    int ranks = s->torus.dims[0];

    return node * ranks + gr_wrap(chain_first(s, node, t) + (0 == t ? k : -k), ranks);
}

static int chain_index(const struct gr_sched *s, int node, int t)
{
    int ranks = s->torus.dims[0], behind = s->pos % ranks - chain_first(s, node, t);

    return gr_wrap(0 == t ? behind : -behind, ranks);
}

/* My node of tree t: that of my node, with the chain before what is below it. */
static struct tree_node find_node(const struct gr_sched *s, int t)
{
    int ranks = s->torus.dims[0], node = s->pos / ranks, index = chain_index(s, node, t), k;
    struct tree_node above = tree_node_of(s->p / ranks, node, s->root / ranks, t), v = above;

    v.depth = above.depth + index;
    v.nkids = 0;
    if (index + 1 < ranks) {
        v.kid[v.nkids++] = chain_at(s, node, t, index + 1);
    }
    if (index > 0) {
        v.parent = chain_at(s, node, t, index - 1);
        return v;
    }
    v.parent = above.parent < 0 ? -1 : chain_at(s, above.parent, t, 0);
    for (k = 0; k < above.nkids; k++) {
        v.kid[v.nkids++] = chain_at(s, above.kid[k], t, 0);
    }
    return v;
}

/* Most ranks above one. */
static int node_tree_height(const struct gr_sched *s)
{
    int ranks = s->torus.dims[0];

    return tree_height(s->p / ranks - 1) + ranks - 1;
}

static uint32_t node_tree_len(const struct gr_sched *s)
{
    return tree_grid_len(s, node_tree_height(s));
}

static struct gr_step node_tree_step(const struct gr_sched *s, uint32_t i)
{
    struct tree_node v = find_node(s, tree_of_step(i));

    return tree_grid_step(s, &v, node_tree_height(s), i);
}

static struct gr_cost_pipe node_tree_pipe(const struct gr_cost_terms *t)
{
    int ranks = t->torus->dims[0];

    return two_trees(gr_doubling_rounds(t->p / ranks) + ranks - 1, GR_COLL_ALLREDUCE == t->coll);
}

/*
 * Where a node has one rank these are the trees of "tree"; where it has several, two of them share
 * the messages.
 */
static struct gr_internode_cost node_tree_internode_cost(const struct gr_cost_terms *t)
{
    double halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1, ranks = t->internode->ranks;

    return (struct gr_internode_cost) {.hops = halves * gr_doubling_rounds(t->internode->nodes),
                                       .local_hops = halves * (ranks - 1),
                                       .messages = ranks > 1 ? 1.0 : 2.0,
                                       .bytes = halves * gr_cost_with_header(t),
                                       .pipelined = 1,
                                       .two_trees = 1};
}

/* With one rank in a node it is the tree. */
static int node_tree_auto_ranks(const struct gr_cost_terms *t)
{
    return 1 == t->torus->dims[0] ? 0 : gr_cost_ranks_by_node(t);
}

const struct gr_algorithm gr_algorithm_node_tree = {
    .name = "node-tree",
    .help = "the trees of tree over nodes, with chains inside them",
    .colls = GR_BIT(GR_COLL_ALLREDUCE) | GR_ROOTED_COLLS,
    .pipes = GR_BIT(GR_COLL_ALLREDUCE) | GR_ROOTED_COLLS,
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_ROOTED | GR_TRAIT_PIPELINED,
    .fits = gr_torus_fits,
    .len = node_tree_len,
    .step = node_tree_step,
    .links = tree_links,
    .pipe = node_tree_pipe,
    .internode_cost = node_tree_internode_cost,
    .auto_ranks = node_tree_auto_ranks,
};
