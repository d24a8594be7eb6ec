/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: makes the links of an algorithm, as a state machine of nonblocking messages. Links in
 * host memory and between devices differ in their struct gr_link_memory only (link/connect.h).
 *
 *      DEVICES   first set-up on devices only: all ranks send rank 0 their device
 *      ORDER     the same: rank 0 sends all ranks the order of the rings
 *      HANDLES   each reader reserves memory and sends its handle to the writer
 *      REPLIES   between devices, and between nodes: each writer replies with its own handle
 *      AGREE     all ranks learn the worst status (setup_messages.c). Then the team takes the links,
 *                or none, on all ranks
 *
 * Set-ups are numbered at the calls that need them, which come in the same order on all ranks. The
 * tags of their messages contain the number, so several set-ups can be in progress in any order:
 * one of a pending nonblocking call, and one of the init of a persistent request.
 */
#include "exec/setup.h"

#include "exec/op.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- messages ---- */

/* Whether all messages are complete: an enum gr_status, or GR_ERR_FAILED. */
static int poll_messages(struct gr_setup *s)
{
    int rc = gr_runtime_test_all(s->messages, s->nmessages);

    if (1 != rc) {
        return 0 == rc ? GR_AGAIN : rc;
    }
    s->nmessages = 0;
    return GR_DONE;
}

static int endpoints_of(const struct gr_connections *side)
{
    return side->n - side->near;
}

/* The network's ends of inter-node connections. */
static void fill_endpoints(const struct gr_setup *s, struct gr_net_endpoint *ends, int writes)
{
    const struct gr_connections *side = writes ? &s->join.out : &s->join.in;
    int k;

    for (k = 0; k < endpoints_of(side); k++) {
        struct gr_connection *c = gr_connection_at(&s->join, side, side->near + k);

        ends[k] = (struct gr_net_endpoint) {
            .rank = c->rank, .rail = gr_rail_of(s->queue, c->channel), .bell = &c->bell};
        if (0 == s->join.status) { /* its slabs are there */
            ends[k].fifo = s->join.memory->fifo(&s->join, c, writes);
        }
    }
}

/* Reserve slabs inside the node, and open the network's ends. 0 or GR_ERR_NOMEM. */
static int reserve(struct gr_setup *s)
{
    struct gr_join *j = &s->join;
    int rc = s->device ? gr_gpu_team_join(j, s->queue->gpu, (enum gr_algo) s->use, s->root)
                       : gr_team_join(j, s->queue->team, s->pool, s->use, s->root, s->nchannels);

    if (0 == rc) {
        rc = gr_endpoints_reserve(&s->net, endpoints_of(&j->in), endpoints_of(&j->out));
    }
    if (0 == rc) {
        fill_endpoints(s, s->net.in, 0);
        fill_endpoints(s, s->net.out, 1);
        gr_endpoints_begin(&s->net, &j->status);
    }
    return rc;
}

/* ---- phases: each posts its messages, and ends when they are complete ---- */

/*
 * Post a message for each connection of a side, from number `first` on: the handle at that offset
 * inside the node, and the endpoint's handle to and from other nodes.
 */
static int post_side(struct gr_setup *s, bool send, bool writes, size_t handle_at, int first)
{
    const struct gr_connections *side = writes ? &s->join.out : &s->join.in;
    struct gr_net_endpoint *ends = writes ? s->net.out : s->net.in;
    int k, rc = 0;

    for (k = first; k < side->n && 0 == rc; k++) {
        struct gr_connection *c = gr_connection_at(&s->join, side, k);
        struct gr_net_endpoint *end = k < side->near ? NULL : &ends[k - side->near];

        rc = NULL == end ? gr_setup_post(s, send, (unsigned char *) c + handle_at,
                                         s->join.memory->handle_size, c->rank)
                         : gr_setup_post(s, send, send ? &end->mine : &end->theirs,
                                         sizeof(end->mine), c->rank);
    }
    return rc;
}

