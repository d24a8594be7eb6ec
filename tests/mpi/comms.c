/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators of every origin: each runs the seven collectives, in place and not, against the
 * reference. Intercommunicators, where MPI defines other results, are checked against what the
 * remote ranks sent.
 */
#include <mpi.h>
#include <stdlib.h>

#include "dtypes.h"
#include "matrix_case.h"
#include "rng.h"
#include "tap.h"

static MPI_Comm from_dup(void)
{
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    return c;
}

static MPI_Comm from_idup(void)
{
    MPI_Request request;
    MPI_Comm c;

    MPI_Comm_idup(MPI_COMM_WORLD, &c, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return c;
}

static MPI_Comm from_self(void)
{
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_SELF, &c);
    return c;
}

static MPI_Comm from_split_alone(void)
{
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, test_rank, 0, &c);
    return c;
}

static MPI_Comm from_split_type(void)
{
    MPI_Comm c;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -test_rank, MPI_INFO_NULL, &c);
    return c;
}

/* All ranks but the first, which gets none. */
static MPI_Comm without_first(MPI_Comm of)
{
    MPI_Group all, rest;
    MPI_Comm c = MPI_COMM_NULL;

    MPI_Comm_group(of, &all);
    MPI_Group_excl(all, 1, (int[]) {0}, &rest);
    if (0 != test_rank) {
        MPI_Comm_create_group(of, rest, 7, &c);
    }
    MPI_Group_free(&rest);
    MPI_Group_free(&all);
    return c;
}

static MPI_Comm from_group(void)
{
    return without_first(MPI_COMM_WORLD);
}

static MPI_Comm from_cart(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Comm c;

    MPI_Dims_create(test_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &c);
    return c;
}

static MPI_Comm from_cart_sub(void)
{
    MPI_Comm cart = from_cart(), c;

    MPI_Cart_sub(cart, (int[]) {1, 0}, &c);
    MPI_Comm_free(&cart);
    return c;
}

static MPI_Comm make_graph(MPI_Comm of)
{
    int next = (test_rank + 1) % test_size, before = (test_rank + test_size - 1) % test_size,
        weight = 1;
    MPI_Comm c;

    MPI_Dist_graph_create_adjacent(of, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL, 0,
                                   &c);
    return c;
}

static MPI_Comm from_graph(void)
{
    return make_graph(MPI_COMM_WORLD);
}

/* In Open MPI 5 it has the marks of both; and what is left of a grid those of the grid. */
static MPI_Comm from_graph_of_cart(void)
{
    MPI_Comm cart = from_cart(), c = make_graph(cart);

    MPI_Comm_free(&cart);
    return c;
}

static MPI_Comm from_part_of_cart(void)
{
    MPI_Comm cart = from_cart(), c = without_first(cart);

    MPI_Comm_free(&cart);
    return c;
}

/* Even ranks on one side, odd ranks on the other; *local is this rank's side. */
static MPI_Comm make_inter(MPI_Comm *local)
{
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, local);
    MPI_Intercomm_create(*local, 0, MPI_COMM_WORLD, 1 - test_rank % 2, 3, &c);
    return c;
}

static MPI_Comm from_merge(void)
{
    MPI_Comm local, inter, c;

    if (test_size < 2) {
        return MPI_COMM_NULL;
    }
    inter = make_inter(&local);
    MPI_Intercomm_merge(inter, 1 - test_rank % 2, &c);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return c;
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static MPI_Session session = MPI_SESSION_NULL;

static MPI_Comm from_session(void)
{
    MPI_Group group;
    MPI_Comm c;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "comms", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
    MPI_Group_free(&group);
    return c;
}
#endif

static const struct {
    const char *name;
    MPI_Comm (*make)(void);
} origins[] = {
    {"dup", from_dup},
    {"idup", from_idup},
    {"dup of self", from_self},
    {"split alone", from_split_alone},
    {"split_type, reversed", from_split_type},
    {"create_group", from_group},
    {"cart", from_cart},
    {"cart_sub", from_cart_sub},
    {"graph", from_graph},
    {"merged", from_merge},
    {"graph of a grid", from_graph_of_cart},
    {"part of a grid", from_part_of_cart},
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    {"a session", from_session},
#endif
};

static int find_type(MPI_Datatype type)
{
    int t = 0;

    while (dtypes[t].type != type) {
        t++;
    }
    return t;
}

static bool run_all(struct matrix_comm *m, uint64_t key)
{
    static const long lengths[] = {0, 1, 33, 5000};
    bool ok = true;

    for (int coll = 0; coll < NUM_COLLS; coll++) {
        for (int i = 0; i < 8; i++) {
            struct matrix_case c = {
                .coll = (enum coll) coll,
                .type = find_type(i % 2 ? MPI_DOUBLE : MPI_SHORT),
                .op = coll_infos[coll].reduces ? DTYPE_OP_SUM : 0,
                .size = {false, lengths[i / 2], 0},
                .root = (enum root_level)(i % NUM_ROOTS),
                .comm = m,
                .key = rng_key(key, (uint64_t) coll, (uint64_t) i),
            };

            ok = matrix_case_run(&c) && ok;
            c.in_place = true;
            ok = matrix_case_run(&c) && ok;
        }
    }
    return ok;
}

static void test_origins(void)
{
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        struct matrix_comm m = {origins[i].name, origins[i].make(), MPI_COMM_NULL};
        bool ok = true;

        if (MPI_COMM_NULL != m.comm) {
            MPI_Comm_dup(m.comm, &m.ref);
            ok = run_all(&m, rng_key(test_seed, 40, i));
            MPI_Comm_free(&m.ref);
            MPI_Comm_free(&m.comm);
        }
        tap_check(ok, "all seven on: %s", origins[i].name);
    }
}

