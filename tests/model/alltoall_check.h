/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker of Alltoall schedules: runs all ranks of sched/alltoall.h tick by tick, with tokens
 * instead of blocks. A token is the pair (origin, destination), which shows where each block
 * arrives.
 */
#ifndef GR_TESTS_ALLTOALL_CHECK_H
#define GR_TESTS_ALLTOALL_CHECK_H

#include "sched/alltoall.h"

#include <stdint.h>

/* The checks. A2A_OK is 0; the others name what was found. */
enum a2a_check {
    A2A_OK,
    A2A_PEER,    /* sends to no other rank, or sends without receiving */
    A2A_ROUTE,   /* the hops do not lead to the receiver, or leave a line */
    A2A_PAIR,    /* the receiver does not expect the message, or not that long */
    A2A_SLOT,    /* a slot that does not exist, or twice in one tick */
    A2A_LINK,    /* a link used twice in a tick */
    A2A_ROUND,   /* "received in the round before" is not true */
    A2A_ORIGIN,  /* the final order is no permutation */
    A2A_DELIVERY /* at the end, not the block that should lie there */
};

/* How the checker asks for a schedule; tests put errors in here. */
struct a2a_world {
    struct gr_alltoall a; /* its rank is set by the checker */
    /* NULL: the real one */
    struct gr_exchange (*step)(const struct gr_alltoall *a, int lane, uint32_t tick);
    int (*origin)(const struct gr_alltoall *a, int slot);
    /* outcome */
    char why[200];
    uint32_t ticks;
    uint64_t messages, hops; /* of all ranks; hops: links used, summed over all ticks */
    uint64_t blocks;         /* sent by rank 0 */
    int most_ports;          /* most messages that a rank sends in one tick */
};

/* Run it; the first check that failed, or A2A_OK. */
enum a2a_check a2a_run(struct a2a_world *w);

/* A name for a check ("link twice"). */
const char *a2a_name(enum a2a_check check);

#endif
