/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model of select.h. The formulas are those that head the files of sched/. */
#include "select.h"

#include <math.h>

const struct gr_costs gr_costs_host = {.step = 0.35, .byte = 0.00012, .flat_ranks = 8, .channel_bytes = 1 << 20};

/* Shortest chunk worth a slot. */
#define MIN_CHUNK 4096.0

/* A pipeline of chunks. */
struct pipe {
    double hops;   /* links that the first chunk passes before the last rank has it */
    double step;   /* of the busiest rank, per chunk, in steps */
    double passes; /* of the busiest rank, per byte of the vector, in bytes moved */
};

/*
 * The first chunk passes all hops, then one chunk follows the other. With C chunks of S bytes in all:
 *      hops (step + S byte / C)  +  C step' + passes S byte
 * which is least at C = sqrt(hops S byte / step').
 */
static double pipeline(const struct gr_costs *costs, const struct gr_question *q, struct pipe pipe,
                       size_t *chunk_bytes)
{
    double most = (double) q->slot_bytes, s = (double) q->bytes;
    double c = sqrt(pipe.hops * s * costs->byte / (pipe.step * costs->step));
    double chunk = s / (c < 1 ? 1 : c);

    chunk = chunk < MIN_CHUNK ? MIN_CHUNK : chunk;
    chunk = chunk > most ? most : chunk;
    *chunk_bytes = (size_t) chunk / 64 * 64;
    chunk = chunk > s ? s : chunk;
    c = s > 0 ? ceil(s / chunk) : 1;
    return pipe.hops * (costs->step + chunk * costs->byte) + c * pipe.step * costs->step +
           pipe.passes * s * costs->byte;
}

static double tree_height(int p)
{
    return p > 1 ? floor(log2(p - 1)) + 1 : 0;
}

double gr_cost(const struct gr_costs *costs, const struct gr_question *q, enum gr_algo algo, size_t *chunk_bytes)
{
    double p = q->p, s = (double) q->bytes, h = tree_height(q->p);
    int both = GR_COLL_ALLREDUCE == q->coll;
    int blocks = GR_COLL_ALLGATHER == q->coll || GR_COLL_REDUCE_SCATTER == q->coll;
    double slots = ceil(s / p / (double) q->slot_bytes); /* of a block */

    *chunk_bytes = q->slot_bytes;
    switch (algo) {
    case GR_ALGO_RING:
        return (both ? 2 * p - 1 : p) * (slots * costs->step + s / p * costs->byte);
    case GR_ALGO_CHAIN:
        return pipeline(costs, q, (struct pipe) {p > 2 ? p - 2 : 0, 1, 1}, chunk_bytes);
    case GR_ALGO_TREE:
        /* two trees with half the chunks each: inside the one, a leaf of the other */
        return pipeline(costs, q, both ? (struct pipe) {2 * h, 3, 2} : (struct pipe) {h, 1.5, 1}, chunk_bytes);
    default:
        if (blocks) {
            /* one hop and no forwarding, but all links at once, which caches like less than one */
            return slots * (1.25 + 0.75 * (p - 1)) * costs->step + 1.25 * s * costs->byte;
        }
        /* the centre does everything: fans of GR_FAN links, one vector through each link */
        slots = ceil(s / (double) q->slot_bytes);
        return (both ? 2 : 1) * (slots * (1 + (p - 1) / GR_FAN) * costs->step + (p - 1) * s * costs->byte);
    }
}

struct gr_choice gr_select(const struct gr_costs *costs, const struct gr_question *q)
{
    struct gr_choice best = {.algo = GR_ALGO_RING, .us = -1};
    size_t chunk, wanted;
    double us;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        if (!gr_algo_has((enum gr_algo) a, q->coll) || (q->forced >= 0 && a != q->forced)) {
            continue;
        }
        if (GR_ALGO_FLAT == a && q->forced != a && q->p > costs->flat_ranks) {
            continue;
        }
        us = gr_cost(costs, q, (enum gr_algo) a, &chunk);
        if (best.us < 0 || us < best.us) {
            best.algo = (enum gr_algo) a;
            best.chunk_bytes = chunk;
            best.us = us;
        }
    }
    wanted = 1 + q->bytes / costs->channel_bytes;
    best.nchannels = wanted < q->nchannels ? (uint32_t) wanted : q->nchannels;
    return best;
}