struct inter {
    MPI_Comm comm;
    int rank, size, remote; /* here, and the size of the other side */
    int count;
    int *in, *out;
};

/* What rank r of side s has at element i. */
static int value(int s, int r, int i)
{
    return 1000003 * s + 101 * r + i;
}

static int side(void)
{
    return test_rank % 2;
}

static bool inter_allreduce(struct inter *x)
{
    bool ok = true;

    MPI_Allreduce(x->in, x->out, x->count, MPI_INT, MPI_SUM, x->comm);
    for (int i = 0; i < x->count; i++) {
        int sum = 0;

        for (int r = 0; r < x->remote; r++) {
            sum += value(1 - side(), r, i);
        }
        ok = ok && sum == x->out[i];
    }
    return ok;
}

static bool is_remote_blocks(const struct inter *x)
{
    bool ok = true;

    for (int k = 0; k < x->remote * x->count; k++) {
        ok = ok && value(1 - side(), k / x->count, k % x->count) == x->out[k];
    }
    return ok;
}

static bool inter_allgather(struct inter *x)
{
    MPI_Allgather(x->in, x->count, MPI_INT, x->out, x->count, MPI_INT, x->comm);
    return is_remote_blocks(x);
}

static bool inter_allgatherv(struct inter *x)
{
    int *counts = malloc(2 * (size_t) x->remote * sizeof *counts), *displs = counts + x->remote;

    for (int r = 0; r < x->remote; r++) {
        counts[r] = x->count;
        displs[r] = r * x->count;
    }
    MPI_Allgatherv(x->in, x->count, MPI_INT, x->out, counts, displs, MPI_INT, x->comm);
    free(counts);
    return is_remote_blocks(x);
}

/* From the last rank of the even side to all of the odd side. */
static bool inter_bcast(struct inter *x)
{
    int last = (side() ? x->remote : x->size) - 1;
    bool ok = true;

    if (0 == side()) {
        MPI_Bcast(x->in, x->count, MPI_INT, x->rank == last ? MPI_ROOT : MPI_PROC_NULL, x->comm);
        return true;
    }
    MPI_Bcast(x->out, x->count, MPI_INT, last, x->comm);
    for (int i = 0; i < x->count; i++) {
        ok = ok && value(0, last, i) == x->out[i];
    }
    return ok;
}

/* The odd side's sum at rank 0 of the even side. */
static bool inter_reduce(struct inter *x)
{
    bool ok = true;

    if (1 == side()) {
        MPI_Reduce(x->in, x->out, x->count, MPI_INT, MPI_SUM, 0, x->comm);
        return true;
    }
    MPI_Reduce(x->in, x->out, x->count, MPI_INT, MPI_SUM, 0 == x->rank ? MPI_ROOT : MPI_PROC_NULL,
               x->comm);
    for (int i = 0; i < x->count && 0 == x->rank; i++) {
        int sum = 0;

        for (int r = 0; r < x->remote; r++) {
            sum += value(1, r, i);
        }
        ok = ok && sum == x->out[i];
    }
    return ok;
}

static const struct {
    const char *name;
    bool (*run)(struct inter *x);
} inter_calls[] = {
    {"allreduce", inter_allreduce},   {"allgather", inter_allgather},
    {"allgatherv", inter_allgatherv}, {"bcast", inter_bcast},
    {"reduce", inter_reduce},
};

static void test_inter(void)
{
    static const int counts[] = {1, 1000, 50000};
    struct inter x = {0};
    MPI_Comm local = MPI_COMM_NULL;

    if (test_size >= 2) {
        x.comm = make_inter(&local);
        MPI_Comm_rank(local, &x.rank);
        MPI_Comm_size(local, &x.size);
        MPI_Comm_remote_size(x.comm, &x.remote);
    }
    for (size_t k = 0; k < sizeof inter_calls / sizeof inter_calls[0]; k++) {
        bool ok = true;

        if (test_size < 2) {
            tap_skip("needs 2 ranks", "intercommunicator: %s", inter_calls[k].name);
            continue;
        }
        for (size_t i = 0; i < 3; i++) {
            x.count = counts[i];
            x.in = malloc((size_t) x.count * sizeof *x.in);
            x.out = calloc((size_t) (x.count * x.remote), sizeof *x.out);
            for (int e = 0; e < x.count; e++) {
                x.in[e] = value(side(), x.rank, e);
            }
            ok = inter_calls[k].run(&x) && ok;
            free(x.in);
            free(x.out);
        }
        tap_check(ok, "intercommunicator: %s", inter_calls[k].name);
    }
    if (test_size >= 2) {
        MPI_Comm_free(&x.comm);
        MPI_Comm_free(&local);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    dtypes_init();
    test_origins();
    test_inter();
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    MPI_Session_finalize(&session);
#endif
    return test_end();
}
