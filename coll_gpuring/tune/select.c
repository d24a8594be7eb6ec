/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model of select.h. The formulas are those that head the files of sched/. */
#include "tune/select.h"

#include <limits.h>
#include <math.h>

const struct gr_costs gr_costs_host = {
    .step = 0.4,
    .byte = 0.00016,
    .combine = 0.00003,
    .flat_ranks = 8,
    .channel_bytes = 1 << 20,
    .direct_step = 1.1,
    .direct_byte = 0.00006,
    .direct_from = 4096,
    .direct_most = 16 << 20,
    .mail = 0.15,
    .mail_byte = 0.00008,
    .mail_ranks = 32,
};

/*
 * Hops and bytes between devices: the published constants of NCCL's rings, where they are of the
 * same kind; none of these was measured here. LL128 only where stores are known to arrive whole. On
 * several nodes these are the links inside of one; the others are in far.c. There lines are for
 * nobody.
 */
#define ON_DEVICES(step_us, byte_us)                                                 \
    .step = step_us, .byte = byte_us, .own = 0.4, .flat_ranks = 8, .shot_ranks = 16, \
    .channel_bytes = 128 << 10
#define LINES(step_us, byte_us)                                     \
    {                                                               \
        .step = step_us, .byte = byte_us, .channel_bytes = 16 << 10 \
    }

const struct gr_costs gr_costs_device[GR_NPATHS] = {
    [GR_PATH_SAME] = {ON_DEVICES(3.4, 2e-6), .lines = {[GR_PROTOCOL_LL] = LINES(0.6, 8e-6)}},
    [GR_PATH_NVLINK] =
        {ON_DEVICES(3.4, 5e-6),
         .lines = {[GR_PROTOCOL_LL] = LINES(0.6, 2e-5), [GR_PROTOCOL_LL128] = LINES(1.9, 5.5e-6)}},
    [GR_PATH_PCIE] = {ON_DEVICES(5.7, 4e-5), .lines = {[GR_PROTOCOL_LL] = LINES(1.0, 1.2e-4)}},
    [GR_PATH_HOST] = {ON_DEVICES(5.7, 8e-5), .lines = {[GR_PROTOCOL_LL] = LINES(1.0, 2.4e-4)}},
    [GR_PATH_NET] = {.step = 5.7,
                     .byte = 4e-5,
                     .own = 0.4,
                     .flat_ranks = 8,
                     .shot_ranks = 16,
                     .channel_bytes = 1 << 20},
};

/* Shortest chunk worth a slot, and worth being fetched by itself. */
#define MIN_CHUNK 4096.0
#define MIN_DIRECT_CHUNK 65536.0

/* What a means costs this question. */
struct terms {
    double step, byte;
    double next;        /* a message right behind another on the same link */
    double channels;    /* that work at the same time */
    double least, most; /* bytes of a chunk, in all channels */
    size_t bytes;       /* direct: most of a message that need not fit a slot; 0: it must */
    /* one sender's message to several receivers costs it nothing per receiver */
    int shared;
};

/* The protocol of a means; Simple for those that write no lines. */
static enum gr_protocol protocol_of(enum gr_copy_method means)
{
    return GR_BY_LL == means      ? GR_PROTOCOL_LL
           : GR_BY_LL128 == means ? GR_PROTOCOL_LL128
                                  : GR_PROTOCOL_SIMPLE;
}

/* That of a call through links whose messages are not fetched. */
static enum gr_copy_method means_of(int protocol)
{
    return GR_PROTOCOL_LL == protocol      ? GR_BY_LL
           : GR_PROTOCOL_LL128 == protocol ? GR_BY_LL128
                                           : GR_BY_SLOTS;
}

/*
 * Between nodes with several rails: as many channels on each, as soon as what a further rail saves
 * is more than what a further message costs its sender (far.c).
 */
static size_t on_all_rails(const struct gr_internode *far, size_t bytes, size_t channels)
{
    size_t rails =
        far->rails > 1 && (double) bytes * far->byte > far->step / 4 ? (size_t) far->rails : 1;

    return (channels + rails - 1) / rails * rails;
}

