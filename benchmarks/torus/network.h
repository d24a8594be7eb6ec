/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of a torus with messages on them, with one of two models of contention. Both are
 * cut-through: a message's head goes on to the next link as soon as it has arrived. A message that
 * cannot go on waits in the node and not on the links behind it, so there is no deadlock.
 *
 *      fifo      a link serves whole messages, in the order in which their heads arrive
 *      packets   a link takes turns, by packets, between messages in transit and its own node's
 *
 * The caller adds messages; callbacks say when they have left and when they have arrived.
 */
#ifndef TORUS_NETWORK_H
#define TORUS_NETWORK_H

#include "events.h"
#include "links.h"
#include "traffic.h"

enum event_kind {
    EVENT_START,    /* the message wants its first link */
    EVENT_HEAD,     /* the head of the message, or of a packet, is where hop number `hop` begins */
    EVENT_SENT,     /* the message has left its sender */
    EVENT_RECEIVED, /* the message, or a packet, is complete at its receiver */
    EVENT_FREE      /* a link is free again */
};

struct network;

struct model {
    const char *name;
    int (*init)(struct network *net); /* 0, or -1 when memory ran out */
    void (*handle)(struct network *net, const struct event *e);
    void (*free)(struct network *net);
};
extern const struct model model_fifo, model_packets;

struct network {
    const struct model *model;
    const struct machine *machine;
    const struct traffic *traffic;
    double packet; /* bytes, for model_packets */
    struct events events;
    uint64_t conflicts; /* times that another message had the link */
    int out_of_memory;
    void *links;                                                /* the model's */
    void (*sent)(void *ctx, uint32_t message, double time);     /* it has left its sender */
    void (*received)(void *ctx, uint32_t message, double time); /* it has arrived */
    void *ctx;                                                  /* of sent and received */
};

/*
 * An idle network: model, machine, traffic, packet and the functions must be set. 0, or -1 when
 * memory ran out.
 */
int network_init(struct network *net);
void network_free(struct network *net);

/* Send a message at that time, which must not lie before the last event handled. */
void network_start(struct network *net, uint32_t message, double time);

/* Handle the next event; 0 when there is none. */
int network_run(struct network *net);

/* One hop of a message's path. */
struct hop {
    int link;
    int dim;
    int last; /* the receiver is at its end */
};
struct hop network_hop(const struct network *net, uint32_t message, int number);

/* For the models: an event, unless memory runs out, which the network remembers. */
void network_add(struct network *net, double time, enum event_kind kind, uint32_t subject, int hop);

#endif
