/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of pending requests, and their completion. */
#include "pending.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum way {
    TEST,
    WAIT,
    TEST_ANY,
    WAIT_ANY,
    TEST_SOME,
    WAIT_SOME,
    TEST_ALL,
    WAIT_ALL,
    PEEK,
    NUM_WAYS
};

/* Some of the requests, in any order. */
struct picked {
    MPI_Request request[MAX_PENDING];
    MPI_Status status[MAX_PENDING];
    int where[MAX_PENDING]; /* in the list */
    int index[MAX_PENDING]; /* those that are complete, of these */
    int n, completed;
};

void pending_add(struct pending *p, MPI_Request request, void *task, int part)
{
    if (MAX_PENDING == p->n) {
        abort();
    }
    p->request[p->n] = request;
    p->task[p->n] = task;
    p->part[p->n++] = part;
}

static void pick(struct pending *p, struct picked *s, const void *task, int percent)
{
    int j;

    s->n = 0;
    for (int k = 0; k < p->n; k++) {
        if ((NULL == task || p->task[k] == task) && rng_below(p->rng, 100) < percent) {
            j = rng_below(p->rng, s->n + 1);
            s->where[s->n] = s->where[j];
            s->where[j] = k;
            s->n++;
        }
    }
    for (int k = 0; k < s->n; k++) {
        s->request[k] = p->request[s->where[k]];
    }
}

static void all_complete(struct picked *s, int flag)
{
    s->completed = flag ? s->n : 0;
    for (int k = 0; k < s->completed; k++) {
        s->index[k] = k;
    }
}

static void one_complete(struct picked *s, int flag, int index)
{
    s->completed = flag && MPI_UNDEFINED != index;
    s->index[0] = index;
}

static const char *const use_names[NUM_WAYS] = {
    "MPI_Test",     "MPI_Wait",    "MPI_Testany", "MPI_Waitany",           "MPI_Testsome",
    "MPI_Waitsome", "MPI_Testall", "MPI_Waitall", "MPI_Request_get_status"};

/* In this way; what is complete is in s->index. Those of one request use the first. */
static int ask(struct picked *s, enum way way)
{
    int flag = 1, index = 0, rc;

    s->completed = 0;
    switch (way) {
    case TEST:
        rc = MPI_Test(&s->request[0], &flag, &s->status[0]);
        one_complete(s, flag, 0);
        break;
    case WAIT:
        rc = MPI_Wait(&s->request[0], &s->status[0]);
        one_complete(s, 1, 0);
        break;
    case TEST_ANY:
        rc = MPI_Testany(s->n, s->request, &index, &flag, &s->status[0]);
        one_complete(s, flag, index);
        break;
    case WAIT_ANY:
        rc = MPI_Waitany(s->n, s->request, &index, &s->status[0]);
        one_complete(s, 1, index);
        break;
    case TEST_SOME:
    case WAIT_SOME:
        rc = (TEST_SOME == way ? MPI_Testsome : MPI_Waitsome)(s->n, s->request, &s->completed,
                                                              s->index, s->status);
        s->completed = MPI_UNDEFINED == s->completed ? 0 : s->completed;
        break;
    case TEST_ALL:
        rc = MPI_Testall(s->n, s->request, &flag, s->status);
        all_complete(s, flag);
        break;
    case WAIT_ALL:
        rc = MPI_Waitall(s->n, s->request, s->status);
        all_complete(s, 1);
        break;
    default:
        rc = MPI_Request_get_status(s->request[0], &flag, &s->status[0]);
        break;
    }
    return rc;
}

/* Status k goes with index k, but where all were asked for, where the two are the same. */
static void complete(struct pending *p, struct picked *s)
{
    for (int k = 0; k < s->completed; k++) {
        const int where = s->where[s->index[k]];

        p->done(p->program, p->task[where], p->part[where], &s->status[k]);
        p->task[where] = NULL;
    }
    for (int k = 0; k < p->n;) {
        if (NULL == p->task[k]) {
            p->n--;
            p->request[k] = p->request[p->n];
            p->task[k] = p->task[p->n];
            p->part[k] = p->part[p->n];
        } else {
            k++;
        }
    }
}

static void go(struct pending *p, const void *task, int percent, bool wait)
{
    static _Thread_local struct picked s;
    enum way way = (enum way) rng_below(p->rng, NUM_WAYS);
    int rc;

    if (wait) {
        way = (enum way[]) {
            WAIT, WAIT_ANY, WAIT_SOME, WAIT_ALL, TEST_SOME, TEST_ALL}[rng_below(p->rng, 6)];
    }
    pick(p, &s, task, percent);
    if (0 == s.n) {
        return;
    }
    rc = ask(&s, way);
    if (MPI_SUCCESS != rc) {
        p->failed(p->program, rc, use_names[way]);
    }
    complete(p, &s);
}

void pending_poke(struct pending *p)
{
    go(p, NULL, (int[]) {10, 50, 100}[rng_below(p->rng, 3)], false);
}

static bool any_left(const struct pending *p, const void *task)
{
    for (int k = 0; k < p->n; k++) {
        if (NULL == task || p->task[k] == task) {
            return true;
        }
    }
    return false;
}

void pending_finish(struct pending *p, const void *task)
{
    while (any_left(p, task)) {
        go(p, task, 60, true);
    }
}
