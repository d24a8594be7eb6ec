/* SPDX-License-Identifier: BSD-3-Clause */
/* The network of net.h, as a whole; link.c has what links do. */
#include "net/net_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void lost(void *ctx, void *peer, const char *why)
{
    struct gr_net *net = ctx;
    struct gr_net_peer *p = peer;
    uint32_t k;

    if (0 == p->status) {
        p->status = GR_ERR_LOST;
        snprintf(p->why, sizeof(p->why), "%s", why);
    }
    for (k = 0; k < net->nplaces; k++) {
        if (NULL != net->places[k] && p == net->places[k]->peer) {
            gr_net_fail(net->places[k], p->status, p->why);
        }
    }
}

int gr_net_open(struct gr_net **out, const struct gr_transport *transport, const char *device,
                char *why, size_t size)
{
    struct gr_net *net = calloc(1, sizeof(*net));
    int rc;

    if (NULL == net) {
        return GR_ERR_NOMEM;
    }
    net->transport = transport;
    net->up = (struct gr_transport_up) {
        net, gr_net_get_recv_buffer, gr_net_recv_done, gr_net_on_control, gr_net_sent, lost};
    atomic_flag_clear(&net->busy);
    rc = transport->open(&net->end, &net->up, device, why, size);
    if (0 != rc) {
        free(net);
        return rc;
    }
    net->address_bytes = transport->address(net->end, net->address, sizeof(net->address));
    if (0 == net->address_bytes || net->address_bytes > sizeof(net->address)) {
        snprintf(why, size, "an address of %zu bytes; 1 to %zu is allowed", net->address_bytes,
                 sizeof(net->address));
        gr_net_close(net, 0);
        return GR_ERR_NET;
    }
    *out = net;
    return 0;
}

/*
 * Go on with the links of that side, but leave writers that have something to send to their turn:
 * the first of these.
 */
static struct gr_net_link *go_on_with(struct gr_net *net, enum gr_net_side side)
{
    struct gr_net_link *first = NULL, *l;
    uint32_t k;

    for (k = 0; k < net->nplaces; k++) {
        l = net->places[k];
        if (NULL == l || side != l->side) {
            continue;
        }
        if (!gr_net_sends(l)) {
            if (GR_NET_IN == side || l->closing) {
                gr_net_go_on(l);
            }
        } else if (NULL == first || gr_net_turn(l) < gr_net_turn(first)) {
            first = l;
        }
    }
    return first;
}

/*
 * Send what is to be sent; the caller has the network. Credits come last: they can wait for data,
 * which take them along.
 */
static void send_all(struct gr_net *net)
{
    struct gr_net_link *l;

    while (NULL != (l = go_on_with(net, GR_NET_OUT))) {
        gr_net_go_on(l);
    }
    (void) go_on_with(net, GR_NET_IN);
}

static void receive_all(struct gr_net *net)
{
    net->transport->progress(net->end);
}

/* One round; the caller has the network. */
static void go_on(struct gr_net *net)
{
    send_all(net); /* first: to look for what comes in takes a while */
    receive_all(net);
}

/* Do it, and add what it has moved, unless another thread is in the network. */
static void do_if_free(struct gr_net *net, void (*what)(struct gr_net *net), uint64_t *moved)
{
    uint64_t before;

    if (!atomic_flag_test_and_set_explicit(&net->busy, memory_order_acquire)) {
        before = net->moved;
        what(net);
        *moved += net->moved - before;
        gr_net_unlock(net);
    }
}

void gr_net_progress(struct gr_net *net, uint64_t *moved)
{
    do_if_free(net, go_on, moved);
}

void gr_net_send(struct gr_net *net, uint64_t *moved)
{
    do_if_free(net, send_all, moved);
}

void gr_net_receive(struct gr_net *net, uint64_t *moved)
{
    do_if_free(net, receive_all, moved);
}

/*
 * A writer's slot that says where its data lie: let it hold them, unless the transport has them.
 * How many have to wait.
 */
static int reclaim(struct gr_net_link *l, uint64_t seq)
{
    uint32_t at = gr_net_slot(l, seq);

    if (NULL == l->fifo.from[at] || seq < l->next) {
        return NULL != l->fifo.from[at];
    }
    memcpy(l->fifo.slots + at * l->fifo.slot_bytes, l->fifo.from[at], l->fifo.fill[at]);
    l->fifo.from[at] = NULL;
    return 0;
}

int gr_net_link_reclaim(struct gr_net_link *link)
{
    uint64_t seq, end;
    int n = 0;

    if (GR_NET_IN == link->side || NULL == link->fifo.from) {
        return 0;
    }
    gr_net_lock(link->net);
    end = atomic_load_explicit(link->fifo.tail, memory_order_acquire) - link->fifo.count;
    for (seq = link->given; seq < end; seq++) {
        n += reclaim(link, seq);
    }
    gr_net_unlock(link->net);
    return n;
}

void gr_net_link_close(struct gr_net_link *link)
{
    struct gr_net *net = link->net;

    gr_net_lock(net);
    link->closing = 1;
    gr_net_go_on(link);
    gr_net_unlock(net);
}

static int any_closing(const struct gr_net *net)
{
    uint32_t k;

    for (k = 0; k < net->nplaces; k++) {
        if (NULL != net->places[k] && net->places[k]->closing) {
            return 1;
        }
    }
    return 0;
}

/* Seconds. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

void gr_net_close(struct gr_net *net, double patience)
{
    struct gr_net_peer *p;
    double end = now() + patience;
    uint32_t k;

    if (NULL == net) {
        return;
    }
    gr_net_lock(net);
    while (any_closing(net) && now() < end) {
        go_on(net);
    }
    net->transport->close(net->end, end - now());
    for (k = 0; k < net->nplaces; k++) {
        if (NULL != net->places[k]) {
            gr_net_leave(net->places[k]);
        }
    }
    while (NULL != net->peers) {
        p = net->peers;
        net->peers = p->next;
        free(p);
    }
    free(net->places);
    free(net);
}

struct gr_net_usage gr_net_usage(struct gr_net *net)
{
    struct gr_net_usage u = {0, 0, 0};
    const struct gr_net_peer *p;
    uint32_t k;

    gr_net_lock(net);
    for (p = net->peers; NULL != p; p = p->next) {
        u.peers += NULL != p->connection;
    }
    for (k = 0; k < net->nplaces; k++) {
        if (NULL != net->places[k]) {
            u.links++;
            u.messages += net->places[k]->under_way;
        }
    }
    gr_net_unlock(net);
    return u;
}
