/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of select.h. What an algorithm costs is said by its file in sched/. */
#include "tune/select.h"

#include "sched/algorithm.h"
#include "sched/groups.h"
#include "sched/sched.h"
#include "tune/terms.h"

#include <limits.h>
#include <math.h>

const struct gr_costs gr_costs_host = {
    .by = {[GR_BY_SLOTS] = {.step = 0.4, .byte = 0.00016, .channel_bytes = 1 << 20},
           [GR_BY_FETCHING] = {.step = 1.1,
                               .byte = 0.00006,
                               .channel_bytes = 1 << 20,
                               .from = 4096,
                               .most = 16 << 20}},
    .combine = 0.00003,
    .mailbox = 0.15,
    .mailbox_byte = 0.00008,
    .mailbox_ranks = GR_GROUPED_MOST,
};

/*
 * Hops and bytes between devices: the published constants of NCCL's rings, where they are of the
 * same kind; none of these was measured here. LL128 only where stores are known to arrive whole.
 * GR_PATH_NET: the links inside a node where there are several; those between nodes are in
 * gr_cost_internode(). LL and LL128 are not used there.
 */
#define SLOTS(step_us, byte_us, channel) \
    [GR_BY_SLOTS] = {step_us, byte_us, .channel_bytes = channel}
#define LL(step_us, byte_us) [GR_BY_LL] = {step_us, byte_us, .channel_bytes = 16 << 10}
#define LL128(step_us, byte_us) [GR_BY_LL128] = {step_us, byte_us, .channel_bytes = 16 << 10}

const struct gr_costs gr_costs_device[GR_NPATHS] = {
    [GR_PATH_SAME] = {{SLOTS(3.4, 2e-6, 128 << 10), LL(0.6, 8e-6)}, .own = 0.4},
    [GR_PATH_NVLINK] = {{SLOTS(3.4, 5e-6, 128 << 10), LL(0.6, 2e-5), LL128(1.9, 5.5e-6)},
                        .own = 0.4},
    [GR_PATH_PCIE] = {{SLOTS(5.7, 4e-5, 128 << 10), LL(1.0, 1.2e-4)}, .own = 0.4},
    [GR_PATH_PINNED] = {{SLOTS(5.7, 8e-5, 128 << 10), LL(1.0, 2.4e-4)}, .own = 0.4},
    [GR_PATH_NET] = {{SLOTS(5.7, 4e-5, 1 << 20)}, .own = 0.4},
};

/* gr_cost() with the terms of the method. */
static double cost_of(const struct gr_costs *costs, const struct gr_select_args *q,
                      const struct gr_cost_terms *t, enum gr_algo algo, size_t *chunk_bytes)
{
    if (q->internode.nodes > 1) {
        return gr_cost_internode(costs, q, algo, gr_terms_channels(costs, q, GR_BY_SLOTS),
                                 chunk_bytes);
    }
    if (NULL != gr_algorithms[algo]->pipe) {
        return gr_cost_pipeline(t, gr_algorithms[algo]->pipe(t), chunk_bytes);
    }
    *chunk_bytes = (size_t) (t->most / t->channels);
    return gr_algorithms[algo]->cost(t);
}

double gr_cost(const struct gr_costs *costs, const struct gr_select_args *q, enum gr_algo algo,
               enum gr_copy_method method, size_t *chunk_bytes)
{
    struct gr_cost_terms t = gr_terms_of(costs, q, method);

    return cost_of(costs, q, &t, algo, chunk_bytes);
}

/* What a rank does on the slowest path of a call through mailboxes. */
struct mailbox_work {
    double boards; /* that it reads one after the other */
    double bytes;  /* that it copies to boards, and from them */
};

/* All ranks share one mailbox. */
static struct mailbox_work work_in_one(const struct gr_select_args *q)
{
    int rooted = gr_coll_is_rooted(q->coll);
    /* of a barrier, that of the rank that comes last: the others' have been read by then */
    double boards = GR_COLL_BCAST == q->coll || GR_COLL_BARRIER == q->coll ? 1 : q->p - 1;
    int scatters = GR_COLL_REDUCE_SCATTER == q->coll || GR_COLL_ALLTOALL == q->coll;
    double out = (double) q->post_bytes / (scatters ? q->p : 1);

