/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives inside attribute callbacks: of MPI_Comm_dup, MPI_Comm_free, MPI_Comm_delete_attr,
 * MPI_Type_free, and in MPI_Finalize, which deletes the attributes of MPI_COMM_SELF first. A
 * callback calls on the communicator that is being copied or freed, on MPI_COMM_WORLD, and on one
 * that it makes.
 *
 * What a callback in MPI_Finalize finds wrong it says by MPI_Abort. Without gpuring, Open MPI 4.1.4
 * hangs in the row of MPI_Type_free.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */
static bool right;           /* all calls in callbacks */
static int times;            /* callbacks that were called */

/* Each of the eight, a barrier and nonblocking ones, by ranks that are late by chance. */
static bool call_all(MPI_Comm comm)
{
    static const int counts[] = {1, 500, 60000};
    bool ok = true;

    for (int coll = 0; coll < NUM_COLLS; coll++) {
        quick_delay(&mine, 300);
        ok = quick_call(comm, (enum coll) coll, counts[rng_below(&calls, 3)], rng_next(&calls)) &&
             ok;
    }
    for (int other = 0; other < NUM_OTHERS; other++) {
        ok =
            quick_other(comm, (enum other) other, counts[rng_below(&calls, 3)], rng_next(&calls)) &&
            ok;
    }
    return ok;
}

static bool call_everywhere(MPI_Comm comm)
{
    MPI_Comm made;
    bool ok = call_all(comm) && call_all(MPI_COMM_WORLD);

    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, -test_rank, &made);
    ok = call_all(made) && ok;
    MPI_Comm_free(&made);
    times++;
    return ok;
}

static int on_copy(MPI_Comm comm, int key, void *extra, void *from, void *to, int *flag)
{
    (void) key;
    (void) extra;
    right = call_everywhere(comm) && right;
    *(void **) to = from;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) key;
    (void) value;
    (void) extra;
    right = call_everywhere(comm) && right;
    return MPI_SUCCESS;
}

/* The attribute is a communicator, which only the library that set it knows. */
static int on_delete_inner(MPI_Comm comm, int key, void *value, void *extra)
{
    MPI_Comm *inner = value;

    (void) comm;
    (void) key;
    (void) extra;
    right = call_all(*inner) && right;
    MPI_Comm_free(inner);
    times++;
    return MPI_SUCCESS;
}

static int on_delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void) type;
    (void) key;
    (void) extra;
    right = call_all(*(MPI_Comm *) value) && right;
    times++;
    return MPI_SUCCESS;
}

static void free_outer(void)
{
    MPI_Comm comm, inner;
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete_inner, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(comm, &inner);
    MPI_Comm_set_attr(comm, key, &inner);
    MPI_Comm_free_keyval(&key); /* the attribute stays */
    MPI_Comm_free(&comm);
}

/* The type of a nonblocking call that is under way, so that the callback may come with its end. */
static bool free_type(void)
{
    enum { COUNT = 30000 };
    int *data = malloc(2 * COUNT * sizeof *data), key;
    MPI_Request request;
    MPI_Datatype type;
    MPI_Comm comm;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete_type, &key, NULL);
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, key, &comm);
    for (int i = 0; i < 2 * COUNT; i++) {
        data[i] = i + test_rank;
    }
    quick_delay(&mine, 5000);
    MPI_Ibcast(data, 1, type, 0, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ok = 2 * COUNT - 2 == data[2 * COUNT - 2] && 1 + test_rank == data[1];
    MPI_Type_free_keyval(&key);
    MPI_Comm_free(&comm);
    free(data);
    return ok;
}

/* A nonblocking call is under way meanwhile, on the communicator that is freed. */
static bool free_in_use(int key)
{
    int in = 1, sum = 0;
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &right);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return test_size == sum;
}

static bool in_finalize(void)
{
    int in = 1, sum = 0;
    MPI_Request request;

    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return test_size == sum && call_everywhere(MPI_COMM_WORLD);
}

static int on_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm;
    (void) key;
    (void) value;
    (void) extra;
    if (!in_finalize()) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (0 == test_rank) {
        printf("# right in MPI_Finalize\n");
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, copy;
    int key, last;
    bool ok;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    calls = rng_key(test_seed, 160, 0);
    mine = rng_key(test_seed, 161, (uint64_t) test_rank);
    MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
    right = true;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &right);
    MPI_Comm_dup(comm, &copy);
    tap_check(right && 1 == times, "in a copy callback");
    MPI_Comm_free(&comm);
    tap_check(right && 2 == times, "in the delete callback of a communicator that is freed unused");
    ok = call_all(copy);
    MPI_Comm_free(&copy);
    tap_check(ok && right && 3 == times, "of one that was used");
    ok = free_in_use(key);
    tap_check(ok && right && 4 == times, "of one with a call under way");
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &right);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    tap_check(right && 5 == times, "of an attribute that is deleted");
    free_outer();
    tap_check(right && 6 == times, "on a communicator that is an attribute, and freed");
    ok = free_type();
    tap_check(ok && right && 7 == times, "of a type, with a call of that type under way");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &last, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, NULL);
    return test_end();
}
