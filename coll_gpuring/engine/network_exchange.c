/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ends of network_exchange.h, and the trains between them. */
#include "engine/network_exchange.h"

#include "engine/comm.h"
#include "engine/runtime.h"

#include "base/errors.h"
#include "base/memory.h"

#include <stdlib.h>

/* Tags, from the highest of the exchange down. */
enum { TAG_REQUEST, TAG_TRAIN };
_Static_assert(TAG_TRAIN < GR_NETWORK_EXCHANGE_TAGS, "a tag for each kind of message");

static int post_send(struct gr_network_exchange *x, const void *what, size_t bytes)
{
    return gr_runtime_send(x->comm, what, bytes, x->peer, x->tag - TAG_REQUEST, &x->messages[1]);
}

static int post_receive(struct gr_network_exchange *x, void *what, size_t bytes)
{
    return gr_runtime_receive(x->comm, what, bytes, x->peer, x->tag - TAG_REQUEST, &x->messages[0]);
}

/* ---- trains ---- */

static int post_of_train(struct gr_network_exchange *x, bool send, int slot)
{
    size_t bytes = (size_t) x->request.bytes;
    unsigned char *at = x->train.buffer + (size_t) slot * bytes;
    struct gr_message **message = &x->train.messages[slot];
    int tag = x->tag - TAG_TRAIN;

    return send ? gr_runtime_send(x->comm, at, bytes, x->peer, tag, message)
                : gr_runtime_receive(x->comm, at, bytes, x->peer, tag, message);
}

/* Keep a window of the train's messages in flight: 1 when all are complete, 0, or an error. */
static int move_train(struct gr_network_exchange *x, bool send)
{
    const struct gr_network_request *r = &x->request;
    struct gr_network_train *t = &x->train;
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

static void begin_train(struct gr_network_exchange *x)
{
    x->train.posted = x->train.over = 0;
}

/* ---- rank 0 ---- */

/* The partner has replied to the end: take the round trip of the connections with it. */
static void conclude(struct gr_network_exchange *x)
{
    struct gr_network *result = &x->questions.result;

    if (x->comm->oversubscribed && gr_network_good(result)) {
        result->wire = (float) (1e6 * gr_tcp_round_trip(&x->connections) / 2);
    }
}

/* Send the request that is to be sent next, and await its reply, if it has one. */
static int ask(struct gr_network_exchange *x)
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

static int poll_asking(struct gr_network_exchange *x, uint64_t *moved)
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
        mca_coll_gpuring_network_ask_next(&x->questions, gr_runtime_now());
        rc = ask(x);
        if (0 != rc) {
            return rc;
        }
    }
}

/* ---- its partner ---- */

static int send_connections(struct gr_network_exchange *x)
{
    x->listed = true;
    gr_tcp_list(&x->connections);
    return post_send(x, &x->connections, sizeof(x->connections));
}

/* Reply to a request, and await the next. */
static int reply(struct gr_network_exchange *x)
{
    int rc;

    begin_train(x);
    x->reply = x->request;
    rc = post_send(x, &x->reply, sizeof(x->reply));
    return 0 == rc ? post_receive(x, &x->request, sizeof(x->request)) : rc;
}

static int poll_replying(struct gr_network_exchange *x, uint64_t *moved)
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

int mca_coll_gpuring_network_exchange_begin(struct gr_network_exchange *x,
                                            const struct gr_comm *comm, int peer, int tag)
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
    mca_coll_gpuring_network_ask_first(&x->questions, comm->oversubscribed, gr_runtime_now());
    return ask(x);
}

int mca_coll_gpuring_network_exchange_poll(struct gr_network_exchange *x, uint64_t *moved)
{
    return 0 == x->comm->rank ? poll_asking(x, moved) : poll_replying(x, moved);
}

void mca_coll_gpuring_network_exchange_free(struct gr_network_exchange *x)
{
    free(x->train.buffer);
}