static uint32_t channels_for(const struct gr_costs *costs, const struct gr_select_args *q,
                             enum gr_protocol protocol)
{
    size_t per = GR_PROTOCOL_SIMPLE == protocol ? costs->channel_bytes
                                                : costs->lines[protocol].channel_bytes;
    size_t wanted = on_all_rails(&q->far, q->bytes, 1 + q->bytes / per);

    return wanted < q->nchannels ? (uint32_t) wanted : q->nchannels;
}

static struct terms find_terms(const struct gr_costs *costs, const struct gr_select_args *q,
                               enum gr_copy_method means)
{
    const struct gr_line_costs *lines = &costs->lines[protocol_of(means)];
    /* a host has one thread */
    double channels = 0 == q->threads ? 1 : channels_for(costs, q, protocol_of(means));
    int combines =
        GR_COLL_BCAST != q->coll && GR_COLL_ALLGATHER != q->coll && GR_COLL_ALLTOALL != q->coll;
    double combine = combines ? costs->combine : 0;
    struct terms m = {.step = costs->step,
                      .byte = costs->byte + combine,
                      .channels = channels,
                      .least = MIN_CHUNK,
                      .most = (double) q->slot_bytes};

    if (protocol_of(means) != GR_PROTOCOL_SIMPLE) {
        m.step = lines->step;
        m.byte = lines->byte;
        m.most = (double) q->line_bytes[protocol_of(means)];
        m.least = m.least < m.most ? m.least : m.most;
    }
    if (GR_BY_FETCHING == means) {
        m.step = costs->direct_step;
        m.byte = costs->direct_byte + combine;
        m.least = MIN_DIRECT_CHUNK;
        /* among more than two, partial sums are sent that lie in no buffer */
        m.bytes = combines && 2 != q->p ? 0 : costs->direct_most;
        m.most = 0 != m.bytes ? (double) m.bytes : m.most;
        m.shared = !combines;
    }
    m.next = 0 == q->threads ? m.step : costs->own;
    m.least *= m.channels;
    m.most *= m.channels;
    return m;
}

/* A pipeline of chunks. */
struct pipe {
    double hops;   /* links that the first chunk passes before the last rank has it */
    double step;   /* of the busiest rank, per chunk, in steps */
    double passes; /* of the busiest rank, per byte of the vector, in bytes moved */
};

/* n messages through a link, one behind the other, without their bytes. */
static double messages(const struct terms *m, double n)
{
    return m->step + (n - 1) * m->next;
}

/*
 * The first chunk passes all hops, then one chunk follows the other. With C chunks of S bytes in
 * all:
 *      hops (step + S byte / C)  +  C step' + passes S byte
 * which is least at C = sqrt(hops S byte / step').
 */
static double pipeline(const struct terms *m, double s, struct pipe pipe, size_t *chunk_bytes)
{
    double c = sqrt(pipe.hops * s * m->byte / (pipe.step * m->next));
    double chunk = s / (c < 1 ? 1 : c);

    chunk = chunk < m->least ? m->least : chunk;
    chunk = chunk > m->most ? m->most : chunk;
    *chunk_bytes = (size_t) (chunk / m->channels) / 64 * 64;
    chunk = chunk > s ? s : chunk;
    c = s > 0 ? ceil(s / chunk) : 1;
    /* where messages follow each other faster than one passes, the first takes its full time */
    return m->step - m->next + pipe.hops * (m->step + chunk * m->byte) + c * pipe.step * m->next +
           pipe.passes * s * m->byte;
}

static double tree_height(int p)
{
    return p > 1 ? floor(log2(p - 1)) + 1 : 0;
}

/* Two trees with half the chunks each: inside the one, a leaf of the other. */
static struct pipe tree_of(double height, int both)
{
    return both ? (struct pipe) {2 * height, 3, 2} : (struct pipe) {height, 1.5, 1};
}

/*
 * Links that the farthest message of a half of a bucket passes; of a tree of rounds, their number.
 */
static void measure_torus(const struct gr_torus *t, double *hops, double *rounds)
{
    int d;

    *hops = *rounds = 0;
    for (d = 0; d < t->ndims; d++) {
        *hops += t->dims[d] - 1;
        *rounds += ceil(log2(t->dims[d]));
    }
}

