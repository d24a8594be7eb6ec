/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of a torus while messages go over them, with one of two models of what happens where
 * two want the same. Both are cut-through: a message's head goes on to the next link as soon as it
 * has arrived, and what cannot go on waits in the node, never on the links behind (virtual
 * cut-through: there is no deadlock).
 *
 *      fifo      a link serves whole messages, in the order in which their heads arrive
 *      packets   a link takes turns, packet by packet, between what passes through and what its own node sends
 *
 * Whoever runs a network adds messages, and is told when they have left and when they have arrived.
 */
#ifndef TORUS_NETWORK_H
#define TORUS_NETWORK_H

#include "events.h"
#include "traffic.h"

enum event_kind {
    EVENT_START,    /* the message's first link is asked for */
    EVENT_HEAD,     /* its head, or a packet, has arrived where hop number `hop` begins */
    EVENT_SENT,     /* it has left its sender */
    EVENT_RECEIVED, /* it, or a packet, is complete at its receiver */
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
    /* times that a message, or a packet, found its link taken by another message */
    uint64_t conflicts;
    int out_of_memory;
    void *links; /* the model's */
    /* Message number `message` has left its sender, or has arrived. */
    void (*sent)(void *ctx, uint32_t message, double time);
    void (*received)(void *ctx, uint32_t message, double time);
    void *ctx;
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

/*
 * The link that hop number `hop` of the message takes, its dimension, and whether it is the last
 * one.
 */
struct way {
    int link, dim, last;
};
struct way network_way(const struct network *net, uint32_t message, int hop);

/* For the models: an event, unless memory runs out, which the network remembers. */
void network_add(struct network *net, double time, enum event_kind kind, uint32_t subject, int hop);

#endif
