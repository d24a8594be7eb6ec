/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe of network_probe.h, in phases of nonblocking messages:
 *
 *      ASK      all ranks learn whether one of them knows the network from another communicator,
 *               and which is the lowest rank on another node than rank 0, by dissemination
 *               (setup_messages.c)
 *      MEASURE  if none does: rank 0 and that rank, its partner, exchange messages
 *      TELL     all ranks learn rank 0's result in the same way; those that have no part in the
 *               exchange wait here meanwhile
 *
 * The exchange: requests of rank 0 (network_probe.h), trains of messages, and replies.
 *
 *      request of rank 0                     the partner replies
 *      ping                                  at once
 *      train (count, bytes), and messages    when it has received all the messages
 *      end                                   where ranks share cores: its TCP connections
 *
 * A request goes out when the reply to the one before is there. Where ranks share cores rank 0 then
 * asks the kernel for the round trip of the connections that it has with its partner.
 */
#include "engine/network_probe.h"

#include "comm/comm.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "exec/setup.h"

#include "base/errors.h"
#include "base/memory.h"
#include "tune/network.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the exchange ---- */

/* Tags, from the highest of the exchange down. */
enum { TAG_REQUEST, TAG_TRAIN, EXCHANGE_TAGS };

/* The messages of a train that rank 0 sends and its partner receives. */
struct train {
    unsigned char *buffer;                          /* [request.window][request.bytes]; owned */
    struct gr_message *messages[GR_NETWORK_WINDOW]; /* in flight, by number modulo the window */
    int posted;                                     /* messages that were posted */
    int over;                                       /* messages that are complete */
};

/* One end of the exchange. */
struct exchange {
    const struct gr_comm *comm;               /* borrowed */
    int peer;                                 /* rank of the other end */
    int tag;                                  /* the highest of its tags */
    struct gr_network_questions questions;    /* rank 0's */
    struct gr_network_request request, reply; /* in flight */
    struct gr_message *messages[2];           /* received, sent: a request and a reply */
    struct train train;                       /* that follows the request */
    bool listed;                              /* the partner has sent its connections */
    struct gr_tcp_connections connections;    /* the partner's; in flight after the end */
};

static int post_send(struct exchange *x, const void *what, size_t bytes)
{
    return gr_runtime_send(x->comm, what, bytes, x->peer, x->tag - TAG_REQUEST, &x->messages[1]);
}

static int post_receive(struct exchange *x, void *what, size_t bytes)
{
    return gr_runtime_receive(x->comm, what, bytes, x->peer, x->tag - TAG_REQUEST, &x->messages[0]);
}

/* ---- trains ---- */

static int post_of_train(struct exchange *x, bool send, int slot)
{
    size_t bytes = (size_t) x->request.bytes;
    unsigned char *at = x->train.buffer + (size_t) slot * bytes;
    struct gr_message **message = &x->train.messages[slot];
    int tag = x->tag - TAG_TRAIN;

    return send ? gr_runtime_send(x->comm, at, bytes, x->peer, tag, message)
                : gr_runtime_receive(x->comm, at, bytes, x->peer, tag, message);
}

/* Keep a window of the train's messages in flight: 1 when all are complete, 0, or an error. */
static int move_train(struct exchange *x, bool send)
{
    const struct gr_network_request *r = &x->request;
    struct train *t = &x->train;
    int rc;

    while (t->over < r->count) {
        if (t->posted < r->count && t->posted < t->over + r->window) {
            rc = post_of_train(x, send, t->posted++ % r->window);
            if (0 != rc) {
                return rc;
            }
            continue;
        }
        rc = gr_runtime_test(&t->messages[t->over % r->window]);
        if (1 != rc) {
            return rc;
        }
        t->over++;
    }
    return 1;
}

static void begin_train(struct exchange *x)
{
    x->train.posted = x->train.over = 0;
}

/* ---- rank 0 ---- */

/* The partner has replied to the end: take the round trip of the connections with it. */
static void conclude(struct exchange *x)
{
    struct gr_network *result = &x->questions.result;

    if (x->comm->oversubscribed && gr_network_good(result)) {
        result->wire = (float) (1e6 * gr_tcp_round_trip(&x->connections) / 2);
    }
}

/* Send the request that is to be sent next, and await its reply, if it has one. */
static int ask(struct exchange *x)
{
    int rc = 0;

    begin_train(x);
    x->request = x->questions.request;
    if (GR_NETWORK_END != x->request.count) {
        rc = post_receive(x, &x->reply, sizeof(x->reply));
    } else if (x->comm->oversubscribed) {
        rc = post_receive(x, &x->connections, sizeof(x->connections));
    }
    return 0 == rc ? post_send(x, &x->request, sizeof(x->request)) : rc;
}

static int poll_asking(struct exchange *x, uint64_t *moved)
{
    int rc;

    for (;;) {
        rc = move_train(x, true);
        rc = 1 == rc ? gr_runtime_test_all(x->messages, 2) : rc;
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        if (GR_NETWORK_END == x->request.count) {
            conclude(x);
            return GR_DONE;
        }
        gr_network_ask_next(&x->questions, gr_runtime_now());
        rc = ask(x);
        if (0 != rc) {
            return rc;
        }
    }
}

