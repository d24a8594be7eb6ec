/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model of select.h for ranks on several nodes: what counts is how often a message crosses
 * the network on its way, and how much passes the link of a node, which its ranks share. N ranks,
 * of which a node has up to P, on Q nodes.
 *
 *      bytes out of a node, of S               N - P others elsewhere
 *      ring, allreduce     2 S (N-1)/N         flat allreduce      2 S (N-P)       oneshot     P S (N-P)
 *      bucket, allreduce   2 S (Q-1)/Q         twoshot     2 P S (N-P)/N           chain       S
 *
 *      two-level, allreduce  S log2 Q, in blocks S (Q-1)/Q             node-tree, allreduce    2 S
 *      doubling, allreduce   P S log2 Q, in blocks P S (N-P)/N, twice that where N is no power of two
 *
 * What moves inside nodes is taken for free but for its steps, it differs little between these; not
 * so two-level, where leaders have to move what their nodes have, one rank's after the other.
 */
#include "tune/select.h"

#include <math.h>

/* Shortest chunk of a pipeline that is worth a message. */
#define MIN_CHUNK 1024.0

/* That a message has besides its data. */
#define HEADER 128.0

/*
 * A message of up to so many bytes passes at once, from a node that sends no other: rates below a
 * connection's hold in the long run.
 */
#define PACKET 1400.0

/*
 * Bytes of a message that are on their way while another rank of the node makes its own ready;
 * while a root has another.
 */
#define HIDDEN 128.0
#define HIDDEN_AT_ROOT 32.0

/*
 * A hop inside a node whose ranks share cores, in us: who is to take the message waits for its turn
 * on one.
 */
#define TURN 5.0

/*
 * A message between nodes for which another rank of the node must have its turn first, in messages
 * that one has besides.
 */
#define IN_TURN 6.0

/* What all ranks send to all others at once gets into each other's way. */
#define CROWD 1.1

/* What an algorithm does. */
struct course {
    /* that the farthest message makes, one after the other: between nodes and inside */
    double hops, near;
    /* messages that the busiest rank sends to other nodes, or receives, beside those, */
    double more;
    double bytes;  /* and bytes that pass the busiest node's link in one direction; */
    double inside; /* bytes that the busiest rank moves inside its node */
    /* chunks follow each other; else slices do, each from its beginning to its end */
    int pipe;
};

static double rounds_among(int n)
{
    return n > 1 ? ceil(log2(n)) : 0;
}

/*
 * Ranks of a node that send at the same time, beyond two, which do not get into each other's way.
 */
static double in_the_way(double ranks)
{
    return fmax(0, ranks - 2);
}

/*
 * With s bytes. Leaders serve the others of their nodes one after the other; but where these share
 * cores, all have had their turn when the leader has.
 */
static struct course two_level(const struct gr_select_args *q, double s)
{
    double nodes = q->far.nodes, rounds = rounds_among(q->far.nodes), others = q->far.ranks - 1;
    double near = q->far.shared ? fmin(others, 1) : others;
    /* nodes without a place are given the result besides */
    double fold = exp2(rounds) > nodes, doubled = rounds - fold;

    switch (q->coll) {
    case GR_COLL_BCAST:
    case GR_COLL_REDUCE:
        return (struct course) {rounds, near, 0, rounds * s, others * s, 0};
    case GR_COLL_ALLREDUCE:
        return (struct course) {doubled + 2 * fold,   2 * near,       0,
                                (doubled + fold) * s, 2 * others * s, 0};
    default:
        return (struct course) {
            doubled + 2 * fold, 2 * near, 0, (1 + fold) * (nodes - 1) / nodes * s, others * s, 0};
    }
}

/*
 * All ranks double, the lowest bits of their numbers first; where all sizes are powers of two,
 * these are those of a node among themselves. Measured with two in a node: their messages hide each
 * other's headers, and first bytes. More of them get into each other's way; and where they share
 * cores, all wait for what comes last: that are exchanges between nodes, but in a reduce_scatter,
 * which begins with them, when links have rested.
 */
static struct course doubling(const struct gr_select_args *q)
{
    double ranks = q->far.ranks, rounds = rounds_among(q->p), fold = exp2(rounds) > q->p;
    double near = q->torus.nested && 0 == fold ? rounds_among(q->far.ranks) : 0;
    double hops = rounds - near + fold, s = (1 == q->far.ranks ? HEADER : 0) + (double) q->bytes;
    /* ranks without a place give or get all of them besides */
    double blocks = (1 + fold) * (q->p - ranks) / q->p;
    double bytes = (GR_COLL_ALLREDUCE == q->coll ? hops : blocks) * s;

    double more = in_the_way(ranks) * hops;
    int begins = GR_COLL_REDUCE_SCATTER == q->coll;

    if (q->far.shared && hops > 1 && !begins) {
        more += IN_TURN * (ranks - 1) * (hops - 1);
    }
    bytes -= ranks > 1 ? fmin(bytes, hops * (begins ? 2 : 1) * HIDDEN) : 0;
    return (struct course) {hops, near, more, ranks * bytes, 0, 0};
}

/*
 * To a root, or from it, with s bytes. Measured: on nodes of one rank each `more` hides headers,
 * and a message's first bytes.
 */
static struct course flat(const struct gr_select_args *q, double others, double halves, double s)
{
    if (1 == q->far.ranks) {
        s = fmax(0, (double) q->bytes - (halves > 1 ? 0 : HIDDEN_AT_ROOT));
    }
    return (struct course) {halves, 0, halves * (others - 1), halves * others * s, 0, 0};
}

