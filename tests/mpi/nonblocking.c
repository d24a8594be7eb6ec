/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking collectives: nonblocking [ROUNDS]. Alone, many at once on one and on several
 * communicators, beside blocking ones and beside messages, completed in every way and in an order
 * of each rank's own, by ranks that are late by chance. With 0 rounds: one, with few calls.
 */
#include <mpi.h>
#include <stdlib.h>

#include "batch.h"
#include "matrix_case.h"
#include "mpit_counts.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define NUM_COMMS 4
#define BIG 50000 /* integers: more than is sent eagerly */

static int many = 64;        /* calls at a time */
static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */
static MPI_Comm comms[NUM_COMMS];

/* ---- one at a time ---- */

static bool alone(enum coll coll, enum kind_id kind, enum form_sizes sizes, int way)
{
    struct form_shape shape = form_draw_kind(&calls, sizes, coll, kind);
    struct batch b;
    bool ok;

    batch_open(&b, 1);
    form_delay(&mine);
    batch_post(&b, MPI_COMM_WORLD, &shape, FORM_NONBLOCKING, rng_next(&calls));
    form_delay(&mine);
    ok = complete(way, 1, b.requests, &mine) && MPI_REQUEST_NULL == b.requests[0];
    ok = batch_check(&b) && ok;
    batch_close(&b, &mine);
    return ok;
}

static void test_alone(enum coll coll)
{
    unsigned long long taken = mpit_counts_read().calls;
    bool ok = true;
    int way = 0;

    for (int kind = 0; kind < NUM_KINDS; kind++) {
        for (int sizes = SIZES_TINY; sizes <= SIZES_ANY && form_takes(coll, (enum kind_id) kind);
             sizes++) {
            for (int i = 0; i < 3; i++) {
                ok = alone(coll, (enum kind_id) kind, (enum form_sizes) sizes, way++ % NUM_WAYS) &&
                     ok;
            }
        }
    }
    taken = mpit_counts_read().calls - taken;
    tap_note("%s: gpuring took %llu", coll_infos[coll].name, taken);
    tap_check(ok, "%s alone, all kinds of data, all ways to complete", coll_infos[coll].name);
}

static bool test_no_elements(void)
{
    bool ok = true;

    for (int i = 0; i < 4 * NUM_COLLS; i++) {
        struct form_shape shape = form_draw_coll(&calls, SIZES_TINY, (enum coll)(i % NUM_COLLS));
        struct batch b;

        shape.count = 0;
        batch_open(&b, 2);
        batch_post(&b, comms[0], &shape, FORM_NONBLOCKING, rng_next(&calls));
        batch_post(&b, comms[1], &shape, FORM_NONBLOCKING, rng_next(&calls));
        ok = batch_finish(&b, &mine) && ok;
    }
    return ok;
}

/* ---- many at once ---- */

/* Looks at one request that may be complete, so that requests end between posts. */
static void look_at_one(struct batch *b)
{
    int done;

    if (b->n > 0 && 0 == rng_below(&mine, 4)) {
        MPI_Test(&b->requests[rng_below(&mine, b->n)], &done, MPI_STATUS_IGNORE);
    }
}

static void post_any(struct batch *b, MPI_Comm comm, enum form_sizes sizes)
{
    struct form_shape shape = form_draw(&calls, sizes);

    look_at_one(b);
    if (0 == b->n % 8) {
        form_delay(&mine);
    }
    batch_post(b, comm, &shape, FORM_NONBLOCKING, rng_next(&calls));
}

static bool test_many(void)
{
    struct batch b;
    bool ok;

    batch_open(&b, many);
    for (int i = 0; i < many; i++) {
        post_any(&b, comms[0], SIZES_ANY);
    }
    ok = batch_wait(&b, &mine);
    ok = batch_check(&b) && ok;
    batch_close(&b, &mine);
    return ok;
}

static bool test_many_small(void)
{
    struct batch b;

    batch_open(&b, many);
    for (int i = 0; i < many; i++) {
        post_any(&b, comms[0], i % 2 ? SIZES_TINY : SIZES_EDGE);
    }
    return batch_finish(&b, &mine);
}

/* Every communicator has its own sequence of calls; which one goes on next is up to each rank. */
static bool test_interleaved(void)
{
    enum { EACH = 14 };
    struct form_shape shapes[NUM_COMMS][EACH];
    uint64_t salt = rng_next(&calls);
    int next[NUM_COMMS] = {0};
    struct batch b;

    for (int i = 0; i < NUM_COMMS * EACH; i++) {
        shapes[i / EACH][i % EACH] = form_draw(&calls, SIZES_ANY);
    }
    batch_open(&b, NUM_COMMS * EACH);
    while (b.n < NUM_COMMS * EACH) {
        int c = rng_below(&mine, NUM_COMMS);

        if (next[c] < EACH) {
            look_at_one(&b);
            batch_post(&b, comms[c], &shapes[c][next[c]], FORM_NONBLOCKING,
                       salt + (uint64_t) (c * EACH + next[c]));
            next[c]++;
        }
    }
    return batch_finish(&b, &mine);
}

/* ---- beside other things ---- */

/*
 * Blocking calls on the same communicator and on another one, also of collectives that gpuring
 * leaves alone.
 */
