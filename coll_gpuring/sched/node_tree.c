/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Node trees: double binary trees between nodes, chains inside. Dimension 0 of the torus is a node.
 * Over the nodes lie the two trees of tree.c, each with every other chunk; a node hangs in one with
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
 * Ticks are those of tree.c, depths count a chain's ranks, too. Two trees use a link between
 * neighbours in a chain in the same tick, one down and one up: both ends in the order of the grid.
 *
 * Cost, Q nodes of P ranks, C chunks: C/2 + h ticks in a bcast or reduce, C/2 + 2 h in an
 * allreduce, each way over h = log2 Q + P - 1 hops, of which log2 Q cross the network. Of n bytes a
 * node that is inside one tree takes n/2 of each of the two below it, and gives n/2 up in that tree
 * and n/2 in the other, whose leaf it is: n bytes pass its link each way in a reduce or bcast, 2 n
 * in an allreduce. Order of reduction: up(x) = ((x + up(next in its chain)) + up(left node)) +
 * up(right node), of those that there are. Source: tree.c's; chains inside nodes: NCCL since 2.4,
 * 2019.
 */
#include "sched/tree.h"

#include "sched/torus.h"

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

    return node * ranks + gr_mod(chain_first(s, node, t) + (0 == t ? k : -k), ranks);
}

static int chain_index(const struct gr_sched *s, int node, int t)
{
    int ranks = s->torus.dims[0], behind = s->pos % ranks - chain_first(s, node, t);

    return gr_mod(0 == t ? behind : -behind, ranks);
}

/* My node of tree t: that of my node, with the chain before what is below it. */
static struct gr_tree_node find_node(const struct gr_sched *s, int t)
{
    int ranks = s->torus.dims[0], node = s->pos / ranks, index = chain_index(s, node, t), k;
    struct gr_tree_node above = gr_tree_node_of(s->p / ranks, node, s->root / ranks, t), v = above;

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
static int height(const struct gr_sched *s)
{
    int ranks = s->torus.dims[0];

    return gr_tree_height(s->p / ranks - 1) + ranks - 1;
}

static uint32_t node_tree_len(const struct gr_sched *s)
{
    return gr_tree_grid_len(s, height(s));
}

static struct gr_step node_tree_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_tree_node v = find_node(s, gr_tree_of_step(i));

    return gr_tree_grid_step(s, &v, height(s), i);
}

static struct gr_cost_pipe node_tree_pipe(const struct gr_cost_terms *t)
{
    int ranks = t->torus->dims[0];

    return gr_cost_two_trees(gr_cost_rounds(t->p / ranks) + ranks - 1,
                             GR_COLL_ALLREDUCE == t->coll);
}

/*
 * Where a node has one rank these are the trees of tree.c; where it has several, two of them share
 * the messages.
 */
static struct gr_internode_cost node_tree_internode_cost(const struct gr_cost_terms *t)
{
    double halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1, ranks = t->internode->ranks;

    return (struct gr_internode_cost) {.hops = halves * gr_cost_rounds(t->internode->nodes),
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
    .traits = GR_TRAIT_TORUS | GR_TRAIT_ROOTED | GR_TRAIT_PIPELINED,
    .fits = gr_torus_fits,
    .len = node_tree_len,
    .step = node_tree_step,
    .links = gr_links_two_trees,
    .pipe = node_tree_pipe,
    .internode_cost = node_tree_internode_cost,
    .auto_ranks = node_tree_auto_ranks,
};
