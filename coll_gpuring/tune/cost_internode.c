/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model of select.h for ranks on several nodes: what counts is how often a message crosses
 * the network on its way, and how much passes the link of a node, which its ranks share. N ranks,
 * of which a node has up to P, on Q nodes.
 *
 *      bytes out of a node, of S               N - P others elsewhere
 *      ring, allreduce     2 S (N-1)/N         flat allreduce      2 S (N-P)    oneshot   P S (N-P)
 *      bucket, allreduce   2 S (Q-1)/Q         twoshot     2 P S (N-P)/N           chain       S
 *
 *      two-level, allreduce  S log2 Q, in blocks S (Q-1)/Q             node-tree, allreduce    2 S
 *      doubling, allreduce   P S log2 Q, in blocks P S (N-P)/N; N no power of two: twice that
 *
 * The files of the algorithms in sched/ say that (struct gr_internode_cost). What moves inside
 * nodes is taken for free except for its steps, as it differs little between these; not so
 * two-level, where leaders move the bytes of their nodes, one rank's after the other.
 */
#include "tune/select.h"

#include "tune/terms.h"

#include "sched/algorithm.h"
#include "sched/sched.h"

#include <math.h>

/* Shortest chunk of a pipeline that is worth a message. */
#define MIN_CHUNK 1024.0

/*
 * A message of up to so many bytes passes at once, from a node that sends no other: rates below a
 * connection's hold in the long run.
 */
#define PACKET 1400.0

/*
 * Microseconds of a hop inside a node whose ranks share cores: the receiver waits for its turn on a
 * core.
 */
#define TURN 5.0

/* A pipeline of chunks, each of which passes several links between nodes one after the other. */
struct pipeline {
    double hops;  /* those links */
    double own;   /* work of the busiest rank for a chunk */
    double byte;  /* time per byte of a link */
    double trip;  /* time until the writer of a message knows that its slot is free again */
    double slots; /* most chunks in flight at a time, in all channels and trees */
};

/* Time per `slots` chunks for which a link is idle because none of its slots is free. */
static double idle(const struct pipeline *pipe, double chunk)
{
    return fmax(0, pipe->trip - (pipe->slots - 1) * chunk * pipe->byte);
}

/*
 * The best length of a chunk. With C chunks of s bytes each hop but the last costs the first chunk
 * s byte / C, and each further chunk costs its busiest rank `own`. Where chunks are so short that
 * links are idle between them, each costs a share of a round trip besides: then chunks are longer,
 * up to the length at which the slots in flight cover the round trip.
 */
static double best_chunk(const struct pipeline *pipe, double s)
{
    double fewest = s / (pipe->hops * pipe->byte), chunk = sqrt(fewest * pipe->own),
           enough = fmin(pipe->trip / ((pipe->slots - 1) * pipe->byte), s / pipe->slots);

    if (chunk >= enough) {
        return chunk;
    }
    return fmin(sqrt(fewest * (pipe->own + pipe->trip / pipe->slots)), enough);
}

/* The chunks of a pipeline, and their length. */
static double cut_pipeline(const struct gr_select_args *q, const struct pipeline *pipe,
                           size_t *chunk_bytes)
{
    double s = (double) q->bytes, chunk = best_chunk(pipe, s), limit = (double) q->slot_bytes;

    chunk = chunk < MIN_CHUNK ? MIN_CHUNK : chunk;
    chunk = chunk < limit ? chunk : limit;
    *chunk_bytes = (size_t) chunk / 64 * 64;
    return s > 0 ? ceil(s / chunk) : 1;
}

double gr_cost_internode(const struct gr_costs *costs, const struct gr_select_args *q,
                         enum gr_algo algo, uint32_t nchannels, size_t *chunk_bytes)
{
    struct gr_cost_terms terms = gr_terms_of(costs, q, GR_BY_SLOTS);
    struct gr_internode_cost c = gr_algorithms[algo]->internode_cost(&terms);
    double s = (double) q->bytes, own = gr_terms_message(&q->internode), n, once, passed, waits;
    double rails = q->internode.rails > 1 ? q->internode.rails : 1,
           byte = q->internode.byte * (nchannels < rails ? rails / nchannels : 1);

    once = c.hops * q->internode.step +
           c.local_hops * (q->internode.oversubscribed ? fmax(costs->by[GR_BY_SLOTS].step, TURN)
                                                       : costs->by[GR_BY_SLOTS].step) +
           c.messages * own;
    if (c.pipelined) {
        struct pipeline pipe = {.hops = c.hops,
                                .own = own * (1 + c.messages),
                                .byte = byte,
                                .trip = 2 * q->internode.step,
                                .slots = q->nslots * nchannels * (c.two_trees ? 2 : 1)};

        n = cut_pipeline(q, &pipe, chunk_bytes);
        waits = ceil(n / pipe.slots) - 1;
        /* a single chunk is one tree's: to two below one */
        c.bytes += c.two_trees && n < 2 ? s : 0;
        /* a chunk, whole, at each node on its way */
        passed = n < 2 && s <= PACKET && 1 == q->internode.ranks ? 0 : s / n * byte;
        return once + (c.hops - 1) * passed + (n - 1) * pipe.own + waits * idle(&pipe, s / n) +
               c.bytes * byte;
    }
    *chunk_bytes = q->slot_bytes;
    /* slices of other channels fill the time in which one waits */
    n = GR_BLOCKS == gr_algo_layout(algo, q->coll) ? ceil(s / q->p / (double) q->slot_bytes)
                                                   : ceil(s / (double) q->slot_bytes);
    n = ceil(n / nchannels);
    return (n > 1 ? n : 1) * once + c.bytes * byte + c.local_bytes * costs->by[GR_BY_SLOTS].byte;
}