/* ---- its partner ---- */

static int send_connections(struct exchange *x)
{
    x->listed = true;
    gr_tcp_list(&x->connections);
    return post_send(x, &x->connections, sizeof(x->connections));
}

/* Reply to a request, and await the next. */
static int reply(struct exchange *x)
{
    int rc;

    begin_train(x);
    x->reply = x->request;
    rc = post_send(x, &x->reply, sizeof(x->reply));
    return 0 == rc ? post_receive(x, &x->request, sizeof(x->request)) : rc;
}

static int poll_replying(struct exchange *x, uint64_t *moved)
{
    int rc;

    for (;;) {
        rc = gr_runtime_test_all(x->messages, 2); /* the request, and the last reply */
        rc = 1 == rc ? move_train(x, false) : rc;
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        if (GR_NETWORK_END != x->request.count) {
            rc = reply(x);
        } else if (x->comm->oversubscribed && !x->listed) {
            rc = send_connections(x);
        } else {
            return GR_DONE;
        }
        if (0 != rc) {
            return rc;
        }
    }
}

/* ---- both ---- */

static int exchange_begin(struct exchange *x, const struct gr_comm *comm, int peer, int tag)
{
    x->comm = comm;
    x->peer = peer;
    x->tag = tag;
    x->train.buffer = gr_calloc(1, GR_NETWORK_IN_FLIGHT);
    if (NULL == x->train.buffer) {
        return GR_ERR_NOMEM;
    }
    if (0 != comm->rank) {
        return post_receive(x, &x->request, sizeof(x->request));
    }
    gr_network_ask_first(&x->questions, comm->oversubscribed, gr_runtime_now());
    return ask(x);
}

/* ---- the probe ---- */

enum phase { NEW, ASK, MEASURE, TELL };

/* Tags, from the highest of the set-up's down. */
enum { TAG_ASK, TAG_TELL, TAG_EXCHANGE, TAGS = TAG_EXCHANGE + EXCHANGE_TAGS };
_Static_assert(TAGS <= GR_SETUP_TAGS, "a probe has the tags of a set-up");

/* What ranks tell each other in ASK and TELL. */
struct news {
    int32_t source;            /* the lowest rank that knows the network; INT32_MAX: none */
    int32_t partner;           /* the lowest rank on another node than rank 0 */
    struct gr_network network; /* as `source` knows it */
};

struct gr_network_probe {
    struct gr_op_queue *queue; /* borrowed */
    int tag;                   /* the highest of its tags */
    enum phase phase;
    struct news news;               /* that this rank has heard */
    struct news sent, heard;        /* in flight */
    struct gr_dissemination rounds; /* of ASK and TELL */
    struct exchange exchange;       /* of MEASURE */
};

static const struct gr_comm *comm_of(const struct gr_network_probe *probe)
{
    return probe->queue->comm;
}

static struct gr_order_network *order_of(const struct gr_op_queue *queue)
{
    return &queue->comm->network[queue->order];
}

/* ---- phases ---- */

static void combine(void *to, const void *from)
{
    const struct news *other = from;
    struct news *mine = to;

    if (other->source < mine->source) {
        mine->source = other->source;
        mine->network = other->network;
    }
    mine->partner = other->partner < mine->partner ? other->partner : mine->partner;
}

static int begin_rounds(struct gr_network_probe *probe, enum phase phase)
{
    probe->phase = phase;
    probe->rounds =
        (struct gr_dissemination) {.comm = comm_of(probe),
                                   .tag = probe->tag - (ASK == phase ? TAG_ASK : TAG_TELL),
                                   .bytes = sizeof(struct news),
                                   .mine = &probe->news,
                                   .sent = &probe->sent,
                                   .heard = &probe->heard,
                                   .combine = combine};
    return gr_dissemination_begin(&probe->rounds);
}

static int begin_ask(struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);
    struct gr_process_network *known = &comm->process->network;

    gr_lock(&known->lock);
    probe->news.network = known->network;
    gr_unlock(&known->lock);
    probe->news.source = gr_network_good(&probe->news.network) ? comm->rank : INT32_MAX;
    probe->news.partner = 0 != comm->remote[0] ? comm->rank : INT32_MAX;
    return begin_rounds(probe, ASK);
}

static int begin_measure(struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);
    int partner = probe->news.partner;

    if (0 != comm->rank && partner != comm->rank) {
        return begin_rounds(probe, TELL);
    }
    probe->phase = MEASURE;
    return exchange_begin(&probe->exchange, comm, 0 == comm->rank ? partner : 0,
                          probe->tag - TAG_EXCHANGE);
}

/* Rank 0 knows the network, if only that it could not be measured; its partner hears of it. */
static int begin_tell(struct gr_network_probe *probe)
{
    if (0 == comm_of(probe)->rank) {
        probe->news.source = 0;
        probe->news.network = probe->exchange.questions.result;
    }
    return begin_rounds(probe, TELL);
}

