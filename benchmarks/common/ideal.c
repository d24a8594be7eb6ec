/* SPDX-License-Identifier: BSD-3-Clause */
/* The factors and bounds of ideal.h. */
#include "ideal.h"

#include "tune/machine.h"

#include <math.h>
#include <stdlib.h>

/* INFINITY: the term does not apply. NAN: a bandwidth is not known, and so the result. */
static double least(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return NAN;
    }
    return a < b ? a : b;
}

struct node_count {
    int ranks;
    int leaving;  /* sends of the ring that leave the node */
    int touching; /* ranks with a ring neighbour on another node */
};

static void count_ring(struct node_count *node, const int *node_of, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        int self = node_of[r];
        int next = node_of[(r + 1) % ranks];
        int prev = node_of[(r + ranks - 1) % ranks];
        node[self].leaving += next != self;
        node[self].touching += next != self || prev != self;
    }
}

/*
 * c transfers of one size that share a link cannot be done before 1, 2, .. c transfer times,
 * however the link is divided: together they wait at least this many.
 */
static double waits(int c)
{
    return 0.5 * c * (c + 1.0);
}

static void add_node(struct ideal_layout *layout, const struct node_count *node)
{
    double cross = (double) node->ranks * (layout->ranks - node->ranks);

    layout->nodes++;
    if (0 == layout->min_per_node || node->ranks < layout->min_per_node) {
        layout->min_per_node = node->ranks;
    }
    if (node->ranks > layout->max_per_node) {
        layout->max_per_node = node->ranks;
    }
    if (cross > layout->alltoall_cross) {
        layout->alltoall_cross = cross;
    }
    if (node->leaving > layout->max_leaving) {
        layout->max_leaving = node->leaving;
    }
    /* As many transfers enter as leave. A rank at which both happen waits for both at once. */
    layout->ring_wait += waits(node->leaving) + waits(node->touching - node->leaving);
    layout->ring_inside -= node->touching;
}

int ideal_layout_init(struct ideal_layout *layout, const int *node_of, int ranks, int root)
{
    struct node_count *nodes = calloc((size_t) ranks, sizeof *nodes);

    if (NULL == nodes) {
        return -1;
    }
    *layout = (struct ideal_layout) {.ranks = ranks, .ring_inside = ranks};
    for (int r = 0; r < ranks; r++) {
        if (node_of[r] < 0 || node_of[r] >= ranks) {
            free(nodes);
            return -1;
        }
        nodes[node_of[r]].ranks++;
    }
    count_ring(nodes, node_of, ranks);
    for (int n = 0; n < ranks; n++) {
        if (nodes[n].ranks > 0) {
            add_node(layout, &nodes[n]);
        }
    }
    layout->on_roots_node = nodes[node_of[root]].ranks;
    free(nodes);
    return 0;
}

bool ideal_is_uneven(const struct ideal_layout *layout)
{
    return layout->min_per_node != layout->max_per_node;
}

/* Traffic inside nodes when data also cross nodes: each of the P ranks of a node moves (P-1)/P of S
 * (twice for allreduce, whose factor is twice as large). The fullest node is the slowest. */
static double bound_inside(const struct ideal_layout *l, double B)
{
    double n = l->ranks, p = l->max_per_node;

    return p > 1 ? B * (n - 1) * p / (n * (p - 1)) : INFINITY;
}

/* Every node holds one Q-th of the sums, so 2 S (Q-1)/Q crosses each node's link, whatever the
 * numbers of ranks on the nodes. */
static double bound_allreduce(const struct ideal_layout *l, double B, double I)
{
    double n = l->ranks, q = l->nodes;

    return least(I * (n - 1) * q / (n * (q - 1)), bound_inside(l, B));
}

/* Shares belong to ranks: all but its own P of N shares enter (or leave) a node. The node with the
 * fewest ranks has the most loaded link. */
static double bound_shares(const struct ideal_layout *l, double B, double I)
{
    return least(I * (l->ranks - 1.0) / (l->ranks - l->min_per_node), bound_inside(l, B));
}

/* All S bytes cross the link of one node at least, and that of one rank. */
static double bound_rooted(const struct ideal_layout *l, double B, double I)
{
    return least(I, l->max_per_node > 1 ? B : INFINITY);
}

/*
 * S/N from (or to) each other rank: N-P of these blocks cross the link of the root's node, P-1 the
 * root's own.
 */
static double bound_root_shares(const struct ideal_layout *l, double B, double I)
{
    double p = l->on_roots_node;

    return least(I * (l->ranks - 1.0) / (l->ranks - p),
                 p > 1 ? B * (l->ranks - 1.0) / (p - 1) : INFINITY);
}

/* S/N per ordered pair of ranks: P (N-P) pairs over a node's link, P-1 over a rank's. */
static double bound_alltoall(const struct ideal_layout *l, double B, double I)
{
    double p = l->max_per_node;

    return least(I * (l->ranks - 1.0) / l->alltoall_cross,
                 p > 1 ? B * (l->ranks - 1.0) / (p - 1) : INFINITY);
}

