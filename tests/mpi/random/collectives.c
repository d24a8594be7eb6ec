/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns what each collective takes and gives: blocks of inputs and outputs, and the arguments. */
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

/* What MPI ignores is nonsense where the step says so, else what the other ranks have. */
static void ignore_send(struct task *t)
{
    static int bad_counts[MAX_RANKS];

    t->send_at = NULL;
    t->send_count = t->step->nonsense ? -3 : 0;
    t->send_type = t->step->nonsense ? MPI_DATATYPE_NULL : basics[t->step->basic].type;
    t->send_counts = t->send_displs = t->step->nonsense ? NULL : bad_counts;
    t->send_types = NULL;
}

static void ignore_recv(struct task *t)
{
    static int bad_counts[MAX_RANKS];

    t->recv_at = NULL;
    t->recv_count = t->step->nonsense ? -3 : 0;
    t->recv_type = t->step->nonsense ? MPI_DATATYPE_NULL : basics[t->step->basic].type;
    t->recv_counts = t->recv_displs = t->step->nonsense ? NULL : bad_counts;
    t->recv_types = NULL;
}

static void send_in_place(struct task *t, int input)
{
    ignore_send(t);
    t->send_at = MPI_IN_PLACE;
    t->input = input;
    t->in_place = true;
}

static struct want from_rank(int rank, int block)
{
    return (struct want) {rank, rank, block, 0};
}

static void bcast(struct task *t)
{
    task_recv(t, 1, &t->step->count, PLACE_DENSE);
    t->want[0] = from_rank(t->root, 0);
    t->input = t->comm->rank == t->root ? 0 : NO_BLOCK;
}

/* One block each from first to last. */
static void reduced(struct task *t, int first, int last)
{
    const bool has = C_REDUCE != t->step->what || t->comm->rank == t->root;
    const bool in_place = t->step->in_place && has;

    if (!in_place) {
        task_send(t, 1, &t->step->count, PLACE_DENSE);
    }
    if (has) {
        task_recv(t, 1, &t->step->count, PLACE_DENSE);
        t->want[0] = (struct want) {first, last, 0, 0};
    } else {
        ignore_recv(t);
    }
    if (in_place) {
        send_in_place(t, 0);
    }
    t->send_count = t->recv_count = t->step->count; /* these have one count and one type */
    t->send_type = t->recv_type = basics[t->step->basic].type;
}

static void reduce_scatter(struct task *t)
{
    const bool block = C_REDUCE_SCATTER_BLOCK == t->step->what;
    const int n = t->comm->size, me = t->comm->rank;
    int total = 0, start = 0;

    t->shares = calloc((size_t) n, sizeof *t->shares);
    if (NULL == t->shares) {
        abort();
    }
    for (int k = 0; k < n; k++) {
        t->shares[k] = block ? t->step->count : task_elements(t, k, 0, false);
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
    t->want[0] = (struct want) {0, n - 1, 0, start};
    t->recv_count = t->step->count;
}

/* One block from each, to all or to the root. */
static void gathered(struct task *t, bool everywhere, bool v)
{
    const bool has = everywhere || t->comm->rank == t->root, in_place = t->step->in_place && has;
    const int n = t->comm->size, me = t->comm->rank;
    int counts[MAX_RANKS] = {0};

    for (int k = 0; k < n; k++) {
        counts[k] = v ? task_elements(t, k, 0, false) : t->step->count;
    }
    if (!in_place) {
        task_send(t, 1, &counts[me], PLACE_DENSE);
    }
    if (has) {
        task_recv(t, n, counts, v ? PLACE_ANYHOW : PLACE_DENSE);
        for (int k = 0; k < n; k++) {
            t->want[k] = from_rank(k, 0);
        }
    } else {
        ignore_recv(t);
    }
    if (in_place) {
        send_in_place(t, me);
    }
}

static void scattered(struct task *t, bool v)
{
    const bool has = t->comm->rank == t->root;
    const int n = t->comm->size, me = t->comm->rank;
    int counts[MAX_RANKS] = {0};

    for (int k = 0; k < n; k++) {
        counts[k] = v ? task_elements(t, k, 0, false) : t->step->count;
    }
    if (has) {
        task_send(t, n, counts, v ? PLACE_ANYHOW : PLACE_DENSE);
    } else {
        ignore_send(t);
    }
    if (has && t->step->in_place) {
        ignore_recv(t);
        t->recv_at = MPI_IN_PLACE;
        t->in_place = true;
    } else {
        task_recv(t, 1, &counts[me], PLACE_DENSE);
        t->want[0] = from_rank(t->root, me);
    }
}

static void all_to_all(struct task *t)
{
    const enum placement placement = C_ALLTOALL == t->step->what    ? PLACE_DENSE
                                     : C_ALLTOALLV == t->step->what ? PLACE_ANYHOW
                                                                    : PLACE_APART;
    const int n = t->comm->size, me = t->comm->rank;
    const bool alike = t->step->in_place;
    int to[MAX_RANKS] = {0}, from[MAX_RANKS] = {0};

    all_same(to, n, t->step->count);
    all_same(from, n, t->step->count);
    for (int k = 0; k < n && C_ALLTOALL != t->step->what; k++) {
        to[k] = task_elements(t, me, k, alike);
        from[k] = task_elements(t, k, me, alike);
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
    const int last = t->comm->size - 1, me = t->comm->rank;

    if (t->comm->size > MAX_RANKS) {
        abort();
    }
    t->op = operations[t->step->op].op;
    switch ((enum collective) t->step->what) {
    case C_BCAST: bcast(t); break;
    case C_REDUCE:
    case C_ALLREDUCE: reduced(t, 0, last); break;
    case C_SCAN: reduced(t, 0, me); break;
    case C_EXSCAN: reduced(t, 0, me - 1); break;
    case C_REDUCE_SCATTER:
    case C_REDUCE_SCATTER_BLOCK: reduce_scatter(t); break;
    case C_ALLGATHER: gathered(t, true, false); break;
    case C_ALLGATHERV: gathered(t, true, true); break;
    case C_GATHER: gathered(t, false, false); break;
    case C_GATHERV: gathered(t, false, true); break;
    case C_SCATTER: scattered(t, false); break;
    case C_SCATTERV: scattered(t, true); break;
    case C_ALLTOALL:
    case C_ALLTOALLV:
    case C_ALLTOALLW: all_to_all(t); break;
    default: break;
    }
}