/* Readers send handles to writers. Receives come first, as gr_setup_explain() assumes. */
static int post_handles(struct gr_setup *s)
{
    size_t at;
    int rc;

    s->state = GR_SETUP_HANDLES;
    if (0 != reserve(s) || 0 != gr_setup_reserve(s, s->join.in.n + s->join.out.n)) {
        return GR_ERR_NOMEM;
    }
    at = s->join.memory->handle_at;
    s->awaited = s->join.out.n;
    rc = post_side(s, false, true, at, 0);
    return 0 == rc ? post_side(s, true, false, at, 0) : rc;
}

/* Writers reply to readers: inside the node only where the kind of memory has replies. */
static int post_replies(struct gr_setup *s)
{
    const struct gr_join *j = &s->join;
    bool near = NULL != j->memory->reply;
    int rc;

    s->state = GR_SETUP_REPLIES;
    gr_endpoints_reply(&s->net, &s->join.status);
    gr_join_reply(&s->join);
    s->awaited = near ? j->in.n : endpoints_of(&j->in);
    rc = post_side(s, false, false, j->memory->reply_at, near ? 0 : j->in.near);
    return 0 == rc ? post_side(s, true, true, j->memory->reply_at, near ? 0 : j->out.near) : rc;
}

/* Take the worst status of both, and the lowest rank with it. */
static void combine(void *to, const void *from)
{
    const struct gr_setup_result *heard = from;
    struct gr_setup_result *mine = to;

    if (heard->status < mine->status ||
        (heard->status == mine->status && heard->rank < mine->rank)) {
        mine->status = heard->status;
        mine->rank = heard->rank;
    }
    mine->agreed = gr_join_agreement_combine(mine->agreed, heard->agreed);
    mine->nonce = heard->nonce > mine->nonce ? heard->nonce : mine->nonce;
}

