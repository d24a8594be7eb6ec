/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions to the cost model, for its tests, and which algorithms may answer. To be included
 * behind cmocka's header.
 */
#ifndef GR_TESTS_MODEL_SELECT_QUESTIONS_H
#define GR_TESTS_MODEL_SELECT_QUESTIONS_H

#include "sched/sched.h"
#include "tune/select.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
enum { THREADS = 512, LL_BYTES = 8192, LL128_BYTES = 7680 };

/* Sizes from 1 byte to 8 GiB, two and a bit per doubling. */
#define MOST_BYTES ((size_t) 8 << 30)
static inline size_t next_bytes(size_t bytes)
{
    return bytes + bytes / 3 + 1;
}

static inline void set_bytes(struct gr_select_args *q, size_t bytes)
{
    q->bytes = bytes;
    q->post_bytes = GR_COLL_ALLGATHER == q->coll && q->p < 10
                        ? (bytes + (size_t) q->p - 1) / (size_t) q->p
                        : bytes;
}

/* Ranks of one node, in host memory. */
static inline struct gr_select_args host_question(enum gr_coll coll, int p)
{
    return (struct gr_select_args) {.coll = coll,
                                    .p = p,
                                    .forced = -1,
                                    .nchannels = 4,
                                    .slot_bytes = 65536,
                                    .nslots = 4,
                                    .protocol = -1};
}

/* Devices, as the component asks: lines of 128 bytes only over NVLink. */
static inline struct gr_select_args device_question(enum gr_coll coll, int p, enum gr_path path)
{
    struct gr_select_args q = {.coll = coll,
                               .p = p,
                               .forced = -1,
                               .nchannels = 16,
                               .slot_bytes = 131072,
                               .nslots = 4,
                               .protocol = -1,
                               .line_bytes = {[GR_PROTOCOL_LL] = LL_BYTES},
                               .threads = THREADS};

    q.line_bytes[GR_PROTOCOL_LL128] = GR_PATH_NVLINK == path ? LL128_BYTES : 0;
    return q;
}

/* Nodes with so many ranks each, in the order of nodes. */
static inline struct gr_select_args nodes_question(enum gr_coll coll, int nodes, int ranks)
{
    struct gr_select_args q = host_question(coll, nodes * ranks);

    q.torus = (struct gr_torus) {.ndims = 2, .dims = {ranks, nodes}, .nested = 1};
    q.internode =
        (struct gr_internode) {.nodes = nodes, .ranks = ranks, .step = 20, .byte = 0.0008};
    return q;
}

/* What is visited has no size. */
typedef void (*visit_fn)(const struct gr_costs *costs, const struct gr_select_args *q);

static inline void for_each_host(enum gr_coll coll, visit_fn visit)
{
    static const size_t slots[] = {256, 65536, 1 << 26}, boxes[] = {0, 48, 65536};
    size_t k;
    int p;

    for (p = 1; p <= 64; p += 1 + p / 9) {
        struct gr_select_args q = host_question(coll, p);

        q.torus.ndims = p % 3 ? 2 - (p % 4 > 0) : 0;
        q.torus.dims[0] = p % 4 ? p : p / 4;
        q.torus.dims[1] = 4;
        for (k = 0; k < 6 * COUNT_OF(slots); k++) {
            q.slot_bytes = slots[k / 6];
            q.mailbox_bytes = boxes[k / 2 % 3];
            q.direct = (int) (k % 2);
            visit(&gr_costs_host, &q);
        }
    }
}

static inline void for_each_device(enum gr_coll coll, visit_fn visit)
{
    int path, p, protocol;

    for (path = 0; path < GR_NPATHS_NEAR; path++) {
        for (p = 2; p <= 40; p += 1 + p / 5) {
            struct gr_select_args q = device_question(coll, p, (enum gr_path) path);

            for (protocol = -1; protocol < GR_NPROTOCOLS; protocol++) {
                q.protocol = protocol;
                visit(&gr_costs_device[path], &q);
            }
        }
    }
}

static inline void for_each_cluster(enum gr_coll coll, visit_fn visit)
{
    static const int shapes[][2] = {{2, 1}, {5, 1}, {16, 1}, {2, 2},
                                    {4, 2}, {3, 5}, {16, 4}, {64, 8}};
    size_t n;
    int k;

    for (n = 0; n < COUNT_OF(shapes); n++) {
        /* ranks in no order, of nodes, in turns; one rail or three; cores shared; devices */
        for (k = 0; k < 24; k++) {
            struct gr_select_args q = nodes_question(coll, shapes[n][0], shapes[n][1]);

            q.torus.nested = k % 3;
            if (2 == q.torus.nested) {
                q.torus.dims[0] = shapes[n][0];
                q.torus.dims[1] = shapes[n][1];
            }
            q.internode.rails = k / 3 % 2 ? 3 : 1;
            q.internode.oversubscribed = k / 6 % 2;
            q.threads = k / 12 ? THREADS : 0;
            visit(k / 12 ? &gr_costs_device[GR_PATH_NET] : &gr_costs_host, &q);
        }
    }
}

