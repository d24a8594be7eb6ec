/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: the exchange that makes the links of an algorithm, as a state machine of nonblocking
 * messages.
 *
 *      DEVICES   of the first set-up on devices only: all tell rank 0 theirs;
 *      ORDER     rank 0 tells all in which order they form rings
 *      OFFERS    each reader sends its offer to each writer; each writer maps what it was offered
 *      ANSWERS   on devices, and between nodes: and sends back what the reader must map, or join
 *      VERDICT   the worst status of all ranks, by dissemination: in round k rank r sends what it knows to
 *                r + 2^k and hears from r - 2^k; after ceil(log2 p) rounds all know the same
 *
 * Set-ups are numbered at the calls that need them, which come in the same order on all ranks;
 * their messages carry the number in their tags. So they may be under way in any order: one of a
 * pending nonblocking call, one of a persistent request's init.
 */
#include "engine/setup.h"

#include "engine/gpu_order.h"
#include "engine/net_links.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/process.h"
#include "engine/rails.h"
#include "engine/runtime.h"
#include "engine/setup_diagnose.h"
#include "engine/setup_messages.h"
#include "mpi/module.h"

#include "cuda/error.h"
#include "exec/gpu/team.h"
#include "exec/stepper.h"
#include "link/team.h"
#include "sched/sched.h"
#include "tune/select.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- messages ---- */

#define WIRES(type, array, count, message)                                                      \
    ((struct gr_setup_messages) {(unsigned char *) (array), sizeof(type), offsetof(type, rank), \
                                 offsetof(type, message), sizeof(((type *) 0)->message), (count)})

static int post_wires(struct gr_setup *s, bool send, const struct gr_setup_messages *w, int tag)
{
    int k, rank, rc = OMPI_SUCCESS;

    for (k = 0; k < w->n && OMPI_SUCCESS == rc; k++) {
        unsigned char *connection = w->base + (size_t) k * w->stride;

        memcpy(&rank, connection + w->rank_at, sizeof(rank));
        rc = mca_coll_gpuring_setup_post(s, send, connection + w->message_at, w->message_bytes,
                                         rank, tag);
    }
    return rc;
}

/* Receives first: explain() counts on it. */
static int exchange(struct gr_setup *s, const struct gr_exchange *x, int tag)
{
    int k, rc = OMPI_SUCCESS;

    s->awaited = x->in[0].n + x->in[1].n;
    for (k = 0; k < 4 && OMPI_SUCCESS == rc; k++) {
        rc = post_wires(s, k >= 2, k < 2 ? &x->in[k] : &x->out[k - 2], tag);
    }
    return rc;
}

/* 1 when all requests are complete (and freed), 0 when not, negative on error. */
static int requests_done(struct gr_setup *s)
{
    int k, rc;

    for (k = 0; k < s->nrequests; k++) {
        rc = mca_coll_gpuring_request_done(&s->requests[k]);
        if (1 != rc) {
            return rc;
        }
    }
    s->nrequests = 0;
    return 1;
}

/* ---- what differs between links in host memory and on devices ---- */

/*
 * Ends for remote connections, which lie behind a join's near ones. Where there are no slabs, the
 * join's status says why.
 */
static void host_ends(const struct gr_setup *s, struct gr_net_endpoint *ends,
                      struct gr_connection *connections, int n, int writes)
{
    int k;

    for (k = 0; k < n; k++) {
        ends[k] =
            (struct gr_net_endpoint) {.rank = connections[k].rank, .used = &connections[k].used};
        ends[k].rail = gr_rail_of(s->queue, connections[k].channel);
        if (NULL != connections[k].slab) {
            ends[k].fifo = gr_connection_fifo(gr_team_channel_set(s->queue->team, s->way),
                                              &connections[k], writes);
        }
    }
}

static void device_ends(const struct gr_setup *s, struct gr_net_endpoint *ends,
                        struct gr_gpu_connection *connections, int n, int writes)
{
    int k;

    for (k = 0; k < n; k++) {
        ends[k] =
            (struct gr_net_endpoint) {.rank = connections[k].rank, .used = &connections[k].used};
        ends[k].rail = gr_rail_of(s->queue, connections[k].channel);
        if (NULL != connections[k].slab) {
            ends[k].fifo = gr_gpu_remote_fifo(s->queue->gpu, &connections[k], writes);
        }
    }
}