/*
 * Along a torus, on links that do not know it: what the files of sched/ say, one message after the
 * other.
 */
static double along_torus(const struct terms *m, const struct gr_select_args *q, enum gr_algo algo,
                          size_t *chunk_bytes)
{
    double p = q->p, s = (double) q->bytes, halves = GR_COLL_ALLREDUCE == q->coll ? 2 : 1, hops,
           rounds, h;

    measure_torus(&q->torus, &hops, &rounds);
    switch (algo) {
    case GR_ALGO_BUCKET:
        return (halves * hops + 0.5) * messages(m, ceil(s / p / m->most)) +
               halves * (p - 1) / p * s * m->byte;
    case GR_ALGO_SWING:
        return 2 * rounds * messages(m, ceil(s / 2 / m->most)) + 2 * (p - 1) / p * s * m->byte;
    case GR_ALGO_MST:
        *chunk_bytes = (size_t) (m->most / m->channels) / 64 * 64;
        return rounds * (ceil(s / m->most) * m->step + s * m->byte);
    case GR_ALGO_TWO_LEVEL:
        /* leaders take and give what their row has, one after the other, then rounds as above */
        return (2 + rounds) * ceil(s / m->most) * m->step +
               (2 * q->torus.dims[0] + rounds) * s * m->byte;
    case GR_ALGO_NODE_TREE:
        h = tree_height(q->p / q->torus.dims[0]) + q->torus.dims[0] - 1;
        return pipeline(m, s, tree_of(h, GR_COLL_ALLREDUCE == q->coll), chunk_bytes);
    default:
        /*
         * half of all blocks in each round of Suh-Shin's, a quarter of the extent's in each of the
         * other's
         */
        return 2 * hops * m->step +
               (GR_ALGO_SUH_SHIN == algo ? rounds / 2 : hops / 4 + 0.5) * s * m->byte;
    }
}

double gr_cost(const struct gr_costs *costs, const struct gr_select_args *q, enum gr_algo algo,
               enum gr_copy_method means, size_t *chunk_bytes)
{
    struct terms m = find_terms(costs, q, means);
    double p = q->p, s = (double) q->bytes, h = tree_height(q->p);
    int both = GR_COLL_ALLREDUCE == q->coll;
    int blocks = GR_COLL_ALLGATHER == q->coll || GR_COLL_REDUCE_SCATTER == q->coll;
    double slots = ceil(s / p / m.most); /* of a block */

    if (q->far.nodes > 1) {
        return gr_cost_far(costs, q, algo, channels_for(costs, q, GR_PROTOCOL_SIMPLE), chunk_bytes);
    }
    *chunk_bytes = (size_t) (m.most / m.channels);
    switch (algo) {
    case GR_ALGO_RING:
        /*
         * half a step: the first message is only sent. An allreduce sends on what it has just
         * combined: a direct message of that is fetched out of a cache that still writes to it
         */
        slots *= both && GR_BY_FETCHING == means ? 2 : 1;
        return ((both ? 2 : 1) * (p - 1) + 0.5) * (messages(&m, slots) + s / p * m.byte);
    case GR_ALGO_CHAIN:
        return pipeline(&m, s, (struct pipe) {p > 2 ? p - 2 : 0, 1, 1}, chunk_bytes);
    case GR_ALGO_TREE:
        return pipeline(&m, s, tree_of(h, both), chunk_bytes);
    case GR_ALGO_ONESHOT:
        /* one hop, and the next slice only then; everything to everybody */
        return ceil(s / m.most) * (m.step + 2 * m.next) + (p - 1) * s * m.byte;
    case GR_ALGO_TWOSHOT:
        /* two hops, and a step for each block that is sent or taken */
        return slots * (2 * m.step + (2 * p - 1) * m.next) + 2 * (p - 1) * s / p * m.byte;
    case GR_ALGO_PAIRWISE:
        return slots * (m.step + 2 * (p - 1) * m.next) + (p - 1) * s / p * m.byte;
    case GR_ALGO_DOUBLING:
        h += exp2(h) > p; /* some fold: another message for these, before and behind */
        return h * ceil(s / m.most) * m.step + (both ? h : (p - 1) / p) * s * m.byte;
    case GR_ALGO_BUCKET:
    case GR_ALGO_SWING:
    case GR_ALGO_MST:
    case GR_ALGO_ORDERED:
    case GR_ALGO_SUH_SHIN:
    case GR_ALGO_TWO_LEVEL:
    case GR_ALGO_NODE_TREE:
        return along_torus(&m, q, algo, chunk_bytes);
    default:
        if (0 != q->threads && blocks) {
            return slots * (m.step + p * m.next) + (p - 1) * s / p * m.byte;
        }
        if (blocks) {
            /* one hop and no forwarding, but all links at once, which caches like less than one */
            return slots * (1.25 + 0.75 * (p - 1)) * m.step + 1.25 * s * m.byte;
        }
        /*
         * the centre does everything, one vector through each link; three links cost about a step
         * more
         */
        slots = ceil(s / m.most);
        return (both ? 2 : 1) *
               (slots * (1 + (p - 1) / 3) * m.step + (m.shared ? 1 : p - 1) * s * m.byte);
    }
}

