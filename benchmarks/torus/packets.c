/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model "packets" of network.h.
 *
 *      packets that pass through ---> queue --.
 *                                              >-- by turns --> link
 *      messages of the node itself -> queue --'
 */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Packets of one message that wait one behind another for the same hop. */
struct run {
    uint32_t message;
    uint16_t hop;
    uint32_t count;
};

struct queue {
    struct run *runs; /* a ring buffer */
    uint32_t first, n, room;
};

enum { THROUGH, OWN, NQUEUES };

struct link {
    struct queue queue[NQUEUES];
    int turn, busy;
};

/* All links, and for each message its packets that have arrived. */
struct state {
    struct link *links;
    uint32_t *arrived;
};

static uint32_t packets_of(const struct network *net, uint32_t message)
{
    double n = ceil(net->traffic->messages[message].bytes / net->packet - 1e-9);

    return n < 1 ? 1 : (uint32_t) n;
}

static int queue_add(struct queue *q, struct run run)
{
    struct run *last = q->n > 0 ? &q->runs[(q->first + q->n - 1) % q->room] : NULL;

    if (NULL != last && last->message == run.message && last->hop == run.hop) {
        last->count += run.count;
        return 0;
    }
    if (q->n == q->room) {
        uint32_t room = 0 == q->room ? 4 : 2 * q->room, k;
        struct run *runs = malloc(room * sizeof(*runs));

        if (NULL == runs) {
            return -1;
        }
        for (k = 0; k < q->n; k++) {
            runs[k] = q->runs[(q->first + k) % q->room];
        }
        free(q->runs);
        *q = (struct queue) {runs, 0, q->n, room};
    }
    q->runs[(q->first + q->n++) % q->room] = run;
    return 0;
}

/* Take one packet off. */
static struct run queue_take(struct queue *q)
{
    struct run *run = &q->runs[q->first], taken = *run;

    taken.count = 1;
    if (0 == --run->count) {
        q->first = (q->first + 1) % q->room;
        q->n--;
    }
    return taken;
}

/* Send the next packet, if there is one and the link is free. */
static void serve(struct network *net, int number, double time)
{
    struct link *link = &((struct state *) net->links)->links[number];
    int which = 0 == link->queue[link->turn].n ? !link->turn : link->turn;
    struct queue *q = &link->queue[which];
    struct run packet;
    struct hop hop;
    double length;

    if (link->busy || 0 == q->n) {
        return;
    }
    packet = queue_take(q);
    link->turn = !which;
    link->busy = 1;
    net->conflicts +=
        link->queue[!which].n > 0 || (q->n > 0 && q->runs[q->first].message != packet.message);
    length = net->traffic->messages[packet.message].bytes / packets_of(net, packet.message) /
             net->machine->bandwidth;
    network_add(net, time + length, EVENT_FREE, (uint32_t) number, 0);
    hop = network_hop(net, packet.message, packet.hop);
    if (hop.last) {
        network_add(net, time + net->machine->hop[hop.dim] + length, EVENT_RECEIVED, packet.message,
                    0);
    } else {
        network_add(net, time + net->machine->hop[hop.dim], EVENT_HEAD, packet.message,
                    packet.hop + 1);
    }
    /* the last packet of an own message, which is at its first hop, leaves the sender */
    if (OWN == which && (0 == q->n || q->runs[q->first].message != packet.message)) {
        network_add(net, time + length, EVENT_SENT, packet.message, 0);
    }
}

static int packets_init(struct network *net)
{
    struct state *state = calloc(1, sizeof(*state));

    net->links = state;
    if (NULL == state) {
        return -1;
    }
    state->links = calloc((size_t) torus_links(&net->machine->torus), sizeof(*state->links));
    state->arrived = calloc(net->traffic->nmessages + 1, sizeof(*state->arrived));
    return NULL == state->links || NULL == state->arrived ? -1 : 0;
}

static void packets_handle(struct network *net, const struct event *e)
{
    struct state *state = net->links;
    struct run run = {e->subject, e->hop, 1};
    int number;

    switch (e->kind) {
    case EVENT_FREE:
        state->links[e->subject].busy = 0;
        serve(net, (int) e->subject, e->time);
        break;
    case EVENT_RECEIVED:
        if (++state->arrived[e->subject] == packets_of(net, e->subject)) {
            net->received(net->ctx, e->subject, e->time);
        }
        break;
    default:
        number = network_hop(net, e->subject, e->hop).link;
        run.count = EVENT_START == e->kind ? packets_of(net, e->subject) : 1;
        if (queue_add(&state->links[number].queue[EVENT_START == e->kind ? OWN : THROUGH], run) <
            0) {
            net->out_of_memory = 1;
            return;
        }
        serve(net, number, e->time);
    }
}

static void packets_free(struct network *net)
{
    struct state *state = net->links;
    int k;

    if (NULL == state) {
        return;
    }
    for (k = 0; NULL != state->links && k < 2 * torus_links(&net->machine->torus); k++) {
        free(state->links[k / 2].queue[k % 2].runs);
    }
    free(state->links);
    free(state->arrived);
    free(state);
}

const struct model model_packets = {"packets", packets_init, packets_handle, packets_free};
