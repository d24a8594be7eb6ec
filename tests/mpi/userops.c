/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User-defined operations, commutative and not, on predefined and derived types, in the four
 * collectives that reduce. All are associative, so the result is the one of rank order, whatever
 * the brackets.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "kinds.h"
#include "refcoll.h"
#include "rng.h"
#include "tap.h"

/* A 2 x 2 matrix of integers modulo 2^32, with gaps: a derived type. */
struct matrix {
    uint32_t pad0;
    uint32_t x[2];
    uint32_t pad1;
    uint32_t y[2];
    uint32_t pad2[2];
};

static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const struct matrix *a = in;
    struct matrix *b = inout;

    (void) type;
    for (int i = 0; i < *len; i++) {
        struct matrix p = b[i];

        for (int k = 0; k < 2; k++) {
            p.x[k] = a[i].x[0] * b[i].x[k] + a[i].x[1] * b[i].y[k];
            p.y[k] = a[i].y[0] * b[i].x[k] + a[i].y[1] * b[i].y[k];
        }
        b[i] = p;
    }
}

static MPI_Datatype predefined_32(void)
{
    return MPI_UINT32_T;
}

static MPI_Datatype predefined_64(void)
{
    return MPI_UINT64_T;
}

static MPI_Datatype contiguous_32(void)
{
    MPI_Datatype t;

    MPI_Type_contiguous(1, MPI_UINT32_T, &t);
    MPI_Type_commit(&t);
    return t;
}

static MPI_Datatype sparse_matrix(void)
{
    MPI_Datatype t, r;

    MPI_Type_create_indexed_block(2, 2, (int[]) {1, 4}, MPI_UINT32_T, &t);
    MPI_Type_create_resized(t, 0, sizeof(struct matrix), &r);
    MPI_Type_commit(&r);
    MPI_Type_free(&t);
    return r;
}

static const struct row {
    const char *name;
    MPI_User_function *function;
    int commutes;
    MPI_Datatype (*type)(void);
    bool derived; /* the type is to be freed */
    bool gaps;    /* elements are a struct matrix */
} rows[] = {
    {"commutative on a predefined type", kind_add_modulo, 1, predefined_32, false, false},
    {"commutative, said not to be, on a predefined type", kind_add_modulo, 0, predefined_32, false,
     false},
    {"commutative on a derived type", kind_add_modulo, 1, contiguous_32, true, false},
    {"non-commutative on a predefined type", kind_compose, 0, predefined_64, false, false},
    {"non-commutative on a derived type with gaps", multiply, 0, sparse_matrix, true, true},
};

enum { ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, NUM_CALLS };
static const char *const call_names[] = {"allreduce", "reduce", "reduce_scatter",
                                         "reduce_scatter_block"};

struct call {
    int which, count, root, rank, size;
    int *counts;
    bool in_place, gaps;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm, ref;
};

static void invoke(const struct call *c, const void *in, void *out, bool reference)
{
    MPI_Comm comm = reference ? c->ref : c->comm;

#define EITHER(mpi, ref, ...) (void) (reference ? (ref(__VA_ARGS__), 0) : mpi(__VA_ARGS__))
    switch (c->which) {
    case ALLREDUCE:
        EITHER(MPI_Allreduce, ref_allreduce, in, out, c->count, c->type, c->op, comm);
        break;
    case REDUCE:
        EITHER(MPI_Reduce, ref_reduce, in, out, c->count, c->type, c->op, c->root, comm);
        break;
    case REDUCE_SCATTER:
        EITHER(MPI_Reduce_scatter, ref_reduce_scatter, in, out, c->counts, c->type, c->op, comm);
        break;
    default:
        EITHER(MPI_Reduce_scatter_block, ref_reduce_scatter_block, in, out, c->count, c->type,
               c->op, comm);
    }
#undef EITHER
}

