/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns what neighbourhood collectives take and give. On a grid, a block that is sent to the
 * neighbor below is received as that of the neighbor above, also where both are the same rank. On a
 * graph, the blocks between two ranks are received in the order in which they are sent.
 */
#include <stdlib.h>

#include "task.h"

#define MANY 256 /* more than a rank's edges */

/* How often the neighbor k was among those in front of it. */
static int earlier(const int *neighbors, int k)
{
    int n = 0;

    for (int j = 0; j < k; j++) {
        n += neighbors[j] == neighbors[k];
    }
    return n;
}

/* The sender's number of its block k: on a grid of all its blocks, on a graph of those for the same
 * rank. Nonblocking calls on a grid send the same block twice to one rank: see main.c. */
static int place_sent(const struct task *t, int k)
{
    if (O_CART == t->comm->topology) {
        return BLOCKING == t->step->form ? k : 0;
    }
    return earlier(t->comm->destinations, k);
}

/* The same number, of block k that is received. */
static int place_received(const struct task *t, int k)
{
    if (O_CART == t->comm->topology) {
        return BLOCKING == t->step->form ? k ^ 1 : 0;
    }
    return earlier(t->comm->sources, k);
}

/* The name that a block for rank `to` has on both sides. */
static int block_name(int to, int place)
{
    return to * MANY + place;
}

/* One block for all. */
static void send_one(struct task *t, bool v)
{
    task_send(t, 1, v ? (int[]) {task_elements(t, t->comm->rank, 0, false)} : &t->step->count,
              PLACE_DENSE);
}

static void send_each(struct task *t, enum placement placement)
{
    const struct comm *c = t->comm;
    int counts[MANY];

    t->names = calloc((size_t) c->outdegree + 1, sizeof *t->names);
    if (NULL == t->names) {
        abort();
    }
    for (int k = 0; k < c->outdegree; k++) {
        const int to = c->destinations[k];

        counts[k] =
            PLACE_DENSE == placement ? t->step->count : task_elements(t, c->rank, to, false);
        t->names[k] = block_name(to, place_sent(t, k));
    }
    if (0 == c->outdegree) {
        task_ignore_send(t);
        t->send_count = t->step->count; /* of none */
        t->send_type = basics[t->step->basic].type;
    } else {
        task_send(t, c->outdegree, counts, placement);
    }
}

/* From each; `one`: the same that the others get. */
static void receive(struct task *t, bool one, enum placement placement)
{
    const struct comm *c = t->comm;
    int counts[MANY];

    for (int k = 0; k < c->indegree; k++) {
        counts[k] = t->step->count;
        if (PLACE_DENSE != placement) {
            counts[k] = task_elements(t, c->sources[k], one ? 0 : c->rank, false);
        }
    }
    if (0 == c->indegree) {
        task_ignore_recv(t);
        t->recv_count = t->step->count;
        t->recv_type = basics[t->step->basic].type;
        return;
    }
    task_recv(t, c->indegree, counts, placement);
    for (int k = 0; k < c->indegree; k++) {
        const int from = c->sources[k];

        t->want[k] =
            (struct want) {from, from, one ? 0 : block_name(c->rank, place_received(t, k)), 0};
    }
}

void task_neighbors(struct task *t)
{
    if (t->comm->indegree > MANY || t->comm->outdegree > MANY) {
        abort();
    }
    switch ((enum collective) t->step->what) {
    case C_NEIGHBOR_ALLGATHER:
        send_one(t, false);
        receive(t, true, PLACE_DENSE);
        break;
    case C_NEIGHBOR_ALLGATHERV:
        send_one(t, true);
        receive(t, true, PLACE_ANYHOW);
        break;
    case C_NEIGHBOR_ALLTOALL:
        send_each(t, PLACE_DENSE);
        receive(t, false, PLACE_DENSE);
        break;
    case C_NEIGHBOR_ALLTOALLV:
        send_each(t, PLACE_ANYHOW);
        receive(t, false, PLACE_ANYHOW);
        break;
    default:
        send_each(t, PLACE_APART);
        receive(t, false, PLACE_APART);
        break;
    }
}