/* Begin the phase after the one that is done. *over: there is none. 0 or an error. */
static int next(struct gr_network_probe *probe, bool *over)
{
    switch (probe->phase) {
    case NEW:
        return begin_ask(probe);
    case ASK:
        *over = INT32_MAX != probe->news.source;
        return *over ? 0 : begin_measure(probe);
    case MEASURE:
        return begin_tell(probe);
    default:
        *over = true;
        return 0;
    }
}

static int poll_phase(struct gr_network_probe *probe, uint64_t *moved)
{
    switch (probe->phase) {
    case NEW:
        return GR_DONE;
    case MEASURE:
        return 0 == comm_of(probe)->rank ? poll_asking(&probe->exchange, moved)
                                         : poll_replying(&probe->exchange, moved);
    default:
        return gr_dissemination_poll(&probe->rounds, moved);
    }
}

int gr_network_poll(void *ctx, uint64_t *moved)
{
    struct gr_network_probe *probe = ctx;
    bool over = false;
    int rc;

    do {
        rc = poll_phase(probe, moved);
        if (GR_DONE == rc) {
            rc = next(probe, &over);
        }
    } while (GR_DONE == rc && !over);
    return rc;
}

/* ---- begin and end ---- */

bool gr_network_wanted(const struct gr_op_queue *queue)
{
    return !queue->persistent &&
           GR_NETWORK_NEW == atomic_load_explicit(&order_of(queue)->state, memory_order_acquire);
}

struct gr_network_probe *gr_network_new(struct gr_op_queue *queue, uint32_t number)
{
    struct gr_network_probe *probe = gr_calloc(1, sizeof(*probe));

    if (NULL != probe) {
        probe->queue = queue;
        probe->tag = gr_setup_tag(number);
        atomic_store_explicit(&order_of(queue)->state, GR_NETWORK_ASKED, memory_order_release);
    }
    return probe;
}

static struct gr_network_use use_of(const struct gr_comm *comm)
{
    return (struct gr_network_use) {comm->rails, comm->oversubscribed};
}

struct gr_internode gr_network_terms(const struct gr_comm *comm, const struct gr_network *measured)
{
    double latency = (double) comm->params.value[GR_PARAM_NODES_LATENCY],
           mbit = (double) comm->params.value[GR_PARAM_NODES_MBIT];
    struct gr_network class;

    if (NULL == comm->remote) {
        return (struct gr_internode) {.nodes = 0};
    }
    class = gr_network_class(measured, use_of(comm));
    return (struct gr_internode) {
        .nodes = comm->nodes,
        .ranks = comm->node_ranks,
        .step = latency > 0 ? latency : (double) class.latency,
        .byte = 8.0 / (mbit > 0 ? mbit : (double) class.mbit),
        .rails = comm->rails,
        .oversubscribed = comm->oversubscribed,
    };
}

const char *gr_comm_network_text(const struct gr_comm *comm, const struct gr_network *measured,
                                 char *text, size_t size)
{
    long long latency = comm->params.value[GR_PARAM_NODES_LATENCY],
              mbit = comm->params.value[GR_PARAM_NODES_MBIT];
    bool none = 0 == latency && 0 == mbit, all = 0 != latency && 0 != mbit;
    char us[32] = "", rate[32] = "", rest[200];

    (void) gr_network_text(measured, use_of(comm), rest, sizeof(rest));
    if (0 != latency) {
        snprintf(us, sizeof(us), " latency %lld us", latency);
    }
    if (0 != mbit) {
        snprintf(rate, sizeof(rate), "%s %lld Mbit/s", 0 != latency ? "," : "", mbit);
    }
    snprintf(text, size, "%s%s%s%s%s", none ? "" : "by parameters:", us, rate,
             none || all ? "" : "; else ", all ? "" : rest);
    return text;
}

/* Rank 0 says what the communicator's calls go by. */
static void log_network(const struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);
    char text[300];

    if (gr_should_log(comm->rank, 1)) {
        gr_print("gpuring: %s, the cost model's constants between nodes: %s", gr_comm_name(comm),
                 gr_comm_network_text(comm, &probe->news.network, text, sizeof(text)));
    }
}

void gr_network_end(struct gr_network_probe *probe)
{
    struct gr_order_network *order = order_of(probe->queue);
    struct gr_process_network *known = &comm_of(probe)->process->network;

    order->network = probe->news.network;
    if (gr_network_good(&order->network)) {
        gr_lock(&known->lock);
        known->network = order->network;
        gr_unlock(&known->lock);
    }
    log_network(probe);
    atomic_store_explicit(&order->state, GR_NETWORK_KNOWN, memory_order_release);
    free(probe->exchange.train.buffer);
    free(probe);
}

void gr_network_explain(void *ctx, char *text, size_t size)
{
    const struct gr_network_probe *probe = ctx;

    if (NEW == probe->phase) {
        snprintf(text, size, "measuring the network, not begun");
    } else {
        snprintf(text, size, "measuring the network, waits for rank %d",
                 MEASURE == probe->phase ? probe->exchange.peer
                                         : gr_dissemination_awaits(&probe->rounds));
    }
}
