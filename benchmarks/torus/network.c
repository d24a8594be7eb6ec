/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the models of network.h, and the model "fifo". */
#include "network.h"

#include <stdlib.h>
#include <string.h>

void network_add(struct network *net, double time, enum event_kind kind, uint32_t subject, int hop)
{
    if (events_add(&net->events, time, kind, subject, hop) < 0) {
        net->out_of_memory = 1;
    }
}

struct hop network_hop(const struct network *net, uint32_t message, int number)
{
    const struct message *m = &net->traffic->messages[message];
    const struct gr_torus *t = &net->machine->torus;
    struct hop hop = {.last = 0};
    int at = m->from, d, later;

    for (d = 0; number >= abs(m->hops[d]); d++) {
        number -= abs(m->hops[d]);
        at = 0 == m->hops[d] ? at : gr_torus_move(t, at, d, m->hops[d]);
    }
    at = gr_torus_move(t, at, d, m->hops[d] > 0 ? number : -number);
    hop.dim = d;
    hop.link = torus_link(t, at, d, m->hops[d] > 0);
    if (number + 1 == abs(m->hops[d])) {
        for (later = d + 1; later < t->ndims && 0 == m->hops[later]; later++) {
        }
        hop.last = later == t->ndims;
    }
    return hop;
}

int network_init(struct network *net)
{
    memset(&net->events, 0, sizeof(net->events));
    net->conflicts = 0;
    net->out_of_memory = 0;
    net->links = NULL;
    return net->model->init(net);
}

void network_free(struct network *net)
{
    events_free(&net->events);
    net->model->free(net);
    net->links = NULL;
}

void network_start(struct network *net, uint32_t message, double time)
{
    network_add(net, time, EVENT_START, message, 0);
}

int network_run(struct network *net)
{
    struct event e;

    if (0 == net->events.n || net->out_of_memory) {
        return 0;
    }
    e = events_next(&net->events);
    if (EVENT_SENT == e.kind) {
        net->sent(net->ctx, e.subject, e.time);
    } else {
        net->model->handle(net, &e);
    }
    return 1;
}

/* ---- fifo: the state of a link is the time at which it will be free ---- */

static int fifo_init(struct network *net)
{
    net->links = calloc((size_t) torus_links(&net->machine->torus), sizeof(double));
    return NULL == net->links ? -1 : 0;
}

static void fifo_handle(struct network *net, const struct event *e)
{
    const struct message *m = &net->traffic->messages[e->subject];
    double *free_at = net->links, length = m->bytes / net->machine->bandwidth, begin = e->time;
    struct hop hop;

    if (EVENT_RECEIVED == e->kind) {
        net->received(net->ctx, e->subject, e->time);
        return;
    }
    hop = network_hop(net, e->subject, e->hop);
    if (free_at[hop.link] > begin) {
        net->conflicts += free_at[hop.link] > begin + 1e-6; /* not a rounding error */
        begin = free_at[hop.link];
    }
    free_at[hop.link] = begin + length;
    if (0 == e->hop) {
        network_add(net, begin + length, EVENT_SENT, e->subject, 0);
    }
    if (hop.last) {
        network_add(net, begin + net->machine->hop[hop.dim] + length, EVENT_RECEIVED, e->subject,
                    0);
    } else {
        network_add(net, begin + net->machine->hop[hop.dim], EVENT_HEAD, e->subject, e->hop + 1);
    }
}

static void fifo_free(struct network *net)
{
    free(net->links);
}

const struct model model_fifo = {"fifo", fifo_init, fifo_handle, fifo_free};