/* A number that tells this communicator from earlier ones. */
static uint64_t nonce_new(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/*
 * The first set-up of links tests whether single copy is possible. Most communicators of a job with
 * thousands of them have mailboxes only, and need no test.
 */
static void test_direct(struct gr_team *team, const struct gr_comm *comm)
{
    int r;

    for (r = 0; r < comm->size && !team->tested && team->direct; r++) {
        team->direct = gr_runtime_reads(comm, r);
    }
    team->tested = true;
}

static bool has_leader(const struct gr_setup *s)
{
    return !s->device && GR_ALGO_LEADER == s->use && NULL != s->queue->gpu &&
           NULL != s->queue->gpu->leader;
}

/* This rank's board has its slab when all have agreed. */
static void offer_slab(const struct gr_setup *s)
{
    const struct gr_mailbox *box = &gr_team_boards(s->queue->team, GR_ALGO_LEADER)->box;
    unsigned char *board = gr_slab_base(s->join.in.host[0].slab);

    gr_leader_offer(s->queue->gpu->leader, board + gr_board_set_offset(box->p, 0, box->stride));
}

/* Map the last handles, and start to agree on this rank's status. */
static int begin_agreement(struct gr_setup *s)
{
    if (!s->device && !gr_use_has_boards(s->use)) {
        test_direct(s->queue->team, s->queue->comm);
    }
    gr_endpoints_map(&s->net, &s->join.status);
    s->result.status = gr_join_map(&s->join, &s->result.agreed);
    s->result.status = 0 == s->result.status ? gr_pool_check(s->pool) : s->result.status;
    if (0 == s->result.status && has_leader(s)) {
        offer_slab(s);
    }
    s->result.rank = s->queue->comm->rank;
    s->result.nonce = nonce_new();
    if (0 != s->result.status && s->device && '\0' == s->why[0]) {
        snprintf(s->why, sizeof(s->why), "%s", gr_gpu_error());
    }
    s->state = GR_SETUP_AGREE;
    s->rounds = (struct gr_dissemination) {.comm = s->queue->comm,
                                           .tag = gr_setup_phase_tag(s),
                                           .bytes = sizeof(s->result),
                                           .mine = &s->result,
                                           .sent = &s->sent,
                                           .heard = &s->heard,
                                           .combine = combine};
    return gr_dissemination_begin(&s->rounds);
}

static int begin(struct gr_setup *s)
{
    s->pool = gr_process_pool(s->queue->comm->process);
    if (NULL == s->pool) {
        return GR_ERR_NOMEM;
    }
    return s->device && NULL == s->queue->gpu ? gr_setup_devices(s) : post_handles(s);
}

/* Begin the next phase, as this one is done. *over: there is none. */
static int next(struct gr_setup *s, bool *over)
{
    int rc;

    switch (s->state) {
    case GR_SETUP_NEW:
        return begin(s);
    case GR_SETUP_DEVICES:
        return gr_setup_order(s);
    case GR_SETUP_ORDER:
        rc = gr_setup_team(s);
        if (0 == rc && GR_KERNELS_OF_ALL != gr_device_use_of(s->queue->comm, s->op)) {
            s->use = GR_ALGO_LEADER; /* no links: the op chooses anew */
        }
        return 0 == rc ? post_handles(s) : rc;
    case GR_SETUP_HANDLES:
        return post_replies(s);
    case GR_SETUP_REPLIES:
        return begin_agreement(s);
    case GR_SETUP_AGREE:
        *over = true;
        break;
    }
    return 0;
}

int gr_setup_poll(void *ctx, uint64_t *moved)
{
    struct gr_setup *s = ctx;
    bool over = false;
    int rc;

    for (;;) {
        rc = GR_SETUP_AGREE == s->state ? gr_dissemination_poll(&s->rounds, moved)
                                        : poll_messages(s);
        if (GR_DONE != rc) {
            return rc;
        }
        ++*moved;
        rc = next(s, &over);
        if (0 != rc) {
            return GR_ERR_FAILED;
        }
        if (over) {
            return GR_DONE;
        }
    }
}

/* ---- begin and end ---- */

/* op: on devices; else NULL. */
static struct gr_setup *setup_new(const struct gr_op *op, struct gr_op_queue *queue, int use,
                                  int root, uint32_t number)
{
    struct gr_setup *s = gr_calloc(1, sizeof(*s));

    if (NULL != s) {
        s->op = op;
        s->device = NULL != op;
        s->queue = queue;
        s->net = (struct gr_net_ends) {.queue = queue, .why = s->why, .why_size = sizeof(s->why)};
        s->use = use;
        s->root = root;
        s->tag = gr_setup_tag(number);
    }
    return s;
}

struct gr_setup *gr_setup_new(struct gr_op_queue *queue, int use, int root, uint32_t nchannels,
                              uint32_t number)
{
    struct gr_setup *s = setup_new(NULL, queue, use, root, number);

    if (NULL != s) {
        s->nchannels = gr_team_channels(queue->team, use, nchannels);
        gr_team_ask(queue->team, use, root, s->nchannels);
        gr_setup_announce(s);
    }
    return s;
}

struct gr_setup *gr_setup_new_gpu(struct gr_op *op, uint32_t number)
{
    return setup_new(op, op->queue, op->choice.algo, op->root, number);
}

void gr_setup_end(struct gr_setup *s)
{
    struct gr_comm *comm = s->queue->comm;

    if (0 == comm->nonce[s->queue->order]) {
        comm->nonce[s->queue->order] = s->result.nonce;
    }
    gr_setup_log(s);
    gr_endpoints_end(&s->net, s->result.status);
    gr_join_end(&s->join, s->result.status, &s->result.agreed);
    if (0 == s->result.status && has_leader(s)) {
        gr_leader_accept(s->queue->gpu->leader, gr_team_boards(s->queue->team, GR_ALGO_LEADER));
    }
    if (GR_ERR_SPACE == s->result.status || GR_ERR_NOMEM == s->result.status) {
        gr_pool_trim(s->pool);
    }
    free(s->messages);
    free(s->devices);
    free(s);
}
