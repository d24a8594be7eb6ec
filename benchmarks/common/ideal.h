/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the arithmetic of bus bandwidth: the factor that turns algorithm bandwidth into bus
 * bandwidth, and the most that a cluster's links allow each collective. No MPI in here.
 *
 * N ranks on Q nodes; B is the one-way bandwidth of a rank to the others of its node, I the
 * one-way bandwidth of a node to the other nodes, both in GB/s (1e9 bytes). Assumed: full duplex,
 * full bisection inside and between nodes, no computing in the network, free arithmetic, and
 * traffic inside nodes and between them not disturbing each other. */
#ifndef BENCH_IDEAL_H
#define BENCH_IDEAL_H

#include <stdbool.h>
#include <stddef.h>

/* Collectives with the same factor and the same bound are one kind. */
enum ideal_kind {
    IDEAL_ALLREDUCE,
    IDEAL_SHARES,      /* allgather, allgatherv, reduce_scatter, reduce_scatter_block */
    IDEAL_ROOTED,      /* bcast, reduce */
    IDEAL_ROOT_SHARES, /* gather, gatherv, scatter, scatterv */
    IDEAL_ALLTOALL,    /* alltoall, alltoallv, alltoallw */
    IDEAL_SCAN,        /* scan, exscan */
    /* and neighbourhoods: every rank sends to the next one and receives from the one before */
    IDEAL_SENDRECV
};

/* What of the placement of ranks on nodes the bounds need. */
struct ideal_layout {
    int ranks;
    int nodes;
    int min_per_node;
    int max_per_node;
    int on_roots_node;     /* ranks, the root too */
    double alltoall_cross; /* ordered pairs of ranks whose data leave the busiest node */
    int ring_inside;       /* ranks whose two ring neighbours are in their own node */
    int max_leaving;       /* of the ring's sends, from one node */
    /* sendrecv: times of one transfer on a node's link, summed over the rest */
    double ring_wait;
};

/* Fills *layout from the node number of every rank (each in [0, ranks)) and from the root's rank.
 * Returns 0, or -1 when memory is short or a node number is out of range. */
int ideal_layout_init(struct ideal_layout *layout, const int *node_of, int ranks, int root);

/* Nodes with different numbers of ranks? */
bool ideal_is_uneven(const struct ideal_layout *layout);

/* busbw / algbw. For one rank that is 0 where nothing needs to be moved. */
double ideal_factor(enum ideal_kind kind, int ranks);

/*
 * algbw x factor in GB/s; bytes is S as the factor's table defines it, seconds the time of a call.
 */
double ideal_busbw(enum ideal_kind kind, size_t bytes, double seconds, int ranks);

/*
 * The highest busbw (GB/s) that the links allow this kind. NAN for a link that matters but whose
 * bandwidth is unknown (NAN), and for one rank. The bound of a kind with a root, and of a scan, is
 * that of the last rank to finish. The time that is reported is the mean over ranks, of which some
 * are done early: its busbw can come out above the bound.
 */
double ideal_bound(enum ideal_kind kind, const struct ideal_layout *layout, double B, double I);

/*
 * The published formula, stated for every collective alike:
 *     min( I (N-1) Q / (N ), B (N-1) / (N-Q) )
 * It is above what bcast, reduce, alltoall and scans can reach on several nodes; ideal_bound is
 * not.
 */
double ideal_published(const struct ideal_layout *layout, double B, double I);

#endif