double gr_cost_mailbox(const struct gr_costs *costs, const struct gr_select_args *q)
{
    int rooted = GR_COLL_BCAST == q->coll || GR_COLL_REDUCE == q->coll;
    double boards = GR_COLL_BCAST == q->coll ? 1 : q->p - 1;
    double out =
        GR_COLL_REDUCE_SCATTER == q->coll ? (double) q->post_bytes / q->p : (double) q->post_bytes;

    /* where all post, lines are written and read by both sides at the same time */
    return costs->mail * (boards + (rooted ? 0 : 1)) +
           (rooted ? 1 : 1.6) * costs->mail_byte * ((double) q->post_bytes + boards * out);
}

/* Whether the call can go through mailboxes. */
static int fits_mailbox(const struct gr_costs *costs, const struct gr_select_args *q)
{
    return GR_COLL_ALLTOALL != q->coll && q->post_bytes <= q->box_bytes &&
           q->p <= costs->mail_ranks;
}

/* Ranks up to which an algorithm is chosen that is not forced. */
static int most_ranks(const struct gr_costs *costs, const struct gr_select_args *q,
                      enum gr_algo algo)
{
    /* dimension 0 is nodes to them */
    int rows = GR_ALGO_TWO_LEVEL == algo || GR_ALGO_NODE_TREE == algo;
    int levels = rows || GR_ALGO_BUCKET == algo || GR_ALGO_MST == algo;
    int along = costs->along || (q->torus.nested && levels);

    if (rows && q->torus.nested > 1) {
        return 0;
    }
    if (GR_ALGO_NODE_TREE == algo && 1 == q->torus.dims[0]) {
        return 0; /* it is the tree then */
    }
    if (GR_ALGO_DOUBLING == algo) {
        return q->far.nodes > 1 ? INT_MAX : 0; /* few rounds are worth little inside a node */
    }
    if (GR_ALGO_ONESHOT == algo || GR_ALGO_TWOSHOT == algo) {
        /* mailboxes are better inside a node */
        return q->far.nodes > 1 ? costs->flat_ranks : costs->shot_ranks;
    }
    return GR_ALGO_FLAT == algo               ? costs->flat_ranks
           : gr_algo_is_torus(algo) && !along ? 0
                                              : INT_MAX;
}

/* No element is longer. */
#define MOST_ELEM_BYTES 32

/*
 * Whether the messages of an algorithm can be moved so: several chunks must leave a slot of their
 * link free.
 */
static int can_do(const struct gr_select_args *q, enum gr_algo algo, enum gr_copy_method means)
{
    size_t most;

    if (!gr_algo_has(algo, q->coll) || !gr_algo_fits(algo, q->p, &q->torus)) {
        return 0;
    }
    most = gr_algo_most(algo, q->coll, q->p, &q->torus);
    if (GR_BY_FETCHING == means) {
        return gr_algo_may_fetch(algo);
    }
    if (GR_BY_SLOTS != means) { /* a line's slot takes one chunk */
        return 1 == most || most < q->nslots;
    }
    return 1 == most || q->slot_bytes / most * (q->nslots - 1) >= MOST_ELEM_BYTES;
}

