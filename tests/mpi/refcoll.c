/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference collectives: linear, gathered and reduced at rank 0 (or the root). */
#include "refcoll.h"

#include <stdlib.h>

enum { TAG_DATA = 1, TAG_RESULT };

struct place {
    int rank, size;
};

static struct place place_in(MPI_Comm comm)
{
    struct place p;

    MPI_Comm_rank(comm, &p.rank);
    MPI_Comm_size(comm, &p.size);
    return p;
}

/* A buffer for count elements; *base is what to free, the result what to give to MPI. */
static void *elements_alloc(int count, MPI_Datatype type, void **base)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    *base = calloc(1, (size_t) (true_extent + (count > 0 ? count - 1 : 0) * extent) + 1);
    return (char *) *base - true_lb;
}

/* A copy within this process, of any type. */
static void copy(const void *from, int from_count, MPI_Datatype from_type, void *to, int count,
                 MPI_Datatype type)
{
    MPI_Sendrecv(from, from_count, from_type, 0, TAG_DATA, to, count, type, 0, TAG_DATA,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

void ref_bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct place p = place_in(comm);

    if (p.rank != root) {
        MPI_Recv(buf, count, type, root, TAG_DATA, comm, MPI_STATUS_IGNORE);
        return;
    }
    for (int r = 0; r < p.size; r++) {
        if (r != root) {
            MPI_Send(buf, count, type, r, TAG_DATA, comm);
        }
    }
}

/* ((x0 op x1) op x2) ... : MPI_Reduce_local puts its first argument on the left. */
static void reduce_at_root(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                           int root, struct place p, MPI_Comm comm)
{
    void *bases[2];
    void *sum = elements_alloc(count, type, &bases[0]);
    void *next = elements_alloc(count, type, &bases[1]);

    for (int r = 0; r < p.size; r++) {
        if (r == root) {
            copy(in, count, type, next, count, type);
        } else {
            MPI_Recv(next, count, type, r, TAG_DATA, comm, MPI_STATUS_IGNORE);
        }
        if (r > 0) {
            MPI_Reduce_local(sum, next, count, type, op);
        }
        void *t = sum;
        sum = next;
        next = t;
    }
    copy(sum, count, type, out, count, type);
    free(bases[0]);
    free(bases[1]);
}

void ref_reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm)
{
    struct place p = place_in(comm);

    if (p.rank != root) {
        MPI_Send(in, count, type, root, TAG_DATA, comm);
        return;
    }
    reduce_at_root(MPI_IN_PLACE == in ? out : in, out, count, type, op, root, p, comm);
}

void ref_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm)
{
    if (MPI_IN_PLACE == in && 0 != place_in(comm).rank) {
        in = out;
    }
    ref_reduce(in, out, count, type, op, 0, comm);
    ref_bcast(out, count, type, 0, comm);
}

void ref_reduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm)
{
    struct place p = place_in(comm);
    MPI_Aint lb, extent, at = 0;
    void *base, *all;
    int total = 0;

    MPI_Type_get_extent(type, &lb, &extent);
    for (int r = 0; r < p.size; r++) {
        total += counts[r];
    }
    all = elements_alloc(total, type, &base);
    ref_reduce(MPI_IN_PLACE == in ? out : in, all, total, type, op, 0, comm);
    for (int r = 0; r < p.size; r++) {
        if (0 == p.rank && 0 == r) {
            copy(all, counts[0], type, out, counts[0], type);
        } else if (0 == p.rank) {
            MPI_Send((char *) all + at * extent, counts[r], type, r, TAG_RESULT, comm);
        } else if (p.rank == r) {
            MPI_Recv(out, counts[r], type, 0, TAG_RESULT, comm, MPI_STATUS_IGNORE);
        }
        at += counts[r];
    }
    free(base);
}

void ref_reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm)
{
    struct place p = place_in(comm);
    int *counts = malloc((size_t) p.size * sizeof *counts);

    for (int r = 0; r < p.size; r++) {
        counts[r] = count;
    }
    ref_reduce_scatter(in, out, counts, type, op, comm);
    free(counts);
}

void ref_allgatherv(const void *in, int in_count, MPI_Datatype in_type, void *out,
                    const int *counts, const int *displs, MPI_Datatype type, MPI_Comm comm)
{
    struct place p = place_in(comm);
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    if (MPI_IN_PLACE != in) {
        copy(in, in_count, in_type, (char *) out + displs[p.rank] * extent, counts[p.rank], type);
    }
    for (int r = 0; r < p.size; r++) {
        ref_bcast((char *) out + displs[r] * extent, counts[r], type, r, comm);
    }
}

void ref_allgather(const void *in, int in_count, MPI_Datatype in_type, void *out, int count,
                   MPI_Datatype type, MPI_Comm comm)
{
    struct place p = place_in(comm);
    int *counts = malloc(2 * (size_t) p.size * sizeof *counts);
    int *displs = counts + p.size;

    for (int r = 0; r < p.size; r++) {
        counts[r] = count;
        displs[r] = r * count;
    }
    ref_allgatherv(in, in_count, in_type, out, counts, displs, type, comm);
    free(counts);
}

/* Round by round, each with the rank of the same number further on. In place: from a copy. */
void ref_alltoall(const void *in, int in_count, MPI_Datatype in_type, void *out, int count,
                  MPI_Datatype type, MPI_Comm comm)
{
    struct place p = place_in(comm);
    MPI_Aint lb, in_extent, extent;
    void *base = NULL;

    if (MPI_IN_PLACE == in) {
        void *held = elements_alloc(count * p.size, type, &base);

        copy(out, count * p.size, type, held, count * p.size, type);
        in = held;
        in_count = count;
        in_type = type;
    }
    MPI_Type_get_extent(in_type, &lb, &in_extent);
    MPI_Type_get_extent(type, &lb, &extent);
    for (int k = 0; k < p.size; k++) {
        int to = (p.rank + k) % p.size, from = (p.rank - k + p.size) % p.size;

        MPI_Sendrecv((const char *) in + to * in_count * in_extent, in_count, in_type, to, TAG_DATA,
                     (char *) out + from * count * extent, count, type, from, TAG_DATA, comm,
                     MPI_STATUS_IGNORE);
    }
    free(base);
}