static int host_begin(struct gr_setup *s, struct gr_exchange *x)
{
    struct gr_join *j = &s->join;
    int rc = gr_join_begin(j, s->queue->team, s->pool, s->way, s->root);

    if (0 == rc) {
        rc = mca_coll_gpuring_endpoints_reserve(s, j->nin - j->near_in, j->nout - j->near_out);
    }
    if (0 == rc) {
        host_ends(s, s->in, j->in + j->near_in, s->nin, 0);
        host_ends(s, s->out, j->out + j->near_out, s->nout, 1);
        mca_coll_gpuring_endpoints_begin(s, &j->status);
    }
    x->in[0] = WIRES(struct gr_connection, j->out, j->near_out, offer);
    x->out[0] = WIRES(struct gr_connection, j->in, j->near_in, offer);
    return rc;
}

static int host_map(struct gr_setup *s)
{
    s->verdict.host = gr_join_map(&s->join, s->pool);
    return s->verdict.host.status;
}

static void host_end(struct gr_setup *s)
{
    gr_join_end(&s->join, s->pool, s->verdict.host);
}

static int device_begin(struct gr_setup *s, struct gr_exchange *x)
{
    struct gr_gpu_join *j = &s->gpu;
    int rc = gr_gpu_join_begin(j, s->queue->gpu, (enum gr_algo) s->way, s->root);

    if (0 == rc) {
        rc = mca_coll_gpuring_endpoints_reserve(s, j->nin - j->near_in, j->nout - j->near_out);
    }
    if (0 == rc) {
        device_ends(s, s->in, j->in + j->near_in, s->nin, 0);
        device_ends(s, s->out, j->out + j->near_out, s->nout, 1);
        mca_coll_gpuring_endpoints_begin(s, &j->status);
    }
    x->in[0] = WIRES(struct gr_gpu_connection, j->out, j->near_out, offer);
    x->out[0] = WIRES(struct gr_gpu_connection, j->in, j->near_in, offer);
    return rc;
}

static void device_answer(struct gr_setup *s, struct gr_exchange *x)
{
    gr_gpu_join_answer(&s->gpu);
    x->in[0] = WIRES(struct gr_gpu_connection, s->gpu.in, s->gpu.near_in, answer);
    x->out[0] = WIRES(struct gr_gpu_connection, s->gpu.out, s->gpu.near_out, answer);
}

static int device_map(struct gr_setup *s)
{
    s->verdict.gpu = gr_gpu_join_map(&s->gpu);
    return s->verdict.gpu.status;
}

static void device_end(struct gr_setup *s)
{
    gr_gpu_join_end(&s->gpu, s->verdict.gpu);
}

static const struct gr_setup_kind on_host = {false, host_begin, NULL, host_map, host_end};
static const struct gr_setup_kind on_devices = {true, device_begin, device_answer, device_map,
                                                device_end};

/* What is wrong with this rank's part of it, so far. */
static int *join_status(struct gr_setup *s)
{
    return s->kind->device ? &s->gpu.status : &s->join.status;
}

/* ---- phases: each posts its messages; the next comes when they are complete ---- */

