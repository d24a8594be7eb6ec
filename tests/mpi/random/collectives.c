/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of each collective: blocks of inputs and outputs, and arguments. */
#include <stdlib.h>

#include "task.h"

#define MAX_RANKS 64

/* All n blocks of the same size. */
static void all_same(int *counts, int n, int count)
{
    for (int k = 0; k < n; k++) {
        counts[k] = count;
    }
}

/* ---- what MPI ignores: nonsense where the step says so, else valid arguments ---- */

static int bad_counts[2 * MAX_RANKS];
static MPI_Datatype bad_types[2 * MAX_RANKS];
static MPI_Aint bad_offsets[2 * MAX_RANKS];

/* A datatype that nobody may look at. libnbc does, of an alltoall in place. */
static MPI_Datatype ignored_type(const struct task *t)
{
    const bool looks = C_ALLTOALL == t->step->what && BLOCKING != t->step->form;

    return !t->step->nonsense                   ? basics[t->step->basic].type
           : looks || 0 == t->step->key / 8 % 2 ? MPI_DATATYPE_NULL
                                                : (MPI_Datatype) TASK_WILD_SEND;
}

void task_ignore_send(struct task *t)
{
    const bool nonsense = t->step->nonsense;

    t->send_at = nonsense ? TASK_WILD_SEND : NULL;
    t->send_count = nonsense ? -3 : 0;
    t->send_type = ignored_type(t);
    t->send_counts = t->send_displs = nonsense ? TASK_WILD_SEND : bad_counts;
    t->send_types = nonsense ? TASK_WILD_SEND : bad_types;
    t->send_offsets = nonsense ? TASK_WILD_SEND : bad_offsets;
}

void task_ignore_recv(struct task *t)
{
    const bool nonsense = t->step->nonsense;

    t->recv_at = nonsense ? TASK_WILD_RECV : NULL;
    t->recv_count = nonsense ? -3 : 0;
    t->recv_type = ignored_type(t);
    t->recv_counts = t->recv_displs = nonsense ? TASK_WILD_RECV : bad_counts;
    t->recv_types = nonsense ? TASK_WILD_RECV : bad_types;
    t->recv_offsets = nonsense ? TASK_WILD_RECV : bad_offsets;
}

static void send_in_place(struct task *t, int input)
{
    task_ignore_send(t);
    t->send_at = MPI_IN_PLACE;
    t->input = input;
    t->in_place = true;
}

static struct want from_rank(int rank, int block)
{
    return (struct want) {rank, rank, block, 0};
}

/* ---- who is who ---- */

static bool is_root(const struct task *t)
{
    return t->comm->inter ? MPI_ROOT == t->root : t->comm->rank == t->root;
}

/*
 * Gives something to the root, or gets something from it: all ranks, or those of the other group.
 */
static bool meets_root(const struct task *t)
{
    return !t->comm->inter || t->root >= 0;
}

/* A rank of this rank's group or the other: a number that both groups have for it. */
static int name(const struct task *t, int rank, bool remote)
{
    return rank + (t->comm->inter && t->comm->second != remote ? MAX_RANKS : 0);
}

/* ---- collectives ---- */

static void bcast(struct task *t)
{
    if (t->comm->inter && is_root(t)) {
        task_send(t, 1, &t->step->count, PLACE_DENSE);
        t->recv_at = (void *) t->send_at;
        t->recv_count = t->send_count;
        t->recv_type = t->send_type;
    } else if (!meets_root(t)) {
        task_ignore_recv(t);
        t->recv_count = t->step->count; /* see main.c */
        t->recv_type = basics[t->step->basic].type;
    } else {
        task_recv(t, 1, &t->step->count, PLACE_DENSE);
        t->want[0] = from_rank(t->root, 0);
        t->input = is_root(t) ? 0 : NO_BLOCK;
    }
}

/* One block each from first to last. */
static void reduced(struct task *t, int first, int last)
{
    const bool rooted = C_REDUCE == t->step->what, has = !rooted || is_root(t);
    const bool in_place = t->step->in_place && has;

    if (rooted && !meets_root(t)) {
        task_ignore_send(t);
    } else if (!in_place) {
        task_send(t, 1, &t->step->count, PLACE_DENSE);
        t->send_at = t->comm->inter ? t->send.at : t->send_at; /* see main.c */
    }
    if (has && (last >= first || in_place || !t->step->nonsense)) {
        task_recv(t, 1, &t->step->count, PLACE_DENSE);
        t->want[0] = (struct want) {first, last, 0, 0};
    } else {
        task_ignore_recv(t);
    }
    if (in_place) {
        send_in_place(t, 0);
    }
    t->send_count = t->recv_count = t->step->count; /* these have one count and one type */
    t->send_type = t->recv_type = basics[t->step->basic].type;
}

/*
 * Elements of rank k's part of a result that is scattered; on an intercommunicator those of either
 * group make the same sum.
 */
static int part(const struct task *t, int k)
{
    const int n = t->comm->size, count = t->step->count;
    int rest = count;

    if (C_REDUCE_SCATTER_BLOCK == t->step->what) {
        return t->comm->inter ? count * t->comm->remote_size : count;
    } else if (!t->comm->inter) {
        return task_elements(t, k, 0, false);
    } else if (k < n - 1) {
        return task_elements(t, name(t, k, false), 0, false) / n;
    }
    for (int j = 0; j < n - 1; j++) {
        rest -= part(t, j);
    }
    return rest;
}

