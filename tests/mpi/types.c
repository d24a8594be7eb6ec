/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived datatypes in Bcast, Allgather and Allgatherv: with gaps, shifted, resized, of zero size,
 * and laid out differently from rank to rank with one signature. Every row has two layouts of its
 * signature, a sparse and a dense one; the whole output, gaps and guard zones included, is compared
 * with what the reference leaves there.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "refcoll.h"
#include "rng.h"
#include "tap.h"

struct layouts {
    MPI_Datatype sparse, dense;
};

static struct layouts of_ints(MPI_Datatype sparse, int ints)
{
    struct layouts l = {sparse, MPI_DATATYPE_NULL};

    MPI_Type_contiguous(ints, MPI_INT, &l.dense);
    return l;
}

static MPI_Datatype resized(MPI_Datatype t, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype r;

    MPI_Type_create_resized(t, lb, extent, &r);
    MPI_Type_free(&t);
    return r;
}

static MPI_Datatype vector_of_ints(void)
{
    MPI_Datatype t;

    MPI_Type_vector(3, 2, 5, MPI_INT, &t);
    return t;
}

static struct layouts make_vector(void)
{
    return of_ints(vector_of_ints(), 6);
}

static struct layouts make_resized(void)
{
    return of_ints(resized(vector_of_ints(), 0, 80), 6);
}

/* Elements that interleave: the next one begins inside the gaps of this one. */
static struct layouts make_interleaved(void)
{
    MPI_Datatype t;

    MPI_Type_vector(4, 1, 4, MPI_INT, &t);
    return of_ints(resized(t, 0, 64), 4);
}

static struct layouts make_negative_lb(void)
{
    MPI_Datatype t;

    MPI_Type_indexed(3, (int[]) {1, 2, 1}, (int[]) {-7, -2, 3}, MPI_INT, &t);
    return of_ints(t, 4);
}

static struct layouts make_true_lb(void)
{
    MPI_Datatype t;

    MPI_Type_indexed(2, (int[]) {2, 1}, (int[]) {3, 7}, MPI_INT, &t);
    return of_ints(resized(t, -8, 64), 3);
}

/* The data run backwards in memory. */
static struct layouts make_backwards(void)
{
    MPI_Datatype t;

    MPI_Type_create_indexed_block(5, 1, (int[]) {4, 3, 2, 1, 0}, MPI_INT, &t);
    return of_ints(t, 5);
}

static struct layouts make_struct(void)
{
    const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    const int lengths[] = {3, 2, 1};
    const MPI_Aint wide[] = {1, 16, 40}, tight[] = {0, 3, 19};
    struct layouts l;

    MPI_Type_create_struct(3, lengths, wide, types, &l.sparse);
    MPI_Type_create_struct(3, lengths, tight, types, &l.dense);
    l.sparse = resized(l.sparse, 0, 48);
    l.dense = resized(l.dense, 0, 21);
    return l;
}

static struct layouts make_subarray(void)
{
    MPI_Datatype t;

    MPI_Type_create_subarray(3, (int[]) {4, 5, 6}, (int[]) {2, 3, 4}, (int[]) {1, 1, 2},
                             MPI_ORDER_C, MPI_INT, &t);
    return of_ints(t, 24);
}

static struct layouts make_contiguous(void)
{
    MPI_Datatype t;

    MPI_Type_contiguous(7, MPI_INT, &t);
    return of_ints(t, 7);
}

/* One run of data that does not begin at the buffer's address. */
static struct layouts make_shifted(void)
{
    MPI_Datatype t;

    MPI_Type_create_hindexed(1, (int[]) {4}, (MPI_Aint[]) {12}, MPI_INT, &t);
    return of_ints(t, 4);
}

static struct layouts make_shifted_back(void)
{
    MPI_Datatype t;

    MPI_Type_create_hindexed(1, (int[]) {4}, (MPI_Aint[]) {-20}, MPI_INT, &t);
    return of_ints(resized(t, 0, 16), 4);
}

/* One run of data in an element, but gaps between elements. */
static struct layouts make_padded(void)
{
    MPI_Datatype t;

    MPI_Type_contiguous(4, MPI_INT, &t);
    return of_ints(resized(t, 0, 24), 4);
}

static struct layouts make_large_extent(void)
{
    return of_ints(resized(vector_of_ints(), 0, 1 << 18), 6);
}

static struct layouts make_zero_size(void)
{
    struct layouts l;

    MPI_Type_contiguous(0, MPI_INT, &l.dense);
    MPI_Type_contiguous(0, MPI_INT, &l.sparse);
    l.sparse = resized(l.sparse, 0, 16);
    return l;
}

static const struct row {
    const char *name;
    struct layouts (*make)(void);
    int max_count; /* bounds the memory */
} rows[] = {
    {"vector", make_vector, 5000},
    {"resized vector", make_resized, 5000},
    {"interleaved", make_interleaved, 5000},
    {"negative lower bound", make_negative_lb, 5000},
    {"true lower bound", make_true_lb, 5000},
    {"backwards", make_backwards, 5000},
    {"struct", make_struct, 5000},
    {"subarray", make_subarray, 500},
    {"contiguous", make_contiguous, 5000},
    {"shifted", make_shifted, 5000},
    {"shifted back", make_shifted_back, 5000},
    {"padded", make_padded, 5000},
    {"large extent", make_large_extent, 3},
    {"zero size", make_zero_size, 100},
};

/* Which layout a rank uses to send and to receive. */
static const struct mode {
    const char *name;
    bool sends_sparse[2], receives_sparse[2]; /* [0]: rank 0 and the root, [1]: the others */
} modes[] = {
    {"all sparse", {true, true}, {true, true}},
    {"dense to sparse", {false, false}, {true, true}},
    {"sparse to dense", {true, true}, {false, false}},
    {"first dense", {false, true}, {false, true}},
    {"first sparse", {true, false}, {true, false}},
};