/* OMPI error code. */
static int post_offers(struct gr_setup *s)
{
    struct gr_exchange x = {.in = {{0}}};

    s->state = GR_SETUP_OFFERS;
    if (0 != s->kind->begin(s, &x)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    x.in[1] = WIRES(struct gr_net_endpoint, s->out, s->nout, theirs);
    x.out[1] = WIRES(struct gr_net_endpoint, s->in, s->nin, mine);
    if (OMPI_SUCCESS !=
        mca_coll_gpuring_setup_reserve(s, x.in[0].n + x.in[1].n + x.out[0].n + x.out[1].n)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return exchange(s, &x, s->tag);
}

static int post_answers(struct gr_setup *s)
{
    struct gr_exchange x = {.in = {{0}}};

    s->state = GR_SETUP_ANSWERS;
    mca_coll_gpuring_endpoints_answer(s, join_status(s));
    if (NULL != s->kind->answer) {
        s->kind->answer(s, &x);
    }
    x.in[1] = WIRES(struct gr_net_endpoint, s->in, s->nin, theirs);
    x.out[1] = WIRES(struct gr_net_endpoint, s->out, s->nout, mine);
    return exchange(s, &x, s->tag - 1);
}

/* The worst, and the lowest rank with it. */
static struct gr_setup_verdict combine(struct gr_setup_verdict a, struct gr_setup_verdict b)
{
    struct gr_setup_verdict v;

    v.host = gr_verdict_combine(a.host, b.host);
    v.gpu = gr_gpu_verdict_combine(a.gpu, b.gpu);
    v.nonce = a.nonce > b.nonce ? a.nonce : b.nonce;
    v.status = a.status < b.status ? a.status : b.status;
    v.rank = a.status < b.status || (a.status == b.status && a.rank < b.rank) ? a.rank : b.rank;
    return v;
}

/* A number that no other communicator had. */
static uint64_t nonce_new(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* What this rank has found out. The network has said why already, where it is that. */
static void conclude(struct gr_setup *s)
{
    mca_coll_gpuring_endpoints_map(s, join_status(s));
    s->verdict.status = s->kind->map(s);
    s->verdict.rank = ompi_comm_rank(s->queue->comm);
    s->verdict.nonce = nonce_new();
    if (0 != s->verdict.status && s->kind->device && '\0' == s->why[0]) {
        snprintf(s->why, sizeof(s->why), "%s", gr_gpu_error());
    }
    s->distance = 1;
}

static int post_verdict(struct gr_setup *s)
{
    int p = ompi_comm_size(s->queue->comm), rank = ompi_comm_rank(s->queue->comm), rc;

    s->state = GR_SETUP_VERDICT;
    s->sent = s->verdict;
    rc = mca_coll_gpuring_setup_post(s, false, &s->heard, sizeof(s->heard),
                                     (rank - s->distance + p) % p, s->tag - 2);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_setup_post(s, true, &s->sent, sizeof(s->sent),
                                         (rank + s->distance) % p, s->tag - 2);
    }
    return rc;
}

static int begin(struct gr_setup *s)
{
    s->pool = mca_coll_gpuring_pool();
    if (NULL == s->pool) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return s->kind->device && NULL == s->queue->gpu ? mca_coll_gpuring_setup_devices(s)
                                                    : post_offers(s);
}

/* All messages of the phase are through: the next phase. *over: there is none. OMPI error code. */
static int next(struct gr_setup *s, bool *over)
{
    int p = ompi_comm_size(s->queue->comm), rc;

    switch (s->state) {
    case GR_SETUP_NEW:
        return begin(s);
    case GR_SETUP_DEVICES:
        return mca_coll_gpuring_setup_order(s);
    case GR_SETUP_ORDER:
        rc = mca_coll_gpuring_setup_team(s);
        return OMPI_SUCCESS == rc ? post_offers(s) : rc;
    case GR_SETUP_OFFERS:
        return post_answers(s);
    case GR_SETUP_ANSWERS:
        conclude(s);
        break;
    case GR_SETUP_VERDICT:
        s->verdict = combine(s->verdict, s->heard);
        s->distance *= 2;
    }
    *over = s->distance >= p;
    return *over ? OMPI_SUCCESS : post_verdict(s);
}

int mca_coll_gpuring_setup_poll(void *ctx, uint64_t *moved)
{
    struct gr_setup *s = ctx;
    bool over = false;
    int rc;

    for (;;) {
        rc = requests_done(s);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        rc = next(s, &over);
        if (OMPI_SUCCESS != rc) {
            return OMPI_ERROR;
        }
        if (over) {
            return GR_DONE;
        }
    }
}

/* ---- beginning and end ---- */

static struct gr_setup *setup_new(const struct gr_setup_kind *kind, struct gr_op_queue *queue,
                                  int way, int root, uint32_t number)
{
    struct gr_setup *s = calloc(1, sizeof(*s));

    if (NULL != s) {
        s->kind = kind;
        s->queue = queue;
        s->way = way;
        s->root = root;
        s->tag = mca_coll_gpuring_setup_tag(number);
        s->verdict.gpu.channels = UINT32_MAX;
    }
    return s;
}

struct gr_setup *mca_coll_gpuring_setup_new(struct gr_op_queue *queue, int way, int root,
                                            uint32_t number)
{
    struct gr_setup *s = setup_new(&on_host, queue, way, root, number);

    if (NULL != s) {
        gr_team_ask(queue->team, way, root);
    }
    return s;
}

struct gr_setup *mca_coll_gpuring_setup_new_gpu(struct gr_op_queue *queue, const struct gr_op *op,
                                                uint32_t number)
{
    struct gr_setup *s = setup_new(&on_devices, queue, op->choice.way, op->call.root, number);

    if (NULL != s) {
        s->op = op;
    }
    return s;
}

enum gr_links mca_coll_gpuring_op_links(const struct gr_op *op)
{
    const struct gr_gpu_team *gpu = op->queue->gpu;

    if (!op->device) {
        return gr_team_links(op->queue->team, gr_choice_way(&op->choice), op->call.root);
    }
    return NULL == gpu ? GR_LINKS_NONE
                       : (enum gr_links) *
                             gr_gpu_team_state(gpu, (enum gr_algo) op->choice.way, op->call.root);
}

void mca_coll_gpuring_setup_end(struct gr_setup *s)
{
    mca_coll_gpuring_module_t *module = s->queue->module;

    if (0 == module->nonce[s->queue->order]) {
        module->nonce[s->queue->order] = s->verdict.nonce;
    }
    mca_coll_gpuring_setup_log(s);
    mca_coll_gpuring_endpoints_end(s);
    s->kind->end(s);
    free(s->requests);
    free(s->devices);
    free(s);
}