/* The best algorithm with a schedule, by one means; best->us < 0: none yet. */
static void try_algorithms(const struct gr_costs *costs, const struct gr_select_args *q, int forced,
                           enum gr_copy_method means, struct gr_choice *best)
{
    size_t chunk;
    double us;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        if (!can_do(q, (enum gr_algo) a, means) ||
            (forced >= 0 ? a != forced : q->p > most_ranks(costs, q, (enum gr_algo) a))) {
            continue;
        }
        us = gr_cost(costs, q, (enum gr_algo) a, means, &chunk);
        if (best->us < 0 || us < best->us) {
            best->way = a;
            best->direct = GR_BY_FETCHING == means;
            best->protocol = protocol_of(means);
            best->direct_chunk_bytes = chunk;
            best->direct_bytes = find_terms(costs, q, means).bytes;
            best->us = us;
        }
    }
}

/* Whether messages may be moved so. */
static int may_use(const struct gr_costs *costs, const struct gr_select_args *q,
                   enum gr_copy_method means)
{
    enum gr_protocol protocol = protocol_of(means);
    int forced = q->protocol > 0 && 0 == q->line_bytes[q->protocol] ? -1 : q->protocol;

    switch (means) {
    case GR_BY_SLOTS:
        return forced < 0 || GR_PROTOCOL_SIMPLE == forced;
    case GR_BY_FETCHING:
        return q->direct && q->bytes >= costs->direct_from;
    default:
        return 0 != q->line_bytes[protocol] &&
               (forced < 0 ? costs->lines[protocol].step > 0 : forced == (int) protocol);
    }
}

/* Whether what is forced can do the call, by some means that it may use. */
static int is_possible(const struct gr_costs *costs, const struct gr_select_args *q, int way)
{
    int m, found = 0;

    if (GR_WAY_MAILBOX == way) {
        return fits_mailbox(costs, q);
    }
    for (m = 0; m < GR_NMEANS && way >= 0; m++) {
        found |= may_use(costs, q, (enum gr_copy_method) m) &&
                 can_do(q, (enum gr_algo) way, (enum gr_copy_method) m);
    }
    return found;
}

/* Channels, and threads in each, enough for the bytes. */
static void set_width(const struct gr_costs *costs, const struct gr_select_args *q,
                      struct gr_choice *choice)
{
    size_t piece;

    choice->nchannels = channels_for(costs, q, (enum gr_protocol) choice->protocol);
    choice->threads = q->threads;
    if (GR_PROTOCOL_SIMPLE != choice->protocol) {
        /*
         * whole warps, with 16 bytes for each thread of what a channel has of a block, or of the
         * vector
         */
        piece = q->bytes / choice->nchannels;
        piece /=
            GR_BLOCKS == gr_algo_layout((enum gr_algo) choice->way, q->coll) ? (size_t) q->p : 1;
        piece = 0 == piece ? 32 : (piece + 511) / 512 * 32;
        choice->threads = piece < q->threads ? (uint32_t) piece : q->threads;
    }
}

struct gr_choice gr_select(const struct gr_costs *costs, const struct gr_select_args *q)
{
    int forced = is_possible(costs, q, q->forced) ? q->forced : -1, m;
    struct gr_choice best = {.way = GR_ALGO_RING, .us = -1};
    double us = gr_cost_mailbox(costs, q);

    for (m = 0; m < GR_NMEANS && GR_WAY_MAILBOX != forced; m++) {
        if (may_use(costs, q, (enum gr_copy_method) m)) {
            try_algorithms(costs, q, forced, (enum gr_copy_method) m, &best);
        }
    }
    if (GR_WAY_MAILBOX == forced || (forced < 0 && fits_mailbox(costs, q) && us < best.us)) {
        best = (struct gr_choice) {.way = GR_WAY_MAILBOX, .us = us};
    } else {
        (void) gr_cost(costs, q, (enum gr_algo) best.way, means_of(best.protocol),
                       &best.chunk_bytes);
    }
    set_width(costs, q, &best);
    return best;
}
