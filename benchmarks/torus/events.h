/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of a simulation's events, by time; those of the same time in the order of adding. */
#ifndef TORUS_EVENTS_H
#define TORUS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct event {
    double time;
    uint64_t order;   /* set by events_add() */
    uint32_t subject; /* a message, or a link */
    uint16_t hop;     /* of the message's path */
    uint16_t kind;
};

/* All zero is an empty queue. */
struct events {
    struct event *heap;
    size_t n, room;
    uint64_t added, done;
};

/* 0, or -1 when memory ran out. */
int events_add(struct events *q, double time, int kind, uint32_t subject, int hop);

/* Take the first one; the queue must not be empty. */
struct event events_next(struct events *q);

void events_free(struct events *q);

#endif