static bool test_beside_blocking(void)
{
    struct batch b;
    bool ok = true;

    batch_open(&b, many);
    for (int i = 0; i < many; i++) {
        struct form_shape shape = form_draw(&calls, SIZES_ANY);
        MPI_Comm comm = comms[rng_below(&calls, 2)];
        int what = rng_below(&calls, 6);
        uint64_t salt = rng_next(&calls);

        form_delay(&mine);
        if (what > 2) {
            batch_post(&b, comm, &shape, FORM_NONBLOCKING, salt);
        } else if (what > 0) {
            ok = form_run(comm, &shape, FORM_BLOCKING, salt) && ok;
        } else {
            ok = quick_other(comm, (enum other)(salt % NUM_OTHERS), 1 + i, salt) && ok;
        }
        if (0 == i % 16) {
            ok = batch_wait(&b, &mine) && ok;
        }
    }
    return batch_finish(&b, &mine) && ok;
}

struct messages {
    int out[BIG], in[BIG], any;
    int left, right, rank;
};

/* Around the ring, a big one and a small one that is received from anybody with any tag. */
static void post_messages(struct messages *m, MPI_Comm comm, MPI_Request *requests)
{
    int size;

    MPI_Comm_rank(comm, &m->rank);
    MPI_Comm_size(comm, &size);
    m->left = (m->rank + size - 1) % size;
    m->right = (m->rank + 1) % size;
    for (int i = 0; i < BIG; i++) {
        m->out[i] = m->rank * 7 + i;
    }
    MPI_Irecv(m->in, BIG, MPI_INT, m->left, 1, comm, &requests[0]);
    MPI_Isend(m->out, BIG, MPI_INT, m->right, 1, comm, &requests[1]);
    MPI_Irecv(&m->any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[2]);
    form_delay(&mine);
    MPI_Isend(&m->rank, 1, MPI_INT, m->right, 2, comm, &requests[3]);
}

static bool check_messages(const struct messages *m)
{
    bool ok = m->any == m->left;

    for (int i = 0; i < BIG; i++) {
        ok = ok && m->in[i] == m->left * 7 + i;
    }
    if (!ok) {
        tap_fault("a message came out wrong");
    }
    return ok;
}

/* Messages and collectives of one communicator, completed together in one shuffled array. */
static bool test_beside_messages(void)
{
    enum { COLLS = 12, MESSAGES = 4, ALL = COLLS + MESSAGES };
    struct messages *m = malloc(sizeof *m);
    MPI_Request own[MESSAGES], mixed[ALL];
    int order[ALL];
    struct batch b;
    bool ok;

    batch_open(&b, COLLS);
    for (int i = 0; i < COLLS; i++) {
        if (COLLS / 2 == i) {
            post_messages(m, comms[0], own);
        }
        post_any(&b, comms[0], SIZES_ANY);
    }
    shuffle(ALL, order, &mine);
    for (int i = 0; i < ALL; i++) {
        mixed[i] = order[i] < COLLS ? b.requests[order[i]] : own[order[i] - COLLS];
    }
    ok = complete(rng_below(&mine, NUM_WAYS), ALL, mixed, &mine);
    for (int i = 0; i < COLLS; i++) {
        b.requests[i] = MPI_REQUEST_NULL; /* they were completed as part of mixed[] */
    }
    ok = batch_check(&b) && check_messages(m) && ok;
    batch_close(&b, &mine);
    free(m);
    return ok;
}

/* Types and operations that the program frees while they are in use. */
static bool test_freed_types(void)
{
    struct batch b;

    batch_open(&b, many);
    for (int i = 0; i < many; i++) {
        struct form_shape shape = form_draw(&calls, SIZES_ANY);

        batch_add(&b, comms[0], &shape);
        form_own_handles(&b.calls[i]);
        batch_start(&b, i, FORM_NONBLOCKING, rng_next(&calls));
        form_drop_handles(&b.calls[i]);
    }
    return batch_finish(&b, &mine);
}

static const struct {
    const char *name;
    bool (*run)(void);
} tests[] = {
    {"nothing to move", test_no_elements},
    {"many on one communicator, completed in other orders", test_many},
    {"many small ones on one communicator", test_many_small},
    {"several communicators, in each rank's own order", test_interleaved},
    {"blocking calls beside them", test_beside_blocking},
    {"messages beside them", test_beside_messages},
    {"types and operations freed while in use", test_freed_types},
};

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 5;
    if (0 == rounds) {
        rounds = 1;
        many = 16;
    }
    calls = rng_key(test_seed, 100, 0);
    mine = rng_key(test_seed, 101, (uint64_t) test_rank);
    kinds_open();
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &comms[2]);
    MPI_Comm_dup(comms[1], &comms[3]);
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        test_alone((enum coll) coll);
    }
    for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
        bool ok = true;

        for (int i = 0; i < rounds; i++) {
            ok = tests[t].run() && ok;
        }
        tap_check(ok, "%s, %d rounds", tests[t].name, rounds);
    }
    for (int c = 0; c < NUM_COMMS; c++) {
        MPI_Comm_free(&comms[c]);
    }
    kinds_close();
    return test_end();
}
