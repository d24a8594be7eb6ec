/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that are freed while calls of theirs are under way: pending [ROUNDS]. Ranks are
 * late by chance, so that one frees what its peers have not even used yet.
 *
 * Open MPI's libnbc (4.1.4, 5.0.7) does not hold the communicator and crashes. So only calls that
 * gpuring takes are made here; where it takes none, communicators are freed after their calls
 * instead.
 */
#include <malloc.h>
#include <mpi.h>
#include <stdlib.h>

#include "batch.h"
#include "growth.h"
#include "matrix_case.h"
#include "mpit_counts.h"
#include "rng.h"
#include "tap.h"

#define CHAIN 8 /* communicators, each a duplicate of the one before */
#define EACH 4  /* calls on it */

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

/* ---- what gpuring takes ---- */

static bool taken[NUM_FORMS][NUM_COLLS][NUM_KINDS];
static bool early = true; /* free before completion */
static MPI_Comm kept[2 * CHAIN + 4];
static int num_kept;

static bool is_taken(enum form form, enum coll coll, enum kind_id kind)
{
    struct form_shape shape = form_draw_kind(&calls, SIZES_LARGE, coll, kind);
    struct mpit_totals before = mpit_counts_read(), after;

    form_run(MPI_COMM_WORLD, &shape, form, rng_next(&calls));
    after = mpit_counts_read();
    return tap_agree(after.calls > before.calls && after.handovers == before.handovers);
}

static void find_taken(void)
{
    for (int i = FORM_NONBLOCKING * NUM_COLLS; i < forms_here * NUM_COLLS; i++) {
        bool any = false;

        for (int kind = 0; kind < NUM_KINDS; kind++) {
            bool *is = &taken[i / NUM_COLLS][i % NUM_COLLS][kind];

            *is = form_takes((enum coll)(i % NUM_COLLS), (enum kind_id) kind) &&
                  is_taken((enum form)(i / NUM_COLLS), (enum coll)(i % NUM_COLLS),
                           (enum kind_id) kind);
            any = any || *is;
        }
        if (!any) {
            tap_note("%s %s is left to others", form_names[i / NUM_COLLS],
                     coll_infos[i % NUM_COLLS].name);
            early = false;
        }
    }
    tap_note("communicators are freed %s completion", early ? "before" : "after");
}

static void post(struct batch *b, MPI_Comm comm, enum form form, enum coll coll,
                 enum form_sizes sizes)
{
    struct form_shape shape;

    do {
        shape = form_draw_coll(&calls, sizes, coll);
    } while (early && !taken[form][coll][shape.kind]);
    batch_post(b, comm, &shape, form, rng_next(&calls));
}

static void post_some(struct batch *b, MPI_Comm comm, int n)
{
    for (int i = 0; i < n; i++) {
        post(b, comm, FORM_NONBLOCKING, (enum coll) rng_below(&calls, NUM_COLLS), SIZES_ANY);
    }
}

static void free_comm(MPI_Comm comm)
{
    if (early) {
        MPI_Comm_free(&comm);
    } else {
        kept[num_kept++] = comm;
    }
}

static bool finish(struct batch *b)
{
    bool ok = batch_finish(b, &mine);

    while (num_kept > 0) {
        MPI_Comm_free(&kept[--num_kept]);
    }
    return ok;
}

/* ---- tests ---- */

/* All seven as first calls on their communicator. */
static bool seven(enum form form, enum form_sizes sizes)
{
    MPI_Comm comm;
    struct batch b;

    MPI_Comm_split(MPI_COMM_WORLD, 0, rng_below(&calls, 2) ? test_rank : -test_rank, &comm);
    batch_open(&b, NUM_COLLS);
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        form_delay(&mine);
        post(&b, comm, form, (enum coll) coll, sizes);
    }
    free_comm(comm);
    form_delay(&mine);
    return finish(&b);
}

static bool test_seven(int round)
{
    /* large: not done in the start */
    return seven(FORM_NONBLOCKING, round % 2 ? SIZES_ANY : SIZES_LARGE);
}

static bool test_active(int round)
{
    return forms_here <= FORM_PERSISTENT ||
           seven(FORM_PERSISTENT, round % 2 ? SIZES_ANY : SIZES_LARGE);
}

/* Some calls on a new communicator, which this rank then has no handle of. */
static void post_and_free(struct batch *b, int n)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    post_some(b, comm, n);
    free_comm(comm);
}

/* Many communicators come and go before the first request is completed. */
static bool test_loop(int round)
{
    struct batch b;

    (void) round;
    batch_open(&b, CHAIN * EACH);
    for (int i = 0; i < CHAIN; i++) {
        form_delay(&mine);
        post_and_free(&b, EACH);
    }
    return finish(&b);
}

/* Each is duplicated while calls are under way on it, then freed. */
static bool test_chain(int round)
{
    MPI_Comm comm, next;
    struct batch b;

    (void) round;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    batch_open(&b, CHAIN * EACH);
    for (int i = 0; i < CHAIN; i++) {
        post_some(&b, comm, EACH);
        MPI_Comm_dup(comm, &next);
        form_delay(&mine);
        free_comm(comm);
        comm = next;
    }
    free_comm(comm);
    return finish(&b);
}

/* Some are completed before their communicator is freed and some after, with new calls between. */
static bool test_half(int round)
{
    MPI_Comm comm;
    struct batch soon, late;
    bool ok;

    (void) round;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    batch_open(&soon, EACH);
    batch_open(&late, 2 * EACH);
    for (int i = 0; i < EACH; i++) {
        post_some(&soon, comm, 1);
        post_some(&late, comm, 1);
    }
    ok = batch_finish(&soon, &mine);
    free_comm(comm);
    post_and_free(&late, EACH);
    return finish(&late) && ok;
}

/* libnbc (4.1.4) keeps memory of every persistent request: those only where they are gpuring's. */
static bool any_round(int round)
{
    static bool (*const runs[])(int round) = {test_loop, test_seven, test_half, test_active};

    return runs[round % (early ? 4 : 3)](round / 4);
}

static const struct {
    const char *name;
    bool (*run)(int round);
} tests[] = {
    {"all seven nonblocking, then freed", test_seven},
    {"all seven persistent and active, then freed", test_active},
    {"made, used and freed in a loop, completed at the end", test_loop},
    {"duplicated and freed while in use", test_chain},
    {"some completed before, some after", test_half},
};

int main(int argc, char **argv)
{
    struct batch b;
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 6;
    calls = rng_key(test_seed, 130, 0);
    mine = rng_key(test_seed, 131, (uint64_t) test_rank);
    kinds_open();
    find_taken();
    /* buffers go back to the system: their fragments are no growth */
    mallopt(M_MMAP_THRESHOLD, 32768);
    for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
        bool ok = true;

        for (int i = 0; i < rounds; i++) {
            ok = tests[t].run(i) && ok;
        }
        tap_check(ok, "%s, %d rounds", tests[t].name, rounds);
    }
    growth_check(any_round, 4 * rounds, &calls);
    batch_open(&b, 2 * EACH); /* nothing but MPI_Finalize comes after them */
    post_and_free(&b, EACH);
    post_and_free(&b, EACH);
    tap_check(finish(&b), "the last ones before the end");
    kinds_close();
    return test_end();
}
