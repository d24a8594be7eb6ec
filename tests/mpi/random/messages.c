/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns point-to-point messages. All of a communicator are posted in the program's order, so
 * MPI_ANY_TAG from one source matches the message of its own step; with MPI_ANY_SOURCE the tag,
 * which no other step has, or a barrier sees to that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rng.h"
#include "task.h"

bool task_sendrecv = true;

static bool is_shift(const struct task *t)
{
    return P_SHIFT == t->step->what || P_SHIFT_TAG == t->step->what;
}

/* The rank that this one sends to, and receives from. */
static int neighbor(const struct task *t, bool to)
{
    const int n = t->comm->size, by = (int) (t->step->key % (uint64_t) n);

    return is_shift(t) ? (t->comm->rank + (to ? by : n - by)) % n : t->root;
}

void task_messages(struct task *t)
{
    const int n = t->comm->size, me = t->comm->rank, to = neighbor(t, true),
              from = neighbor(t, false);
    int *counts = calloc((size_t) n, sizeof *counts);

    if (NULL == counts) {
        abort();
    }
    if (is_shift(t)) {
        task_send(t, 1, (int[]) {task_elements(t, me, to, false)}, PLACE_DENSE);
        task_recv(t, 1, (int[]) {task_elements(t, from, me, false)}, PLACE_DENSE);
        t->want[0] = (struct want) {from, from, 0, 0};
    } else {
        task_send(t, 1, &t->step->count, PLACE_DENSE);
        for (int k = 0; k < n; k++) {
            counts[k] = t->step->count;
        }
        if (me == t->root) {
            task_recv(t, n, counts, PLACE_ANYHOW);
        }
    }
    free(counts);
}

/* Where receive number k puts its message. */
static void *place(const struct task *t, int k)
{
    return t->recv.at + t->recv.displs[k] * t->recv.layouts[0].extent;
}

static int source(const struct task *t)
{
    return is_shift(t) ? neighbor(t, false) : MPI_ANY_SOURCE;
}

static int tag(const struct task *t)
{
    return P_SHIFT_TAG == t->step->what || P_WILD == t->step->what ? MPI_ANY_TAG : t->number;
}

int task_post(struct task *t, MPI_Request *requests)
{
    for (int k = 0; k < t->recv.n; k++) {
        MPI_Irecv(place(t, k), t->recv.counts[k], t->recv_type, source(t), tag(t), t->mpi,
                  &requests[k]);
    }
    (0 != (t->step->key >> 40) % 3 ? MPI_Isend : MPI_Issend)(
        t->send_at, t->send_count, t->send_type, neighbor(t, true), t->number, t->mpi,
        &requests[t->recv.n]);
    return t->recv.n + 1;
}

const char *task_exchange(struct task *t)
{
    const int n = t->recv.n + 1;
    MPI_Request *requests = calloc((size_t) n, sizeof(MPI_Request));
    MPI_Status *statuses = calloc((size_t) n, sizeof *statuses);
    const char *wrong = NULL;

    if (NULL == requests || NULL == statuses) {
        abort();
    }
    if (is_shift(t) && task_sendrecv) {
        MPI_Sendrecv(t->send_at, t->send_count, t->send_type, neighbor(t, true), t->number,
                     t->recv_at, t->recv_count, t->recv_type, source(t), tag(t), t->mpi,
                     &statuses[0]);
    } else {
        (void) task_post(t, requests);
        MPI_Waitall(n, requests, statuses);
    }
    for (int k = 0; k < t->recv.n && NULL == wrong; k++) {
        wrong = task_received(t, k, &statuses[k]);
    }
    if (P_WILD == t->step->what) {
        MPI_Barrier(t->mpi);
    }
    free(requests);
    free(statuses);
    return wrong;
}

const char *task_received(struct task *t, int part, const MPI_Status *status)
{
    static _Thread_local char text[120];
    int count = -1;

    if (part >= t->recv.n) {
        return NULL; /* a send */
    }
    MPI_Get_count(status, t->recv_type, &count);
    if (status->MPI_TAG != t->number || count != t->recv.counts[part] || status->MPI_SOURCE < 0 ||
        status->MPI_SOURCE >= t->comm->size || (is_shift(t) && status->MPI_SOURCE != source(t))) {
        snprintf(text, sizeof text, "received %d instances from %d with tag %d, not %d with tag %d",
                 count, status->MPI_SOURCE, status->MPI_TAG, t->recv.counts[part], t->number);
        return text;
    }
    t->want[part] = (struct want) {status->MPI_SOURCE, status->MPI_SOURCE, 0, 0};
    return NULL;
}