static struct course course_of(const struct gr_select_args *q, enum gr_algo algo)
{
    const struct gr_internode *far = &q->far;
    double n = q->p, nodes = far->nodes, ranks = far->ranks, s = HEADER + (double) q->bytes,
           others = n - ranks;
    double halves = GR_COLL_ALLREDUCE == q->coll ? 2 : 1, height = rounds_among(q->p);
    double crowd = others > 1 ? CROWD : 1, rounds = rounds_among(far->nodes), deep = rounds + 1;
    int blocks = GR_BLOCKS == gr_algo_layout(algo, q->coll);

    switch (algo) {
    case GR_ALGO_RING: {
        double steps = halves * (n - 1), hops = ceil(steps * nodes / n);

        return (struct course) {hops, steps - hops, 0, steps / n * s, 0, 0};
    }
    case GR_ALGO_CHAIN:
        return (struct course) {nodes - 1, n - nodes, 0, s, 0, 1};
    case GR_ALGO_TREE:
        /*
         * a node's ranks lie side by side, so that few branches lead out of it; but those of both
         * trees do
         */
        deep = deep < height ? deep : height;
        return (struct course) {
            halves * deep, halves * (height - deep), 2, halves * s * (ranks > 1 ? 1.5 : 1), 0, 1};
    case GR_ALGO_ONESHOT:
        return (struct course) {1, 0, 2 * (others - 1), crowd * ranks * others * s, 0, 0};
    case GR_ALGO_TWOSHOT:
        return (struct course) {2, 0, 4 * (others - 1), 2 * crowd * ranks * others / n * s, 0, 0};
    case GR_ALGO_FLAT:
        return blocks
                   ? (struct course) {1, 0, 2 * (others - 1), crowd * ranks * others / n * s, 0, 0}
                   : flat(q, others, halves, s);
    case GR_ALGO_MST:
        /* inside nodes first: then all of a node's ranks send what they have */
        return (struct course) {rounds, rounds_among(far->ranks), 0, ranks * rounds * s, 0, 0};
    case GR_ALGO_TWO_LEVEL:
        return two_level(q, s);
    case GR_ALGO_DOUBLING:
        return doubling(q);
    case GR_ALGO_NODE_TREE:
        /*
         * as the tree where a node has one rank; where it has several, two of them share the
         * messages
         */
        return (struct course) {
            halves * rounds, halves * (ranks - 1), ranks > 1 ? 1 : 2, halves * s, 0, 1};
    case GR_ALGO_BUCKET:
    case GR_ALGO_SWING:
        return (struct course) {halves * (nodes - 1),
                                halves * (ranks - 1),
                                far->shared ? in_the_way(ranks) * halves * (nodes - 1) : 0,
                                halves * (nodes - 1) / nodes * s,
                                0,
                                0};
    default: /* an Alltoall has one way */
        return (struct course) {n - 1, 0, 0, ranks * others / n * s, 0, 0};
    }
}

/*
 * The chunks of a pipeline, and their length. With C chunks of s bytes each hop but the last costs
 * the first chunk s byte / C, and each further chunk costs its busiest rank `own`. C is a power of
 * two where slices have at most so many.
 */
static double cut_pipeline(const struct gr_select_args *q, const struct course *c, double own,
                           double byte, uint32_t most, size_t *chunk_bytes)
{
    double s = (double) q->bytes, chunk = sqrt(s * own / (c->hops * byte)),
           limit = (double) q->slot_bytes, n;

    chunk = chunk < MIN_CHUNK ? MIN_CHUNK : chunk;
    chunk = chunk < limit ? chunk : limit;
    if (most > 1 && s > chunk) {
        n = exp2(round(log2(s / chunk)));
        chunk = ceil(s / n / 64) * 64;
        chunk = chunk < limit ? chunk : limit;
    }
    *chunk_bytes = (size_t) chunk / 64 * 64;
    return s > 0 ? ceil(s / chunk) : 1;
}

double gr_cost_far(const struct gr_costs *costs, const struct gr_select_args *q, enum gr_algo algo,
                   uint32_t nchannels, size_t *chunk_bytes)
{
    struct course c = course_of(q, algo);
    double s = (double) q->bytes, own = q->far.step / 4, n, once, slices, passed;
    double rails = q->far.rails > 1 ? q->far.rails : 1,
           byte = q->far.byte * (nchannels < rails ? rails / nchannels : 1);
    uint32_t most = gr_algo_chunks(algo);

    once = c.hops * q->far.step + c.near * (q->far.shared ? fmax(costs->step, TURN) : costs->step) +
           c.more * own;
    if (c.pipe) {
        own *= 1 + c.more;
        n = cut_pipeline(q, &c, own, byte, most, chunk_bytes);
        /* none begins before the one before is through */
        slices = most > 1 ? ceil(n / most / nchannels) : 1;
        /* a single chunk is one tree's: to two below one */
        c.bytes += GR_ALGO_CHAIN != algo && n < 2 ? s : 0;
        /* a chunk, whole, at each node on its way */
        passed = n < 2 && s <= PACKET && 1 == q->far.ranks ? 0 : s / n * byte;
        return slices * (once + (c.hops - 1) * passed) + (n - slices) * own + c.bytes * byte;
    }
    *chunk_bytes = q->slot_bytes;
    /* slices of other channels fill the time in which one waits */
    n = GR_BLOCKS == gr_algo_layout(algo, q->coll) ? ceil(s / q->p / (double) q->slot_bytes)
                                                   : ceil(s / (double) q->slot_bytes);
    n = ceil(n / nchannels);
    return (n > 1 ? n : 1) * once + c.bytes * byte + c.inside * costs->byte;
}
