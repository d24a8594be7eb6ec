/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffers of a case: the elements that each collective reads and writes, and their comparison
 * (matrix_case.h).
 */
#include "matrix_case.h"

#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "guard.h"
#include "rng.h"
#include "tap.h"

const struct coll_info coll_infos[NUM_COLLS] = {
    [COLL_ALLREDUCE] = {"allreduce", true, false, false, true},
    [COLL_ALLGATHER] = {"allgather", false, true, false, true},
    [COLL_ALLGATHERV] = {"allgatherv", false, true, false, true},
    [COLL_REDUCE_SCATTER] = {"reduce_scatter", true, true, false, true},
    [COLL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", true, true, false, true},
    [COLL_BCAST] = {"bcast", false, false, true, false},
    [COLL_REDUCE] = {"reduce", true, false, true, true},
    [COLL_ALLTOALL] = {"alltoall", false, true, false, true},
};

/* All counts and places in elements. */
struct job {
    const struct matrix_case *c;
    const struct dtype *t;
    MPI_Op op;
    int rank, size, root;
    int count; /* of the vector, or of one block */
    int *counts, *displs;
    int in_elements;
    int out_elements; /* the room at the output */
    int compared;     /* leading elements of the output that are defined */
    int in_place_at;  /* where the input lies in the output of an in-place call */
    bool in_place;    /* this rank passes MPI_IN_PLACE */
};

/* Shares out total elements in one of four ways, zero blocks among them. */
static void share_out(struct job *j, int total, uint64_t *state)
{
    int way = rng_below(state, 4), left = total;

    for (int r = 0; r < j->size; r++) {
        int even = total / j->size;

        switch (way) {
        case 0:
            j->counts[r] = even;
            break;
        case 1:
            j->counts[r] = rng_below(state, left + 1);
            break;
        case 2:
            j->counts[r] = 0;
            break;
        default:
            j->counts[r] = r % 2 ? 0 : even;
            break;
        }
        left -= j->counts[r];
    }
    j->counts[rng_below(state, j->size)] += left;
}

/* Blocks in another order than the ranks, with gaps. Returns the room that they take. */
static int place_blocks(struct job *j, uint64_t *state)
{
    int first = rng_below(state, j->size), backwards = rng_below(state, 2), at = 0;

    for (int i = 0; i < j->size; i++) {
        int r = (first + (backwards ? j->size - i : i)) % j->size;

        at += rng_below(state, 3);
        j->displs[r] = at;
        at += j->counts[r];
    }
    return at + rng_below(state, 3);
}

static int vector_elements(const struct job *j)
{
    const struct size_level *s = &j->c->size;

    if (!s->is_bytes) {
        return (int) s->value * (coll_infos[j->c->coll].blocks ? j->size : 1);
    }
    return (int) (s->value / j->t->extent) + s->delta;
}

/* Fills in everything that says what lies where. */
static void plan(struct job *j)
{
    uint64_t state = rng_key(j->c->key, 1, 0);
    int total = vector_elements(j), room;

    j->count = coll_infos[j->c->coll].blocks ? (total + j->size - 1) / j->size : total;
    share_out(j, total, &state);
    room = place_blocks(j, &state);
    j->in_elements = j->out_elements = j->count;
    j->in_place_at = 0;
    switch (j->c->coll) {
    case COLL_ALLGATHER:
        j->out_elements = j->count * j->size;
        j->in_place_at = j->count * j->rank;
        break;
    case COLL_ALLGATHERV:
        j->in_elements = j->counts[j->rank];
        j->out_elements = room;
        j->in_place_at = j->displs[j->rank];
        break;
    case COLL_REDUCE_SCATTER:
        j->in_elements = total;
        j->out_elements = j->counts[j->rank];
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        j->in_elements = j->count * j->size;
        break;
    case COLL_BCAST:
        j->in_elements = 0;
        break;
    case COLL_ALLTOALL:
        j->in_elements = j->out_elements = j->count * j->size;
        break;
    default:
        break;
    }
    j->compared = j->out_elements;
    if (j->in_place && j->in_elements > j->out_elements) {
        j->out_elements = j->in_elements;
    }
}

static void invoke(const struct job *j, const void *in, void *out)
{
    MPI_Datatype t = j->t->type;
    MPI_Comm comm = j->c->comm->comm;

    switch (j->c->coll) {
    case COLL_ALLREDUCE:
        MPI_Allreduce(in, out, j->count, t, j->op, comm);
        break;
    case COLL_ALLGATHER:
        MPI_Allgather(in, j->count, t, out, j->count, t, comm);
        break;
    case COLL_ALLGATHERV:
        MPI_Allgatherv(in, j->in_elements, t, out, j->counts, j->displs, t, comm);
        break;
    case COLL_REDUCE_SCATTER:
        MPI_Reduce_scatter(in, out, j->counts, t, j->op, comm);
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block(in, out, j->count, t, j->op, comm);
        break;
    case COLL_BCAST:
        MPI_Bcast(out, j->count, t, j->root, comm);
        break;
    case COLL_REDUCE:
        MPI_Reduce(in, out, j->count, t, j->op, j->root, comm);
        break;
    case COLL_ALLTOALL:
        MPI_Alltoall(in, j->count, t, out, j->count, t, comm);
        break;
    default:
        abort();
    }
}

/* ---- what should come out ---- */

static size_t bytes_of(const struct job *j, int elements)
{
    return (size_t) elements * (size_t) j->t->extent;
}

/*
 * Elements [first, first + n) of what a rank puts in. Where each rank gets one block of it, blocks
 * are drawn one by one, so that a rank need not draw those of others; first and n are whole blocks.
 */
static void fill_input(const struct job *j, int rank, int first, int n, char *at)
{
    bool blocks = COLL_ALLTOALL == j->c->coll || COLL_REDUCE_SCATTER_BLOCK == j->c->coll;
    int each = blocks ? j->count : n;

    for (int i = 0; i < n; i += each) {
        uint64_t block = blocks ? 4 + (uint64_t) ((first + i) / each) : 2;

        dtype_fill(j->t, j->c->op, at + bytes_of(j, i), (size_t) each,
                   rng_key(j->c->key, block, (uint64_t) rank));
    }
}

/* The blocks of all ranks, or this rank's of each. */
static void expect_blocks(const struct job *j, char *out)
{
    const bool v = COLL_ALLGATHERV == j->c->coll, all = COLL_ALLTOALL == j->c->coll;

    for (int r = 0; r < j->size; r++) {
        const int n = v ? j->counts[r] : j->count;

        fill_input(j, r, all ? j->rank * n : 0, n, out + bytes_of(j, v ? j->displs[r] : r * n));
    }
}

/* This rank's part of ((x0 op x1) op x2) ...: MPI_Reduce_local's first argument is the left one. */
static void expect_reduced(const struct job *j, char *out)
{
    const bool block = COLL_REDUCE_SCATTER_BLOCK == j->c->coll;
    const int first = block ? j->rank * j->count : 0, n = block ? j->count : j->in_elements;
    char *sum = malloc(bytes_of(j, n) + 1), *in = malloc(bytes_of(j, n) + 1), *swapped;
    int start = 0;

    fill_input(j, 0, first, n, sum);
    for (int r = 1; r < j->size && n > 0; r++) {
        fill_input(j, r, first, n, in);
        MPI_Reduce_local(sum, in, n, j->t->type, j->op);
        swapped = sum;
        sum = in;
        in = swapped;
    }
    for (int r = 0; r < j->rank && COLL_REDUCE_SCATTER == j->c->coll; r++) {
        start += j->counts[r];
    }
    memcpy(out, sum + bytes_of(j, start), bytes_of(j, j->compared));
    free(sum);
    free(in);
}

static void expect(const struct job *j, char *out)
{
    if (COLL_BCAST == j->c->coll) {
        dtype_fill(j->t, j->c->op, out, (size_t) j->count, rng_key(j->c->key, 3, 0));
    } else if (!coll_infos[j->c->coll].reduces) {
        expect_blocks(j, out);
    } else if (COLL_REDUCE != j->c->coll || j->rank == j->root) {
        expect_reduced(j, out);
    }
}

static void report(const struct job *j, const char *what, long at)
{
    const struct matrix_case *c = j->c;

    tap_fault("%s: %s %s %s, count %d, size level %ld%s%+d, root %d, in-place %d, comm %s, rank %d "
              "of %d, key 0x%llx, element %ld",
              what, coll_infos[c->coll].name, j->t->name, dtype_ops[c->op].name, j->count,
              c->size.value, c->size.is_bytes ? " bytes" : "", c->size.delta, j->root, c->in_place,
              c->comm->name, j->rank, j->size, (unsigned long long) c->key, at);
}

static bool compare(const struct job *j, const struct guarded *in, const struct guarded *in_before,
                    const struct guarded *out, const struct guarded *expected)
{
    long at = dtype_differs(j->t, out->data, expected->data, (size_t) j->compared);

    if (at >= 0) {
        report(j, "wrong output", at);
    } else if (!guarded_intact(out)) {
        report(j, "written beside the output", -1);
    } else if (!guarded_intact(in) || 0 != memcmp(in->data, in_before->data, in->bytes)) {
        report(j, "written to the input", -1);
    } else {
        return true;
    }
    return false;
}

static bool run(struct job *j)
{
    const struct matrix_case *c = j->c;
    size_t extent = (size_t) j->t->extent, shift = rng_mix(c->key) % 3 * extent;
    struct guarded in = guarded_alloc((size_t) j->in_elements * extent, shift);
    struct guarded out = guarded_alloc((size_t) j->out_elements * extent, shift);
    struct guarded in_before, expected;
    char *send, *recv;
    bool ok;

    fill_input(j, j->rank, 0, j->in_elements, in.data);
    if (COLL_BCAST == c->coll && j->rank == j->root) {
        dtype_fill(j->t, c->op, out.data, (size_t) j->count, rng_key(c->key, 3, 0));
    }
    if (j->in_place) {
        memcpy(out.data + (size_t) j->in_place_at * extent, in.data, in.bytes);
    }
    in_before = guarded_copy(&in);
    expected = guarded_copy(&out);
    send = guarded_lend(&in);
    recv = guarded_lend(&out);
    guarded_put(&in);
    guarded_put(&out);
    invoke(j, j->in_place ? MPI_IN_PLACE : send, recv);
    guarded_get(&in);
    guarded_get(&out);
    expect(j, expected.data);
    ok = compare(j, &in, &in_before, &out, &expected);
    guarded_free(&in);
    guarded_free(&out);
    guarded_free(&in_before);
    guarded_free(&expected);
    return ok;
}

bool matrix_case_run(const struct matrix_case *c)
{
    struct job j = {.c = c, .t = &dtypes[c->type], .op = dtype_ops[c->op].op};
    bool ok;

    MPI_Comm_rank(c->comm->comm, &j.rank);
    MPI_Comm_size(c->comm->comm, &j.size);
    j.root = ROOT_FIRST == c->root ? 0 : ROOT_LAST == c->root ? j.size - 1 : j.size / 2;
    j.in_place =
        c->in_place && coll_infos[c->coll].in_place && (COLL_REDUCE != c->coll || j.rank == j.root);
    j.counts = malloc(2 * (size_t) j.size * sizeof *j.counts);
    j.displs = j.counts + j.size;
    plan(&j);
    ok = run(&j);
    free(j.counts);
    return ok;
}