    return (struct mailbox_work) {boards + (rooted ? 0 : 1), (double) q->post_bytes + boards * out};
}

/* To read the boards of a group of n takes as long as that many: while one is read, others come. */
static double boards_of_group(int n)
{
    return 1 + (n - 2) * 0.5;
}

/* In groups (exec/grouped.h): up all levels but the top, there, and down again. */
static struct mailbox_work work_in_groups(const struct gr_select_args *q)
{
    int below = gr_group_levels(q->p) - 1, columns = gr_grid_columns(q->p), level, n;
    double boards = below, all = (double) q->post_bytes, copies = 2 * below + 1;

    switch (q->coll) {
    case GR_COLL_ALLTOALL:
        return (struct mailbox_work) {boards_of_group(columns) +
                                          (columns < q->p ? boards_of_group(q->p / columns) : 0),
                                      (columns < q->p ? 4 : 2) * all};
    case GR_COLL_BCAST:
    case GR_COLL_BARRIER:
        return (struct mailbox_work) {2 * below + 1, 2 * copies * all};
    default:
        for (level = 0; level <= below; level++) {
            n = gr_group_at(q->p, 0, level).n;
            boards += boards_of_group(n);
            copies += n;
        }
        return (struct mailbox_work) {
            boards, (GR_COLL_ALLGATHER == q->coll ? 2 * (below + 1) : copies + below) * all};
    }
}

double gr_cost_mailbox(const struct gr_costs *costs, const struct gr_select_args *q)
{
    int rooted = gr_coll_is_rooted(q->coll);
    struct mailbox_work w = gr_is_grouped(q->p) ? work_in_groups(q) : work_in_one(q);

    return costs->mailbox * w.boards +
           (rooted ? 1 : GR_MAILBOX_BOTH_WAYS) * costs->mailbox_byte * w.bytes;
}

/* Whether the call can go through mailboxes. */
static int fits_mailbox(const struct gr_costs *costs, const struct gr_select_args *q)
{
    return gr_mailbox_use(q->coll, q->p) >= 0 && q->post_bytes <= q->mailbox_bytes &&
           q->p <= costs->mailbox_ranks;
}

/* Ranks up to which an algorithm is chosen that is not forced. */
static int most_ranks(const struct gr_cost_terms *t, enum gr_algo algo)
{
    if (NULL != gr_algorithms[algo]->auto_ranks) {
        return gr_algorithms[algo]->auto_ranks(t);
    }
    return gr_algo_is_by_rank(algo) ? 0 : INT_MAX;
}

/* Whether the messages of an algorithm can be moved so. */
static int can_do(const struct gr_select_args *q, enum gr_algo algo, enum gr_copy_method method)
{
    return gr_algo_has(algo, q->coll) && gr_algo_fits(algo, q->p, &q->torus) &&
           0 == (q->denied >> algo & 1) && gr_copy_can(q, algo, method);
}

/* The best algorithm with a schedule, by one method; best->us < 0: none yet. */
static void try_algorithms(const struct gr_costs *costs, const struct gr_select_args *q, int forced,
                           enum gr_copy_method method, struct gr_choice *best)
{
    const struct gr_copy_method_desc *desc = &gr_copy_methods[method];
    struct gr_cost_terms t = gr_terms_of(costs, q, method);
    size_t chunk;
    double us;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        if (!can_do(q, (enum gr_algo) a, method) ||
            (forced >= 0 ? a != forced : q->p > most_ranks(&t, (enum gr_algo) a))) {
            continue;
        }
        us = cost_of(costs, q, &t, (enum gr_algo) a, &chunk);
        if (best->us < 0 || us < best->us) {
            best->algo = a;
            best->direct = desc->fetches;
            best->protocol = desc->protocol;
            best->direct_chunk_bytes = chunk;
            best->direct_bytes = gr_terms_beyond_slot(costs, q, method);
            best->us = us;
        }
    }
}