static void reduce_scatter(struct task *t)
{
    const int n = t->comm->size, me = t->comm->rank;
    int total = 0, start = 0;

    t->shares = calloc((size_t) n, sizeof *t->shares);
    if (NULL == t->shares) {
        abort();
    }
    for (int k = 0; k < n; k++) {
        t->shares[k] = part(t, k);
        start += k < me ? t->shares[k] : 0;
        total += t->shares[k];
    }
    if (t->step->in_place) {
        task_recv(t, 1, &total, PLACE_DENSE);
        send_in_place(t, 0);
        t->checked = t->shares[me];
    } else {
        task_send(t, 1, &total, PLACE_DENSE);
        task_recv(t, 1, &t->shares[me], PLACE_DENSE);
    }
    t->want[0] = (struct want) {0, t->comm->remote_size - 1, 0, start};
    t->recv_count = t->shares[me];
}

/* Elements of the block that is a rank's, of this group or the other. */
static int share(const struct task *t, int rank, bool remote, bool v)
{
    return v ? task_elements(t, name(t, rank, remote), 0, false) : t->step->count;
}

/* One block from each, to all or to the root. */
static void gathered(struct task *t, bool everywhere, bool v)
{
    const bool has = everywhere || is_root(t), in_place = t->step->in_place && has;
    const int n = t->comm->remote_size, me = t->comm->rank;
    int counts[MAX_RANKS] = {0}, mine = share(t, me, false, v);

    for (int k = 0; k < n; k++) {
        counts[k] = share(t, k, true, v);
    }
    if (!everywhere && !meets_root(t)) {
        task_ignore_send(t);
    } else if (!in_place) {
        task_send(t, 1, &mine, PLACE_DENSE);
    }
    if (has) {
        task_recv(t, n, counts, v ? PLACE_ANYHOW : PLACE_DENSE);
        for (int k = 0; k < n; k++) {
            t->want[k] = from_rank(k, 0);
        }
    } else {
        task_ignore_recv(t);
    }
    if (in_place) {
        send_in_place(t, me);
    }
}

static void scattered(struct task *t, bool v)
{
    const bool has = is_root(t);
    const int n = t->comm->remote_size, me = t->comm->rank;
    int counts[MAX_RANKS] = {0}, mine = share(t, me, false, v);

    for (int k = 0; k < n; k++) {
        counts[k] = share(t, k, true, v);
    }
    if (has) {
        task_send(t, n, counts, v ? PLACE_ANYHOW : PLACE_DENSE);
    } else {
        task_ignore_send(t);
    }
    if (has && t->step->in_place) {
        task_ignore_recv(t);
        t->recv_at = MPI_IN_PLACE;
        t->in_place = true;
    } else if (!meets_root(t)) {
        task_ignore_recv(t);
    } else {
        task_recv(t, 1, &mine, PLACE_DENSE);
        t->want[0] = from_rank(t->root, me);
    }
}

static void all_to_all(struct task *t)
{
    const enum placement placement = C_ALLTOALL == t->step->what    ? PLACE_DENSE
                                     : C_ALLTOALLV == t->step->what ? PLACE_ANYHOW
                                                                    : PLACE_APART;
    const int n = t->comm->remote_size, me = t->comm->rank, i = name(t, me, false);
    const bool alike = t->step->in_place;
    int to[MAX_RANKS] = {0}, from[MAX_RANKS] = {0};

    all_same(to, n, t->step->count);
    all_same(from, n, t->step->count);
    for (int k = 0; k < n && C_ALLTOALL != t->step->what; k++) {
        to[k] = task_elements(t, i, name(t, k, true), alike);
        from[k] = task_elements(t, name(t, k, true), i, alike);
    }
    if (!t->step->in_place) {
        task_send(t, n, to, placement);
    }
    task_recv(t, n, from, placement);
    for (int k = 0; k < n; k++) {
        t->want[k] = from_rank(k, me);
    }
    if (t->step->in_place) {
        send_in_place(t, ALL_BLOCKS);
    }
}

void task_collective(struct task *t)
{
    const int last = t->comm->remote_size - 1, me = t->comm->rank;

    if (t->comm->size > MAX_RANKS || t->comm->remote_size > MAX_RANKS) {
        abort();
    }
    t->op = value_op(t->step->op);
    switch ((enum collective) t->step->what) {
    case C_BCAST:
        bcast(t);
        break;
    case C_REDUCE:
    case C_ALLREDUCE:
        reduced(t, 0, last);
        break;
    case C_SCAN:
        reduced(t, 0, me);
        break;
    case C_EXSCAN:
        reduced(t, 0, me - 1);
        break;
    case C_REDUCE_SCATTER:
    case C_REDUCE_SCATTER_BLOCK:
        reduce_scatter(t);
        break;
    case C_ALLGATHER:
        gathered(t, true, false);
        break;
    case C_ALLGATHERV:
        gathered(t, true, true);
        break;
    case C_GATHER:
        gathered(t, false, false);
        break;
    case C_GATHERV:
        gathered(t, false, true);
        break;
    case C_SCATTER:
        scattered(t, false);
        break;
    case C_SCATTERV:
        scattered(t, true);
        break;
    case C_ALLTOALL:
    case C_ALLTOALLV:
    case C_ALLTOALLW:
        all_to_all(t);
        break;
    case C_NEIGHBOR_ALLGATHER:
    case C_NEIGHBOR_ALLGATHERV:
    case C_NEIGHBOR_ALLTOALL:
    case C_NEIGHBOR_ALLTOALLV:
    case C_NEIGHBOR_ALLTOALLW:
        task_neighbors(t);
        break;
    default:
        break;
    }
}
