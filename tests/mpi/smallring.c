/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Storms of small messages: smallring [ROUNDS]. Calls follow each other with nothing between them,
 * so that fast ranks run ahead of slow ones as far as the component lets them, and must not
 * overwrite what a slow one has not read. Inputs are filled before a storm and results judged after
 * it.
 */
#include <mpi.h>
#include <stdlib.h>

#include "batch.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define STORM 200    /* calls */
#define REQUESTS 6   /* persistent ones that take turns in a storm */
#define LAG_US 50000 /* how long a slow rank sleeps */

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

/* A predefined type and operation, for small messages may have a path of their own. */
static struct form_shape draw_bytes(enum coll coll, int bytes)
{
    struct form_shape s =
        form_draw_kind(&calls, SIZES_TINY, coll, (enum kind_id) rng_below(&calls, KIND_GAPS));

    s.count = bytes / kinds[s.kind].extent;
    return s;
}

static void fill_all(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        form_fill(&b->calls[i], rng_next(&calls));
    }
}

/* A slow rank sleeps a few times in a storm: before this call next; -1 for never. */
static int first_nap(bool slow)
{
    return slow ? 40 + rng_below(&mine, 60) : -1;
}

static void nap(int *next, int call)
{
    if (*next == call) {
        quick_sleep(LAG_US);
        *next += 1 + rng_below(&mine, 100);
    }
}

/* All calls of the batch, which is filled. */
static bool storm(struct batch *b, enum form form, bool slow)
{
    int next = first_nap(slow);
    bool ok;

    for (int i = 0; i < b->n; i++) {
        nap(&next, i);
        form_start(&b->calls[i], form, &b->requests[i]);
    }
    ok = batch_complete(b, &mine);
    return batch_check(b) && ok;
}

/* Few requests, started in turn again and again. */
static bool storm_of_starts(struct batch *b, bool slow)
{
    int next = first_nap(slow);
    bool ok = true;

    for (int i = 0; i < STORM; i++) {
        nap(&next, i);
        batch_start(b, i % b->n, FORM_PERSISTENT, rng_next(&calls));
        MPI_Wait(&b->requests[i % b->n], MPI_STATUS_IGNORE);
        ok = form_check(&b->calls[i % b->n]) && ok;
    }
    return ok;
}

/* ---- one collective again and again ---- */

static bool same_again(enum coll coll, enum form form, int slow_rank, int root)
{
    int n = FORM_PERSISTENT == form ? REQUESTS : STORM;
    struct batch b;
    bool ok;

    batch_open(&b, n);
    for (int i = 0; i < n; i++) {
        struct form_shape shape = draw_bytes(coll, 4 + rng_below(&calls, 253));

        shape.root = root;
        batch_add(&b, MPI_COMM_WORLD, &shape);
    }
    if (FORM_PERSISTENT == form) {
        ok = storm_of_starts(&b, test_rank == slow_rank);
    } else {
        fill_all(&b);
        ok = storm(&b, form, test_rank == slow_rank);
    }
    batch_close(&b, &mine);
    return ok;
}

static void test_same(enum coll coll, int rounds)
{
    bool ok = true;

    for (int i = 0; i < rounds; i++) {
        for (int form = 0; form < forms_here; form++) {
            ok = same_again(coll, (enum form) form, -1, rng_below(&calls, test_size)) && ok;
        }
    }
    tap_check(ok, "%s: %d x %d calls of 4 to 256 bytes", coll_infos[coll].name, rounds * forms_here,
              STORM);
}

/*
 * The slow one is the root, then its neighbour: in a Reduce the others run ahead of the root, in a
 * Bcast the root runs ahead of its reader.
 */
static void test_slow(enum coll coll, int rounds)
{
    bool ok = true;

    for (int i = 0; i < rounds; i++) {
        int root = rng_below(&calls, test_size), slow = (root + i % 2) % test_size;

        for (int form = 0; form < forms_here; form++) {
            ok = same_again(coll, (enum form) form, slow, root) && ok;
        }
    }
    tap_check(ok, "%s with a rank that sleeps %d ms now and then", coll_infos[coll].name,
              LAG_US / 1000);
}

/* ---- all of them in turn ---- */

/* Any collective, root, size and form; on two communicators. */
static void test_alternating(int rounds)
{
    MPI_Comm comms[2] = {MPI_COMM_WORLD};
    bool ok = true;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comms[1]);
    for (int i = 0; i < rounds; i++) {
        struct batch b;

        batch_open(&b, STORM);
        for (int k = 0; k < STORM; k++) {
            enum coll coll = (enum coll) rng_below(&calls, NUM_COLLS);
            struct form_shape shape = draw_bytes(coll, rng_below(&calls, 300));

            batch_add(&b, comms[rng_below(&calls, 2)], &shape);
        }
        fill_all(&b);
        for (int k = 0; k < STORM; k++) {
            form_start(&b.calls[k], (enum form) rng_below(&calls, 2), &b.requests[k]);
        }
        ok = batch_complete(&b, &mine) && ok;
        ok = batch_check(&b) && ok;
        batch_close(&b, &mine);
    }
    MPI_Comm_free(&comms[1]);
    tap_check(ok, "all in turn, any root and size: %d x %d calls", rounds, STORM);
}

/* Every size to the byte where a path may end, and random ones around the larger ends. */
static void test_edges(int rounds)
{
    bool ok = true;

    for (int i = 0; i < rounds * NUM_COLLS; i++) {
        enum coll coll = (enum coll)(i % NUM_COLLS);
        struct batch b;

        batch_open(&b, 60);
        for (int k = 0; k < 60; k++) {
            int bytes = k < 25   ? 40 + k
                        : k < 50 ? 4096 - 12 + k - 25
                                 : 4000 + rng_below(&calls, 4300);
            struct form_shape shape = form_draw_kind(&calls, SIZES_TINY, coll, KIND_UINT8);

            shape.count = bytes;
            batch_add(&b, MPI_COMM_WORLD, &shape);
        }
        fill_all(&b);
        ok = storm(&b, (enum form) rng_below(&calls, 2), 0 == rng_below(&mine, 8)) && ok;
        batch_close(&b, &mine);
    }
    tap_check(ok, "around the ends of small: 40 to 64 and 4000 to 8300 bytes");
}

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    calls = rng_key(test_seed, 150, 0);
    mine = rng_key(test_seed, 151, (uint64_t) test_rank);
    kinds_open();
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        test_same((enum coll) coll, rounds);
    }
    test_slow(COLL_BCAST, 2);
    test_slow(COLL_REDUCE, 2);
    test_slow(COLL_ALLREDUCE, 1);
    test_slow(COLL_ALLGATHER, 1);
    test_alternating(3 * rounds);
    test_edges((rounds + 1) / 2);
    kinds_close();
    return test_end();
}