static bool same_elements(const struct call *c, const char *a, const char *b, int count)
{
    const struct matrix *x = (const void *) a, *y = (const void *) b;
    bool same = true;
    int size;

    if (!c->gaps) {
        MPI_Type_size(c->type, &size);
        return 0 == memcmp(a, b, (size_t) count * (size_t) size);
    }
    /* what a user's function leaves in the gaps is its own affair */
    for (int i = 0; i < count; i++) {
        same = same && 0 == memcmp(x[i].x, y[i].x, sizeof x[i].x) &&
               0 == memcmp(x[i].y, y[i].y, sizeof x[i].y);
    }
    return same;
}

static bool run(const struct call *c, uint64_t key)
{
    MPI_Aint lb, extent;
    int in_count = c->count, out_count = c->count;
    struct guarded in, out, before, expected;
    bool ok;

    MPI_Type_get_extent(c->type, &lb, &extent);
    if (REDUCE_SCATTER == c->which || REDUCE_SCATTER_BLOCK == c->which) {
        in_count = c->size * (c->count + 1);
        out_count = REDUCE_SCATTER == c->which ? c->counts[c->rank] : c->count;
    }
    in = guarded_alloc((size_t) (in_count * extent), 0);
    for (size_t i = 0; i < in.bytes; i++) {
        in.data[i] = (char) rng_next(&key);
    }
    /* In place: the output is as large as the input, and only its front is defined afterwards. */
    out = c->in_place ? guarded_copy(&in) : guarded_alloc((size_t) (out_count * extent), 0);
    before = guarded_copy(&in);
    expected = guarded_copy(&out);
    invoke(c, c->in_place ? MPI_IN_PLACE : in.data, out.data, false);
    invoke(c, c->in_place ? MPI_IN_PLACE : in.data, expected.data, true);
    ok = guarded_intact(&out) && guarded_intact(&in) && 0 == memcmp(in.data, before.data, in.bytes);
    ok = ok && same_elements(c, out.data, expected.data, out_count);
    guarded_free(&in);
    guarded_free(&out);
    guarded_free(&before);
    guarded_free(&expected);
    return ok;
}

static bool run_counts(struct call *c, const char *name, uint64_t key)
{
    static const int counts[] = {0, 1, 7, 1000, 30000};
    bool ok = true;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int r = 0; r < c->size; r++) {
            c->counts[r] = counts[i] + r % 2;
        }
        c->count = counts[i];
        c->root = (c->size - 1) * (int) (i % 2);
        for (int in_place = 0; in_place < 2; in_place++) {
            c->in_place = in_place && (REDUCE != c->which || c->rank == c->root);
            if (!run(c, rng_key(key, i, (uint64_t) c->rank))) {
                tap_fault("%s, %s, count %d, in-place %d, root %d", call_names[c->which], name,
                          c->count, in_place, c->root);
                ok = false;
            }
        }
    }
    return ok;
}

static void run_comm(MPI_Comm comm, const char *name)
{
    struct call c = {.comm = comm};

    MPI_Comm_dup(comm, &c.ref);
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.size);
    c.counts = malloc((size_t) c.size * sizeof *c.counts);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        c.type = rows[r].type();
        c.gaps = rows[r].gaps;
        MPI_Op_create(rows[r].function, rows[r].commutes, &c.op);
        for (c.which = 0; c.which < NUM_CALLS; c.which++) {
            tap_check(run_counts(&c, rows[r].name, rng_key(test_seed, 30 + r, (uint64_t) c.which)),
                      "%s, %s, %s", rows[r].name, call_names[c.which], name);
        }
        MPI_Op_free(&c.op);
        if (rows[r].derived) {
            MPI_Type_free(&c.type);
        }
    }
    free(c.counts);
    MPI_Comm_free(&c.ref);
}

int main(int argc, char **argv)
{
    MPI_Comm reversed;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    run_comm(MPI_COMM_WORLD, "world");
    run_comm(reversed, "reversed");
    MPI_Comm_free(&reversed);
    return test_end();
}
