/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types of schedules: which algorithms there are, and the parameters of their steps (sched.h).
 *
 * A schedule is a value (struct gr_sched) that owns nothing; its steps are computed when asked for.
 */
#ifndef GR_SCHED_TYPES_H
#define GR_SCHED_TYPES_H

#include "sched/protocol.h"
#include "sched/step.h"
#include "topo/torus.h"

/*
 * The registry: the one list of all algorithms. A new algorithm needs its own file (algorithm.h
 * says what that offers), a line here, and a line in Makefile.am.
 *
 *      X(NAME, name)
 *
 *      GR_ALGO_NAME        the algorithm's number (sched.h)
 *      gr_algorithm_name   its descriptor
 *
 * Append: numbers travel between processes. With equal costs the first one is chosen.
 */
#define GR_ALGORITHMS(X)    \
    X(RING, ring)           \
    X(CHAIN, chain)         \
    X(TREE, tree)           \
    X(FLAT, flat)           \
    X(ONESHOT, oneshot)     \
    X(TWOSHOT, twoshot)     \
    X(PAIRWISE, pairwise)   \
    X(BUCKET, bucket)       \
    X(SWING, swing)         \
    X(MST, mst)             \
    X(ORDERED, ordered)     \
    X(SUH_SHIN, suh_shin)   \
    X(TWO_LEVEL, two_level) \
    X(NODE_TREE, node_tree) \
    X(DOUBLING, doubling)   \
    X(PAT, pat)             \
    X(DISSEMINATION, dissemination)

#define GR_NUMBER_ALGORITHM(NAME, name) GR_ALGO_##NAME,
enum gr_algo { GR_ALGORITHMS(GR_NUMBER_ALGORITHM) GR_NALGOS };
#undef GR_NUMBER_ALGORITHM

/*
 * The algorithms that a call can take: an enum gr_algo, or one that has no schedule. Small messages
 * go through mailboxes (exec/mailbox.h); one kernel does the call of ranks that share a device
 * (exec/gpu/leader.h).
 */
enum { GR_ALGO_MAILBOX = GR_NALGOS, GR_ALGO_LEADER, GR_NALGOS_ALL };

/*
 * What else links are made for ("uses"; each algorithm is one): call records, the mailboxes of an
 * Alltoall among many ranks (sched/groups.h), notes of step timing, and (GR_USE_SMALL + an algorithm)
 * an algorithm's small messages.
 */
enum {
    GR_USE_AGREEMENT = GR_NALGOS_ALL,
    GR_USE_GRID,
    GR_USE_NOTES,
    GR_USE_SMALL,
    GR_NUSES = GR_USE_SMALL + (int) GR_NALGOS
};

/* The algorithm of a use that is one, be it for small messages. */
static inline enum gr_algo gr_use_algo(int use)
{
    return (enum gr_algo)(use < GR_USE_SMALL ? use : use - GR_USE_SMALL);
}

/* How a collective's data is cut into the chunks that the steps of an algorithm name. */
enum gr_layout {
    GR_PIPE, /* one vector cut into nchunks chunks that follow each other through a pipeline */
    /*
     * One block per rank: chunk number = rank of the block's owner. In an Alltoall: in the input
     * the rank that the block is for; in the output the rank that it comes from; in scratch as the
     * algorithm says.
     */
    GR_BLOCKS
};

/* Parameters of the schedule of one channel at one rank. */
struct gr_sched {
    enum gr_coll coll; /* what is computed */
    enum gr_algo algo; /* the algorithm, which has a schedule for coll */
    int p;             /* ranks, >= 1 */
    int pos;           /* my position, 0..p-1 */
    int root;          /* the root's position; 0 where the collective has none */
    /* order[position] = rank; NULL: position = rank. Not owned, must outlive the schedule */
    const int *order;
    uint32_t nchunks; /* GR_PIPE: chunks in the pipeline, >= 1. GR_BLOCKS: not read */
    /*
     * Algorithms along a torus: position = number on the torus = rank, order is NULL. Others do not
     * read these
     */
    struct gr_torus torus;
    int channel; /* >= 0: which of the routes through the torus (torus.h) */
};

/*
 * How many links an algorithm needs, by formula, so that it is known before a set-up sends anything:
 * ranks that a rank receives from, and as many that it sends to, in a channel and for one root.
 */
struct gr_links_count {
    int most; /* of any rank, at most */
    int mean; /* of all ranks together, over their number, rounded up, at most */
};

#endif