/*
 * Wherever the row of ranks, first to last, leaves a node, the ranks behind need a sum in which the
 * node's ranks so far take part, S bytes, and no two of these sums tell each other. Where it
 * enters, likewise. The larger of the two numbers is how often the ring leaves, which closes where
 * the row ends. (B is no bound: where neighbours are on different nodes, no sum need travel inside
 * one.)
 */
static double bound_scan(const struct ideal_layout *l, double B, double I)
{
    (void) B;
    return I / l->max_leaving;
}

/* The time reported is the mean over ranks, so the bound is that of the mean: each rank is as slow
 * as the slower of its two pairs' links. */
static double bound_sendrecv(const struct ideal_layout *l, double B, double I)
{
    double inside = l->ring_inside > 0 ? l->ring_inside / B : 0;

    return l->ranks / (l->ring_wait / I + inside);
}

static double factor_allreduce(int ranks)
{
    return 2.0 * (ranks - 1) / ranks;
}

static double factor_shares(int ranks)
{
    return (ranks - 1.0) / ranks;
}

static double factor_whole(int ranks)
{
    (void) ranks;
    return 1;
}

/* ---- one node: V / S, and e ---- */

static double pass_twice(int ranks)
{
    return 2.0 * (ranks - 1);
}

static double pass_once(int ranks)
{
    return ranks - 1;
}

static double pass_to_root(int ranks)
{
    return (ranks - 1.0) / ranks;
}

static double pass_ring(int ranks)
{
    return ranks;
}

/* ---- one device: bytes that all ranks read and write, over S ---- */

static double touch_all(int ranks, bool in_place)
{
    (void) in_place;
    return 2.0 * ranks;
}

/*
 * An allgather reads S and writes N S, a reduce_scatter the other way round. In place an allgather
 * does not write each rank's own block, S in all.
 */
static double touch_shares(int ranks, bool in_place)
{
    return in_place ? ranks : ranks + 1.0;
}

/* A bcast reads S at the root, and writes it at all others. A reduce touches S more. */
static double touch_rooted(int ranks, bool in_place)
{
    (void) in_place;
    return ranks;
}

/* The last rank of an exscan sends nothing, and the first one gets nothing; a scan touches 2 N. */
static double touch_scan(int ranks, bool in_place)
{
    (void) in_place;
    return 2.0 * (ranks - 1);
}

/* The root's own block stays where it is in place. */
static double touch_root_shares(int ranks, bool in_place)
{
    return 2 * (in_place ? (ranks - 1.0) / ranks : 1);
}

/* ---- all ---- */

static double all_wait(int ranks)
{
    (void) ranks;
    return 1;
}

static double one_waits(int ranks)
{
    return 1.0 / ranks;
}

static const struct {
    double (*factor)(int ranks);
    double (*bound)(const struct ideal_layout *layout, double B, double I); /* several nodes */
    double (*passes)(int ranks);                                            /* V / S */
    double (*exchanges)(int ranks);                                         /* e, at least */
    double (*touched)(int ranks, bool in_place);                            /* one device */
} kinds[] = {
    [IDEAL_ALLREDUCE] = {factor_allreduce, bound_allreduce, pass_twice, all_wait, touch_all},
    [IDEAL_SHARES] = {factor_shares, bound_shares, pass_once, all_wait, touch_shares},
    [IDEAL_ROOTED] = {factor_whole, bound_rooted, pass_once, one_waits, touch_rooted},
    [IDEAL_ROOT_SHARES] = {factor_shares, bound_root_shares, pass_to_root, one_waits,
                           touch_root_shares},
    [IDEAL_ALLTOALL] = {factor_shares, bound_alltoall, pass_once, all_wait, touch_all},
    [IDEAL_SCAN] = {factor_whole, bound_scan, pass_once, one_waits, touch_scan},
    [IDEAL_SENDRECV] = {factor_whole, bound_sendrecv, pass_ring, all_wait, touch_all},
};

const size_t ideal_sizes[IDEAL_SIZES] = {1 << 10,   4 << 10, 16 << 10, 64 << 10,
                                         256 << 10, 1 << 20, 4 << 20,  32 << 20};

double ideal_limit(enum ideal_kind kind, int ranks, const struct ideal_rates *rates, size_t bytes)
{
    double block = kinds[kind].passes(ranks) * (double) bytes / ranks;
    double us = kinds[kind].exchanges(ranks) * rates->exchange_us +
                block / gr_interpolate(ideal_sizes, rates->GBs, IDEAL_SIZES, block) * 1e-3;

    return ranks < 2 ? NAN : ideal_busbw(kind, bytes, us * 1e-6, ranks);
}

double ideal_factor(enum ideal_kind kind, int ranks)
{
    return kinds[kind].factor(ranks);
}

double ideal_busbw(enum ideal_kind kind, size_t bytes, double seconds, int ranks)
{
    return (double) bytes / seconds / 1e9 * ideal_factor(kind, ranks);
}

double ideal_bound(enum ideal_kind kind, const struct ideal_layout *layout, double B, double I)
{
    if (layout->ranks < 2) {
        return NAN;
    }
    return 1 == layout->nodes ? B : kinds[kind].bound(layout, B, I);
}

double ideal_one_pass(enum ideal_kind kind, int ranks, bool in_place, double R)
{
    return ranks < 2 ? NAN : kinds[kind].factor(ranks) * R / kinds[kind].touched(ranks, in_place);
}
