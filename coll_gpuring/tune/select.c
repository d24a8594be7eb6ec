/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model of select.h. The formulas are those that head the files of sched/. */
#include "select.h"

#include <math.h>

const struct gr_costs gr_costs_host = {
    .step = 0.4, .byte = 0.00016, .combine = 0.00003, .flat_ranks = 8, .channel_bytes = 1 << 20,
    .direct_step = 1.1, .direct_byte = 0.00006, .direct_from = 4096, .direct_most = 16 << 20,
    .mail = 0.15, .mail_byte = 0.00008, .mail_ranks = 32,
};

/* A hop of the Simple protocol, and a byte over NVLink or through a cache: starting values, not measured. */
const struct gr_costs gr_costs_device = {
    .step = 4.0, .byte = 0.000005, .combine = 0, .flat_ranks = 4, .channel_bytes = 128 << 10,
};

/* Shortest chunk worth a slot, and worth being fetched by itself. */
#define MIN_CHUNK 4096.0
#define MIN_DIRECT_CHUNK 65536.0

/* A way to move messages. */
struct means {
    double step, byte;
    double least, most; /* bytes of a chunk */
    size_t bytes;       /* direct: most of a message that need not fit a slot; 0: it must */
    int shared;         /* one sender's message to several receivers costs it nothing per receiver */
};

static struct means find_means(const struct gr_costs *costs, const struct gr_question *q, int direct)
{
    int combines = GR_COLL_BCAST != q->coll && GR_COLL_ALLGATHER != q->coll;
    double combine = combines ? costs->combine : 0;
    struct means m = {costs->step, costs->byte + combine, MIN_CHUNK, (double) q->slot_bytes, 0, 0};

    if (direct) {
        m.step = costs->direct_step;
        m.byte = costs->direct_byte + combine;
        m.least = MIN_DIRECT_CHUNK;
        /* among more than two, partial sums are sent that lie in no buffer */
        m.bytes = combines && 2 != q->p ? 0 : costs->direct_most;
        m.most = 0 != m.bytes ? (double) m.bytes : m.most;
        m.shared = !combines;
    }
    return m;
}

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
static double pipeline(const struct means *m, double s, struct pipe pipe, size_t *chunk_bytes)
{
    double c = sqrt(pipe.hops * s * m->byte / (pipe.step * m->step));
    double chunk = s / (c < 1 ? 1 : c);

    chunk = chunk < m->least ? m->least : chunk;
    chunk = chunk > m->most ? m->most : chunk;
    *chunk_bytes = (size_t) chunk / 64 * 64;
    chunk = chunk > s ? s : chunk;
    c = s > 0 ? ceil(s / chunk) : 1;
    return pipe.hops * (m->step + chunk * m->byte) + c * pipe.step * m->step + pipe.passes * s * m->byte;
}

static double tree_height(int p)
{
    return p > 1 ? floor(log2(p - 1)) + 1 : 0;
}

double gr_cost(const struct gr_costs *costs, const struct gr_question *q, enum gr_algo algo, int direct,
               size_t *chunk_bytes)
{
    struct means m = find_means(costs, q, direct);
    double p = q->p, s = (double) q->bytes, h = tree_height(q->p);
    int both = GR_COLL_ALLREDUCE == q->coll;
    int blocks = GR_COLL_ALLGATHER == q->coll || GR_COLL_REDUCE_SCATTER == q->coll;
    double slots = ceil(s / p / m.most); /* of a block */

    *chunk_bytes = (size_t) m.most;
    switch (algo) {
    case GR_ALGO_RING:
        /* half a step: the first message is only sent. An allreduce sends on what it has just combined: a direct
         * message of that is fetched out of a cache that still writes to it */
        return ((both ? 2 : 1) * (p - 1) + 0.5) * (slots * (both && direct ? 2 : 1) * m.step + s / p * m.byte);
    case GR_ALGO_CHAIN:
        return pipeline(&m, s, (struct pipe) {p > 2 ? p - 2 : 0, 1, 1}, chunk_bytes);
    case GR_ALGO_TREE:
        /* two trees with half the chunks each: inside the one, a leaf of the other */
        return pipeline(&m, s, both ? (struct pipe) {2 * h, 3, 2} : (struct pipe) {h, 1.5, 1}, chunk_bytes);
    default:
        if (blocks) {
            /* one hop and no forwarding, but all links at once, which caches like less than one */
            return slots * (1.25 + 0.75 * (p - 1)) * m.step + 1.25 * s * m.byte;
        }
        /* the centre does everything: fans of GR_FAN links, one vector through each link */
        slots = ceil(s / m.most);
        return (both ? 2 : 1) * (slots * (1 + (p - 1) / GR_FAN) * m.step + (m.shared ? 1 : p - 1) * s * m.byte);
    }
}

double gr_cost_mailbox(const struct gr_costs *costs, const struct gr_question *q)
{
    int rooted = GR_COLL_BCAST == q->coll || GR_COLL_REDUCE == q->coll;
    double boards = GR_COLL_BCAST == q->coll ? 1 : q->p - 1;
    double out = GR_COLL_REDUCE_SCATTER == q->coll ? (double) q->post_bytes / q->p : (double) q->post_bytes;

    /* where all post, lines are written and read by both sides at the same time */
    return costs->mail * (boards + (rooted ? 0 : 1)) +
           (rooted ? 1 : 1.6) * costs->mail_byte * ((double) q->post_bytes + boards * out);
}

/* Whether the call can go through mailboxes. */
static int fits_mailbox(const struct gr_costs *costs, const struct gr_question *q)
{
    return q->post_bytes <= q->box_bytes && q->p <= costs->mail_ranks;
}

/* The best algorithm with a schedule, by one of the two means of moving messages; best->us < 0: none yet. */
static void try_algorithms(const struct gr_costs *costs, const struct gr_question *q, int forced, int direct,
                           struct gr_choice *best)
{
    size_t chunk;
    double us;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        if (!gr_algo_has((enum gr_algo) a, q->coll) || (forced >= 0 && a != forced)) {
            continue;
        }
        if (GR_ALGO_FLAT == a && forced != a && q->p > costs->flat_ranks) {
            continue;
        }
        us = gr_cost(costs, q, (enum gr_algo) a, direct, &chunk);
        if (best->us < 0 || us < best->us) {
            best->way = a;
            best->direct = direct;
            best->direct_chunk_bytes = chunk;
            best->direct_bytes = find_means(costs, q, direct).bytes;
            best->us = us;
        }
    }
}

struct gr_choice gr_select(const struct gr_costs *costs, const struct gr_question *q)
{
    int fits = fits_mailbox(costs, q);
    int forced = GR_WAY_MAILBOX == q->forced && !fits ? -1 : q->forced;
    struct gr_choice best = {.way = GR_ALGO_RING, .us = -1};
    size_t wanted = 1 + q->bytes / costs->channel_bytes;
    double us = gr_cost_mailbox(costs, q);

    if (GR_WAY_MAILBOX != forced) {
        try_algorithms(costs, q, forced, 0, &best);
        if (q->direct && q->bytes >= costs->direct_from) {
            try_algorithms(costs, q, forced, 1, &best);
        }
    }
    if (GR_WAY_MAILBOX == forced || (forced < 0 && fits && us < best.us)) {
        best = (struct gr_choice) {.way = GR_WAY_MAILBOX, .us = us};
    } else {
        (void) gr_cost(costs, q, (enum gr_algo) best.way, 0, &best.chunk_bytes);
    }
    best.nchannels = wanted < q->nchannels ? (uint32_t) wanted : q->nchannels;
    return best;
}