static inline void for_each_question(visit_fn visit)
{
    int coll;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for_each_host((enum gr_coll) coll, visit);
        for_each_device((enum gr_coll) coll, visit);
        for_each_cluster((enum gr_coll) coll, visit);
    }
}

/* ---- what may answer ---- */

/* Whether there are mailboxes for it: for an alltoall among many ranks, those of a grid. */
static inline int has_mailbox(const struct gr_select_args *q)
{
    int side, found = GR_COLL_ALLTOALL == q->coll ? q->p < 10 : q->p <= 512;

    for (side = 1; side <= 32; side++) {
        found |= GR_COLL_ALLTOALL == q->coll && 0 == q->p % side && q->p / side <= 32;
    }
    return found;
}

static inline int fits_mailbox(const struct gr_costs *costs, const struct gr_select_args *q)
{
    return has_mailbox(q) && q->mailbox_bytes > 0 && q->post_bytes <= q->mailbox_bytes &&
           q->p <= costs->mailbox_ranks;
}

/*
 * Whether the algorithm can do the call so: a message of several chunks must leave a slot free; a
 * line's slot takes one.
 */
static inline int can_do(const struct gr_select_args *q, enum gr_algo algo,
                         enum gr_copy_method means)
{
    size_t most;

    if (!gr_algo_has(algo, q->coll) || !gr_algo_fits(algo, q->p, &q->torus)) {
        return 0;
    }
    most = gr_algo_message_chunks(algo, q->coll, q->p, &q->torus);
    if (GR_BY_FETCHING == means) {
        return gr_algo_may_fetch(algo);
    }
    return 1 == most ||
           (GR_BY_SLOTS == means ? q->slot_bytes / most * (q->nslots - 1) >= 32 : most < q->nslots);
}

/*
 * Whether it may be chosen where nothing is forced. Flat ones need links to everybody; nothing goes
 * along a torus by itself, but for algorithms that know nodes, where there are some, and ranks lie
 * on them as the algorithm wants.
 */
static inline int may_choose(const struct gr_select_args *q, enum gr_algo algo)
{
    switch (algo) {
    case GR_ALGO_FLAT:
        return q->p <= GR_FLAT_RANKS;
    case GR_ALGO_ONESHOT:
    case GR_ALGO_TWOSHOT:
        return q->p <= (q->internode.nodes > 1 ? GR_FLAT_RANKS
                        : q->threads > 0       ? GR_SHOT_RANKS_DEVICE
                                               : GR_SHOT_RANKS);
    case GR_ALGO_DOUBLING:
        return q->internode.nodes > 1;
    case GR_ALGO_TWO_LEVEL:
        return 1 == q->torus.nested;
    case GR_ALGO_NODE_TREE: /* with one rank in a node it is the tree */
        return 1 == q->torus.nested && q->torus.dims[0] > 1;
    case GR_ALGO_BUCKET:
    case GR_ALGO_MST:
        return q->torus.nested > 0;
    case GR_ALGO_DISSEMINATION: /* the only one of a barrier */
        return 1;
    default:
        return !gr_algo_is_by_rank(algo);
    }
}

static inline enum gr_copy_method method_of(int protocol)
{
    return GR_PROTOCOL_LL == protocol      ? GR_BY_LL
           : GR_PROTOCOL_LL128 == protocol ? GR_BY_LL128
                                           : GR_BY_SLOTS;
}

/*
 * Whether messages may be moved so, where nothing is forced but a protocol; one that does not exist
 * is no constraint.
 */
static inline int may_move(const struct gr_costs *costs, const struct gr_select_args *q,
                           enum gr_copy_method means)
{
    int forced = q->protocol > 0 && 0 == q->line_bytes[q->protocol] ? -1 : q->protocol;
    int protocol = GR_BY_LL == means      ? GR_PROTOCOL_LL
                   : GR_BY_LL128 == means ? GR_PROTOCOL_LL128
                                          : GR_PROTOCOL_SIMPLE;

    if (GR_BY_FETCHING == means) {
        return q->direct && q->bytes >= costs->by[GR_BY_FETCHING].from;
    }
    return (forced < 0 || forced == protocol) &&
           (GR_PROTOCOL_SIMPLE == protocol || q->line_bytes[protocol] > 0) &&
           (forced >= 0 || GR_PROTOCOL_SIMPLE == protocol || costs->by[means].step > 0);
}

static inline int can_so(const struct gr_costs *costs, const struct gr_select_args *q, int algo,
                         int means)
{
    return may_move(costs, q, (enum gr_copy_method) means) &&
           can_do(q, (enum gr_algo) algo, (enum gr_copy_method) means);
}

/* What it costs so. */
static inline double cost_of(const struct gr_costs *costs, const struct gr_select_args *q, int algo,
                             int means)
{
    size_t chunk;

    return GR_ALGO_MAILBOX == algo
               ? gr_cost_mailbox(costs, q)
               : gr_cost(costs, q, (enum gr_algo) algo, (enum gr_copy_method) means, &chunk);
}

#endif
