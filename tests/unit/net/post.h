/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport within one process, that does in any order all that a transport may: messages
 * overtake each other, arrive at once or in two steps, are reported as sent early or late;
 * connections break. Chance decides, from a seed.
 */
#ifndef GR_TESTS_NET_POST_H
#define GR_TESTS_NET_POST_H

#include "net/transport.h"

enum { POST_ENDS = 3, POST_TO = 64 };

/* How messages travel: chances of 100. */
struct post_ways {
    int at_once;  /* sent when send() returns, */
    int in_steps; /* otherwise: fetched by the receiver, while the sender waits */
    int lazy;     /* a progress() that does nothing */
};

/* How it touches the memory of GPUs; NULL: it reaches none. */
struct post_gpus {
    void (*read)(void *to, const void *from, size_t bytes);
    /* which may be there later than when this returns */
    void (*write)(void *to, const void *from, size_t bytes);
};

extern struct post_ways post_ways;
extern const struct post_gpus *post_gpus;
extern int post_credits; /* messages of credits that were sent, ever */
/* those of data, and the links to which they went: message number k to post_to[k % POST_TO] */
extern int post_data;
extern uint64_t post_to[POST_TO];
extern const struct gr_transport post_transport;

void post_begin(uint64_t seed);
uint64_t post_random(uint64_t below);

/*
 * Break the connections between two ends: both are told, messages are lost. New ones cannot be
 * made.
 */
void post_break(int a, int b);

/* A message out of nowhere, for the end with that number. */
void post_forge(int end, const struct gr_net_head *head, size_t bytes);

/*
 * Messages under way to that link of an end; to all with end -1. Credits are not counted once a
 * later one has come: data of the other direction may bring it, and overtake any number of them.
 */
int post_under_way(int end, uint64_t link);

#endif
