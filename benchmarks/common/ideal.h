/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bus bandwidth: the factor that turns algorithm bandwidth into bus bandwidth, and the most that a
 * cluster's links allow each collective. No MPI.
 *
 * N ranks on Q nodes; B is the one-way bandwidth of a rank to the others of its node, I the one-way
 * bandwidth of a node to the other nodes, both in GB/s (1e9 bytes). Assumed: full duplex, full
 * bisection inside and between nodes, no computing in the network, free arithmetic, and no
 * interference of traffic inside nodes with traffic between them.
 */
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
    IDEAL_SENDRECV     /* sendrecv, neighbor_...: rank i sends to i + 1, receives from i - 1 */
};

/* The placement of ranks on nodes, as far as bounds depend on it. */
struct ideal_layout {
    int ranks;
    int nodes;
    int min_per_node;      /* ranks of the smallest node */
    int max_per_node;      /* ranks of the largest node */
    int on_roots_node;     /* ranks of the root's node, the root included */
    double alltoall_cross; /* ordered pairs of ranks whose data leave the busiest node */
    int ring_inside;       /* ranks whose two ring neighbours are in their own node */
    int max_leaving;       /* most sends of the ring that leave one node */
    double ring_wait;      /* sendrecv: time on nodes' links, in transfers, over all other ranks */
};

/*
 * Fills *layout from the node number of every rank (each in [0, ranks)) and from the root's rank.
 * Returns 0, or -1 when memory is short or a node number is out of range.
 */
int ideal_layout_init(struct ideal_layout *layout, const int *node_of, int ranks, int root);

/* Whether nodes have different numbers of ranks. */
bool ideal_is_uneven(const struct ideal_layout *layout);

/* busbw / algbw. For one rank that is 0 where nothing needs to be moved. */
double ideal_factor(enum ideal_kind kind, int ranks);

/*
 * algbw x factor in GB/s; bytes is S as the factor's table defines it, seconds the time of a call.
 */
double ideal_busbw(enum ideal_kind kind, size_t bytes, double seconds, int ranks);

/*
 * The highest busbw (GB/s) that the links allow this kind. NAN: one rank, or the bandwidth of a
 * link that matters is NAN. The bound of a kind with a root, and of a scan, is that of the last
 * rank to finish; the reported time is the mean over ranks, some of which finish early, so its
 * busbw can be above the bound.
 */
double ideal_bound(enum ideal_kind kind, const struct ideal_layout *layout, double B, double I);

/*
 * What two ranks of a node were measured to do with each other's memory. Between two sizes a rate
 * is interpolated on the logarithm of the size; beyond, it is that of the last size.
 */
enum { IDEAL_SIZES = 8 };
extern const size_t ideal_sizes[IDEAL_SIZES]; /* bytes, growing */
struct ideal_rates {
    double exchange_us;      /* both write a cache line and wait for the other's; NAN: unknown */
    double GBs[IDEAL_SIZES]; /* of one copy of that many bytes */
};

/*
 * The highest busbw of calls of S bytes among the ranks of one node, in GB/s:
 *     time >= e E + V / (N R)
 * E: the exchange; e: the exchanges that a rank waits for, a mean over ranks; V: the bytes that
 * must pass from rank to rank, of all ranks; R: the rate of copies of V / N bytes. NAN: one rank,
 * or rates->exchange_us is. The floor of benchmarks/compare is the same for the collectives that it
 * knows, with e of each collective (compare_lib/floor.py): a change is to be made there, too.
 */
double ideal_limit(enum ideal_kind kind, int ranks, const struct ideal_rates *rates, size_t bytes);

/*
 * The highest busbw, in GB/s, among ranks whose buffers all lie in the memory of one device: one
 * pass over that memory. Each input is read once and each result is written once, together at R
 * GB/s, the rate at which the device reads and writes while it copies. An operation in place
 * neither reads nor writes less, but for a rank's own block of an allgather. What the device's
 * cache holds can be faster. NAN: one rank, or R is.
 */
double ideal_one_pass(enum ideal_kind kind, int ranks, bool in_place, double R);

#endif
