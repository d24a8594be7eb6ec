/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the cost functions of algorithms are given, what they say, and what they have in common; the
 * same of numbers of links. tune/ fills the terms and makes the choice. Times are in microseconds.
 *
 * All of it is equal on all ranks, so that all ranks choose alike.
 */
#ifndef GR_SCHED_COST_H
#define GR_SCHED_COST_H

#include "sched/types.h"

/* Ranks on several nodes, and the links between these. */
struct gr_internode {
    int nodes;   /* 0 or 1: there are none */
    int ranks;   /* of a node, at most */
    double step; /* time of a message */
    /* time per byte of a node's link, of all its ranks and rails together, in each direction */
    double byte;
    int rails;          /* that links lie on, those of channel c on rail c % rails; 0 is 1 */
    int oversubscribed; /* whether ranks share cores */
};

struct gr_cost_terms {
    /* ---- the call ---- */
    enum gr_coll coll; /* the collective */
    int p;             /* ranks */
    /* S as bandwidth is counted: the vector; all blocks for allgather, reduce_scatter, alltoall */
    double bytes;
    const struct gr_torus *torus;         /* that the ranks form; ndims 0: none is known */
    const struct gr_internode *internode; /* nodes 0 or 1: all ranks are on one node */
    /* ---- inside a node, by the method of moving messages that is tried ---- */
    double step;     /* handing a message over */
    double next;     /* handing over a message right behind another on the same link */
    double byte;     /* moving a byte through a link, combining included */
    double channels; /* that work at the same time */
    double least;    /* bytes of a chunk worth a message, in all channels */
    double most;     /* bytes of a chunk at most, in all channels */
    int device;      /* whether kernels move the bytes */
    int fetched;     /* whether receivers fetch messages from their senders' buffers */
    int sends_once;  /* whether one copy of a message by its sender serves all its receivers */
};

/*
 * Where nothing is forced: ranks up to which each may have a link to all others; and the same for
 * oneshot and twoshot inside a node, on the host and by kernels.
 */
enum { GR_FLAT_RANKS = 8, GR_SHOT_RANKS = 2, GR_SHOT_RANKS_DEVICE = 16 };

/* What an algorithm does where ranks are on several nodes. */
struct gr_internode_cost {
    double hops;        /* between nodes, that the farthest message makes one after the other */
    double local_hops;  /* the same inside nodes */
    double messages;    /* that the busiest rank sends to other nodes, or receives, beside those */
    double bytes;       /* that pass the busiest node's link in one direction */
    double local_bytes; /* that the busiest rank moves inside its node */
    /* Chunks follow each other; else slices do, each from its beginning to its end. */
    int pipelined;
    /* Pipelined: chunks take two trees in turns, so that a single chunk loads one tree alone. */
    int two_trees;
};

/* ---- for cost functions inside a node ---- */

/* n messages through a link, one behind the other, without their bytes. */
double gr_cost_messages(const struct gr_cost_terms *t, double n);

/* A pipeline of chunks. */
struct gr_cost_pipe {
    double hops;   /* links that the first chunk passes before the last rank has it */
    double step;   /* of the busiest rank, per chunk, in steps */
    double passes; /* of the busiest rank, per byte of the vector, in bytes moved */
};

/*
 * The time of a pipeline, with the chunk length that makes it least. *chunk_bytes is set to that
 * length, for one channel.
 */
double gr_cost_pipeline(const struct gr_cost_terms *t, struct gr_cost_pipe pipe,
                        size_t *chunk_bytes);

/* Links that the farthest message passes on rings, one in each dimension: the sum over these. */
double gr_cost_torus_hops(const struct gr_torus *t);

/* Rounds of doubling, one dimension after the other: the sum over the dimensions. */
double gr_cost_torus_rounds(const struct gr_torus *t);

/* ---- for cost functions between nodes ---- */

/* Bytes of a message besides its data. */
#define GR_COST_HEADER 128.0

/* Bytes of one message that carries S: S and a header. */
double gr_cost_with_header(const struct gr_cost_terms *t);

/*
 * Of so many ranks of a node that send at the same time, those that slow the others down: all but
 * two.
 */
double gr_cost_hindered(double ranks);

/* What a bucket or Swing algorithm does between nodes. */
struct gr_internode_cost gr_cost_halves_by_nodes(const struct gr_cost_terms *t);

/* What an algorithm does between nodes in which each rank sends a block to each other rank. */
struct gr_internode_cost gr_cost_all_pairs(const struct gr_cost_terms *t);

/* ---- for auto_ranks ---- */

/*
 * For an algorithm that knows nodes: INT_MAX where the torus is that of ranks and nodes, else 0.
 */
int gr_cost_ranks_with_nodes(const struct gr_cost_terms *t);

/* The same for one that needs ranks numbered node by node: 0 where they are not. */
int gr_cost_ranks_by_node(const struct gr_cost_terms *t);

/* ---- for `links` of a descriptor: formulas that several algorithms have ---- */

/* Rounds in which n can be reached, doubling: log2 n, rounded up. */
static inline int gr_doubling_rounds(int n)
{
    int rounds = 0;

    while (1 << rounds < n) {
        rounds++;
    }
    return rounds;
}

/* One: rings and chains. */
struct gr_links_count gr_links_one(int p, const struct gr_torus *torus);

/* To all others. */
struct gr_links_count gr_links_all(int p, const struct gr_torus *torus);

/* log2 p, rounded up: doubling. */
struct gr_links_count gr_links_doubling(int p, const struct gr_torus *torus);

/* The same along each dimension of a torus. */
struct gr_links_count gr_links_torus_doubling(int p, const struct gr_torus *torus);

/* A leader of `ranks` ranks, whose links to and from the others of its node come to those given. */
struct gr_links_count gr_links_leaders(int ranks, int between);

#endif