/* Whether messages may be moved so. */
static int may_use(const struct gr_costs *costs, const struct gr_select_args *q,
                   enum gr_copy_method method)
{
    const struct gr_copy_method_desc *desc = &gr_copy_methods[method];
    int forced = q->protocol > 0 && 0 == q->line_bytes[q->protocol] ? -1 : q->protocol;

    return (forced < 0 ? costs->by[method].step > 0 : forced == (int) desc->protocol) &&
           q->bytes >= costs->by[method].from && gr_copy_may(q, method);
}

/* Whether what is forced can do the call, by some method that it may use. */
static int is_possible(const struct gr_costs *costs, const struct gr_select_args *q, int algo)
{
    int m, found = 0;

    if (GR_ALGO_MAILBOX == algo) {
        return fits_mailbox(costs, q);
    }
    for (m = 0; m < GR_NCOPY_METHODS && algo >= 0; m++) {
        found |= may_use(costs, q, (enum gr_copy_method) m) &&
                 can_do(q, (enum gr_algo) algo, (enum gr_copy_method) m);
    }
    return found;
}

/* Channels, and threads in each, enough for the bytes. */
static void set_width(const struct gr_costs *costs, const struct gr_select_args *q,
                      struct gr_choice *choice)
{
    size_t threads;

    choice->nchannels = gr_terms_channels(costs, q, gr_copy_through_links(choice->protocol));
    choice->threads = q->threads;
    if (GR_PROTOCOL_SIMPLE != choice->protocol) {
        /*
         * whole warps, with 16 bytes for each thread of what a channel has of a block, or of the
         * vector
         */
        threads = q->bytes / choice->nchannels;
        threads /=
            GR_BLOCKS == gr_algo_layout((enum gr_algo) choice->algo, q->coll) ? (size_t) q->p : 1;
        threads = 0 == threads ? 32 : (threads + 511) / 512 * 32;
        choice->threads = threads < q->threads ? (uint32_t) threads : q->threads;
    }
}

struct gr_choice gr_select(const struct gr_costs *costs, const struct gr_select_args *q)
{
    int forced = is_possible(costs, q, q->forced) ? q->forced : -1, m;
    struct gr_choice best = {.algo = GR_ALGO_RING, .us = -1};
    double us = fits_mailbox(costs, q) ? gr_cost_mailbox(costs, q) : 0;

    for (m = 0; m < GR_NCOPY_METHODS && GR_ALGO_MAILBOX != forced; m++) {
        if (may_use(costs, q, (enum gr_copy_method) m)) {
            try_algorithms(costs, q, forced, (enum gr_copy_method) m, &best);
        }
    }
    if (GR_ALGO_MAILBOX == forced ||
        (forced < 0 && fits_mailbox(costs, q) && (best.us < 0 || us < best.us))) {
        best = (struct gr_choice) {.algo = GR_ALGO_MAILBOX, .us = us};
    } else if (best.us >= 0) {
        (void) gr_cost(costs, q, (enum gr_algo) best.algo, gr_copy_through_links(best.protocol),
                       &best.chunk_bytes);
    }
    set_width(costs, q, &best);
    return best;
}

/* Whether every algorithm gives the same bits. */
static int any_order_will_do(const struct gr_select_args *q)
{
    return !gr_terms_combines(q->coll) || q->p <= 2;
}

struct gr_choice gr_select_measured(const struct gr_costs *fixed, const struct gr_costs *measured,
                                    const struct gr_select_args *q)
{
    struct gr_select_args again = *q;
    struct gr_choice choice;

    if (any_order_will_do(q)) {
        return gr_select(measured, q);
    }
    choice = gr_select(fixed, q);
    /* a block's elements are combined in one order, whatever the chunks; along two trees, not */
    if (GR_ALGO_MAILBOX == choice.algo ||
        GR_BLOCKS != gr_algo_layout((enum gr_algo) choice.algo, q->coll)) {
        return choice;
    }
    again.forced = choice.algo;
    return gr_select(measured, &again);
}

/*
 * ---- between nodes ----
 *
 * The cost model for ranks on several nodes: what counts is how often a message crosses
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