enum { BCAST, ALLGATHER, ALLGATHERV, ALLGATHER_IN_PLACE, ALLGATHERV_IN_PLACE, NUM_CALLS };

struct call {
    int which, count, root;
    int *counts, *displs; /* in elements of the layout: the same numbers on all ranks */
    MPI_Datatype send, recv;
    MPI_Comm comm, ref;
};

/* A guarded buffer for count elements, and where MPI wants it to begin. */
static struct guarded elements(int count, MPI_Datatype type, char **at)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    struct guarded g;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    g = guarded_alloc(count > 0 ? (size_t) (true_extent + (count - 1) * extent) : 0, 0);
    *at = g.data - (count > 0 ? true_lb : 0);
    return g;
}

static void scribble(struct guarded *g, uint64_t key)
{
    for (size_t i = 0; i < g->bytes; i++) {
        g->data[i] = (char) rng_next(&key);
    }
}

static void invoke(const struct call *c, const void *in, void *out, bool reference)
{
    int mine = c->counts[test_rank];
    const void *from = c->which >= ALLGATHER_IN_PLACE ? MPI_IN_PLACE : in;

    switch (c->which) {
    case BCAST:
        if (reference) {
            ref_bcast(out, c->count, c->recv, c->root, c->ref);
        } else {
            MPI_Bcast(out, c->count, c->recv, c->root, c->comm);
        }
        break;
    case ALLGATHER:
    case ALLGATHER_IN_PLACE:
        if (reference) {
            ref_allgather(from, c->count, c->send, out, c->count, c->recv, c->ref);
        } else {
            MPI_Allgather(from, c->count, c->send, out, c->count, c->recv, c->comm);
        }
        break;
    default:
        if (reference) {
            ref_allgatherv(from, mine, c->send, out, c->counts, c->displs, c->recv, c->ref);
        } else {
            MPI_Allgatherv(from, mine, c->send, out, c->counts, c->displs, c->recv, c->comm);
        }
    }
}

static bool run(const struct call *c, int room, uint64_t key)
{
    char *in_at, *out_at, *expected_at, *send, *recv;
    struct guarded in = elements(c->count + test_size, c->send, &in_at);
    struct guarded out = elements(room, c->recv, &out_at);
    struct guarded expected, before;
    bool ok;

    scribble(&in, rng_key(key, 1, (uint64_t) test_rank));
    scribble(&out, rng_key(key, 2, (uint64_t) test_rank));
    before = guarded_copy(&in);
    expected = guarded_copy(&out);
    expected_at = expected.data + (out_at - out.data);
    send = guarded_lend(&in) + (in_at - in.data);
    recv = guarded_lend(&out) + (out_at - out.data);
    guarded_put(&in);
    guarded_put(&out);
    invoke(c, send, recv, false);
    guarded_get(&in);
    guarded_get(&out);
    invoke(c, in_at, expected_at, true);
    ok = 0 == memcmp(out.data, expected.data, out.bytes) && guarded_intact(&out) &&
         guarded_intact(&in) && 0 == memcmp(in.data, before.data, in.bytes);
    guarded_free(&in);
    guarded_free(&out);
    guarded_free(&before);
    guarded_free(&expected);
    return ok;
}

/* All calls of one row in one mode with one count. */
static bool run_calls(const struct row *row, const struct mode *mode, const struct layouts *l,
                      int count, struct call *c, uint64_t key)
{
    static const char *const names[] = {"bcast", "allgather", "allgatherv", "allgather in place",
                                        "allgatherv in place"};
    bool ok = true;
    int at = 0;

    for (int r = 0; r < test_size; r++) {
        c->displs[r] = at;
        c->counts[r] = count + r % 2;
        at += c->counts[r] + r % 3; /* with gaps */
    }
    c->count = count;
    c->root = (int) (key % (uint64_t) test_size);
    for (c->which = 0; c->which < NUM_CALLS; c->which++) {
        int other = BCAST == c->which ? test_rank != c->root : 0 != test_rank;

        c->send = mode->sends_sparse[other] ? l->sparse : l->dense;
        c->recv = mode->receives_sparse[other] ? l->sparse : l->dense;
        if (!run(c, BCAST == c->which ? count : at + 3, rng_key(key, (uint64_t) c->which, 0))) {
            tap_fault("%s, %s, %s, count %d, root %d", names[c->which], row->name, mode->name,
                      count, c->root);
            ok = false;
        }
    }
    return ok;
}

static void run_row(const struct row *row, struct call *c, uint64_t key)
{
    static const int counts[] = {0, 1, 3, 100, 5000};
    struct layouts l = row->make();

    MPI_Type_commit(&l.sparse);
    MPI_Type_commit(&l.dense);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        bool ok = true;

        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            if (counts[i] <= row->max_count) {
                ok = run_calls(row, &modes[m], &l, counts[i], c, rng_key(key, m, i)) && ok;
            }
        }
        tap_check(ok, "%s, %s", row->name, modes[m].name);
    }
    MPI_Type_free(&l.sparse);
    MPI_Type_free(&l.dense);
}

int main(int argc, char **argv)
{
    struct call c = {0};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &c.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &c.ref);
    c.counts = malloc(2 * (size_t) test_size * sizeof *c.counts);
    c.displs = c.counts + test_size;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        run_row(&rows[r], &c, rng_key(test_seed, 20, r));
    }
    free(c.counts);
    MPI_Comm_free(&c.comm);
    MPI_Comm_free(&c.ref);
    return test_end();
}
