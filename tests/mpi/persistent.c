/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives: persistent [ROUNDS [types]]. Requests are made in one order on all ranks,
 * as MPI asks, and started in any: what a start belongs to is settled when the request is made.
 * With 0 rounds: one, with few requests.
 *
 *     types    also types that are freed once the request is made; Open MPI's libnbc crashes then (4.1.4, 5.0.7)
 */
#include <mpi.h>
#include <stdlib.h>

#include "batch.h"
#include "matrix_case.h"
#include "mpit_counts.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define SEVERAL 16
#define STARTED 200 /* by one MPI_Startall: more than the component starts at a time */
#define NUM_COMMS 4

static int many = 300;       /* requests: more than links are for */
static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

static int add(struct batch *b, MPI_Comm comm, const struct form_shape *shape)
{
    int i = batch_add(b, comm, shape);

    form_init(&b->calls[i], &b->requests[i]);
    return i;
}

static void add_any(struct batch *b, MPI_Comm comm, int n, enum form_sizes sizes)
{
    for (int i = 0; i < n; i++) {
        struct form_shape shape = form_draw(&calls, sizes);

        add(b, comm, &shape);
    }
}

/* Starts all, in an order of this rank's own; request i has salt + i on all ranks. */
static void start_all(struct batch *b, uint64_t salt)
{
    int *order = malloc((size_t) b->n * sizeof *order);

    shuffle(b->n, order, &mine);
    for (int i = 0; i < b->n; i++) {
        if (0 == i % 8) {
            form_delay(&mine);
        }
        batch_start(b, order[i], FORM_PERSISTENT, salt + (uint64_t) order[i]);
    }
    free(order);
}

/* Starts, completes and checks all of them again and again. */
static bool repeat(struct batch *b, int times)
{
    bool ok = true;

    for (int t = 0; t < times; t++) {
        start_all(b, rng_next(&calls));
        ok = batch_complete(b, &mine) && ok;
        ok = batch_check(b) && ok;
    }
    return ok;
}

/* ---- one at a time ---- */

static bool alone(enum coll coll, enum kind_id kind, enum form_sizes sizes)
{
    struct form_shape shape = form_draw_kind(&calls, sizes, coll, kind);
    struct batch b;
    bool ok = true;

    batch_open(&b, 1);
    add(&b, MPI_COMM_WORLD, &shape);
    for (int t = 0; t < 4; t++) {
        form_delay(&mine);
        batch_start(&b, 0, FORM_PERSISTENT, rng_next(&calls));
        ok = batch_complete(&b, &mine) && MPI_REQUEST_NULL != b.requests[0] && ok;
        ok = batch_check(&b) && ok;
    }
    batch_close(&b, &mine);
    return ok;
}

static void test_alone(enum coll coll)
{
    unsigned long long taken = mpit_counts_read().calls;
    bool ok = true;

    for (int kind = 0; kind < NUM_KINDS; kind++) {
        for (int sizes = SIZES_TINY; sizes <= SIZES_ANY && form_takes(coll, (enum kind_id) kind);
             sizes++) {
            ok = alone(coll, (enum kind_id) kind, (enum form_sizes) sizes) && ok;
        }
    }
    taken = mpit_counts_read().calls - taken;
    tap_note("%s: gpuring took %llu", coll_infos[coll].name, taken);
    tap_check(ok, "%s alone, all kinds of data, started again and again", coll_infos[coll].name);
}

/* ---- several ---- */

static bool test_several(MPI_Comm comm)
{
    struct batch b;
    bool ok;

    batch_open(&b, SEVERAL);
    add_any(&b, comm, SEVERAL, SIZES_ANY);
    ok = repeat(&b, 5);
    batch_close(&b, &mine);
    return ok;
}

/* Two requests of one communicator, started and waited for in opposite order. */
static bool test_opposite(MPI_Comm comm)
{
    struct batch b;
    bool ok = true;

    batch_open(&b, 2);
    add_any(&b, comm, 2, SIZES_ANY);
    for (int t = 0; t < 10; t++) {
        uint64_t salt = rng_next(&calls);
        int first = (test_rank + t) % 2;

        batch_start(&b, first, FORM_PERSISTENT, salt + (uint64_t) first);
        form_delay(&mine);
        batch_start(&b, 1 - first, FORM_PERSISTENT, salt + (uint64_t) (1 - first));
        MPI_Wait(&b.requests[first], MPI_STATUS_IGNORE);
        MPI_Wait(&b.requests[1 - first], MPI_STATUS_IGNORE);
        ok = batch_check(&b) && ok;
    }
    batch_close(&b, &mine);
    return ok;
}

/*
 * One request goes through many rounds on some ranks before it is their turn to start the other
 * one.
 */
static bool test_unequal(MPI_Comm comm)
{
    struct batch b;
    bool ok = true;

    batch_open(&b, 2);
    add_any(&b, comm, 2, SIZES_EDGE);
    for (int t = 0; t < 10; t++) {
        uint64_t salt = rng_next(&calls);

        if (test_rank % 2) {
            batch_start(&b, 1, FORM_PERSISTENT, salt);
        }
        for (int i = 0; i < 8; i++) {
            batch_start(&b, 0, FORM_PERSISTENT, salt + 1 + (uint64_t) i);
            MPI_Wait(&b.requests[0], MPI_STATUS_IGNORE);
            ok = form_check(&b.calls[0]) && ok;
        }
        if (0 == test_rank % 2) {
            batch_start(&b, 1, FORM_PERSISTENT, salt);
        }
        ok = batch_complete(&b, &mine) && ok;
        ok = batch_check(&b) && ok;
    }
    batch_close(&b, &mine);
    return ok;
}

static bool test_startall(MPI_Comm comm)
{
    struct batch b;
    bool ok = true;

    batch_open(&b, STARTED);
    add_any(&b, comm, STARTED, SIZES_TINY);
    for (int t = 0; t < 4; t++) {
        uint64_t salt = rng_next(&calls);

        for (int i = 0; i < STARTED; i++) {
            form_fill(&b.calls[i], salt + (uint64_t) i);
        }
        form_delay(&mine);
        MPI_Startall(STARTED, b.requests);
        ok = batch_complete(&b, &mine) && ok;
        ok = batch_check(&b) && ok;
    }
    batch_close(&b, &mine);
    return ok;
}

static bool test_no_elements(MPI_Comm comm)
{
    struct batch b;
    bool ok;

    batch_open(&b, 2 * NUM_COLLS);
    for (int i = 0; i < 2 * NUM_COLLS; i++) {
        struct form_shape shape = form_draw_coll(&calls, SIZES_TINY, (enum coll)(i % NUM_COLLS));

        shape.count = i < NUM_COLLS ? 0 : shape.count;
        add(&b, comm, &shape);
    }
    ok = repeat(&b, 4);
    batch_close(&b, &mine);
    return ok;
}

/*
 * Blocking and nonblocking calls of the same communicator and of another one while requests are
 * active.
 */
static bool test_mixed(MPI_Comm comm)
{
    struct batch started, others;
    bool ok = true;

    batch_open(&started, SEVERAL);
    add_any(&started, comm, SEVERAL, SIZES_ANY);
    for (int t = 0; t < 4; t++) {
        start_all(&started, rng_next(&calls));
        batch_open(&others, SEVERAL);
        for (int i = 0; i < SEVERAL; i++) {
            struct form_shape shape = form_draw(&calls, SIZES_ANY);
            MPI_Comm where = rng_below(&calls, 2) ? comm : MPI_COMM_WORLD;

            batch_post(&others, where, &shape, (enum form) rng_below(&calls, 2), rng_next(&calls));
        }
        if (rng_below(&mine, 2)) {
            ok = batch_complete(&started, &mine) && ok;
            ok = batch_finish(&others, &mine) && ok;
        } else {
            ok = batch_finish(&others, &mine) && ok;
            ok = batch_complete(&started, &mine) && ok;
        }
        ok = batch_check(&started) && ok;
    }
    batch_close(&started, &mine);
    return ok;
}

/* ---- their life ---- */

/* Some requests are freed unused, some used; new ones come in their place. */
static bool test_freed(MPI_Comm comm)
{
    bool ok = true;

    for (int t = 0; t < 10; t++) {
        struct batch b;

        batch_open(&b, SEVERAL);
        add_any(&b, comm, SEVERAL, SIZES_EDGE);
        for (int i = 0; i < SEVERAL; i++) {
            if (rng_below(&calls, 2)) {
                batch_start(&b, i, FORM_PERSISTENT, rng_next(&calls));
            }
        }
        ok = batch_finish(&b, &mine) && ok;
    }
    return ok;
}

/* Types that the program frees when the requests are made. */
static bool test_freed_types(MPI_Comm comm)
{
    static const enum coll movers[] = {COLL_BCAST, COLL_ALLGATHER, COLL_ALLGATHERV};
    struct batch b;
    bool ok;

    batch_open(&b, SEVERAL);
    for (int i = 0; i < SEVERAL; i++) {
        struct form_shape shape = form_draw_coll(&calls, SIZES_ANY, movers[i % 3]);

        batch_add(&b, comm, &shape);
        form_own_handles(&b.calls[i]);
        form_init(&b.calls[i], &b.requests[i]);
        form_drop_handles(&b.calls[i]);
    }
    ok = repeat(&b, 3);
    batch_close(&b, &mine);
    return ok;
}

/* ---- types that are freed, and whose memory other types get ---- */

#define REUSES 16 /* types that are made once one was freed */
#define PLACES 3  /* integers of a type */
#define SPREAD 8  /* integers of its extent */
#define UNTOUCHED -7

static const int freed_places[PLACES] = {0, 3, 5};
static const int other_places[][PLACES] = {{1, 2, 4}, {2, 6, 7}, {1, 4, 6}, {4, 6, 7}};

/* A type of some of SPREAD integers. */
static MPI_Datatype spread_type(const int places[PLACES])
{
    MPI_Datatype packed, type;

    MPI_Type_create_indexed_block(PLACES, 1, places, MPI_INT32_T, &packed);
    MPI_Type_create_resized(packed, 0, SPREAD * sizeof(int32_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&packed);
    return type;
}

/* Integer k of a rank's contribution in a round. */
static int32_t spread_value(int rank, int round, size_t k)
{
    return (int32_t) (1000003 * (rank + 1) + 1009 * round + (int) k);
}

static bool is_place(size_t k)
{
    for (int i = 0; i < PLACES; i++) {
        if (freed_places[i] == (int) (k % SPREAD)) {
            return true;
        }
    }
    return false;
}

static void fill_spread(int32_t *at, size_t n, int rank, int round)
{
    for (size_t k = 0; k < n; k++) {
        at[k] = rank < 0 ? UNTOUCHED : spread_value(rank, round, k);
    }
}

/* Whether the places of the type hold the rank's values, and what lies between them is as it was. */
static bool check_spread(const int32_t *at, size_t n, int rank, int round)
{
    for (size_t k = 0; k < n; k++) {
        if (at[k] != (is_place(k) ? spread_value(rank, round, k) : UNTOUCHED)) {
            return false;
        }
    }
    return true;
}

/* A Bcast and an Allgather of count elements, whose types are freed and made again as others. */
static bool reuse_types(MPI_Comm comm, int count)
{
    MPI_Datatype freed[3], others[REUSES];
    MPI_Request requests[2];
    size_t n = (size_t) count * SPREAD;
    int size, rank;
    int32_t *one, *in, *all;
    bool ok = true;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    one = malloc(n * sizeof *one);
    in = malloc(n * sizeof *in);
    all = malloc(n * (size_t) size * sizeof *all);
    for (int i = 0; i < 3; i++) {
        freed[i] = spread_type(freed_places);
    }
    FORM_INIT(Bcast, one, count, freed[0], 0, comm, MPI_INFO_NULL, &requests[0]);
    FORM_INIT(Allgather, in, count, freed[1], all, count, freed[2], comm, MPI_INFO_NULL,
              &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Type_free(&freed[i]);
    }
    for (int i = 0; i < REUSES; i++) {
        others[i] = spread_type(other_places[i % 4]);
    }
    for (int round = 0; round < 3; round++) {
        fill_spread(one, n, 0 == rank ? 0 : -1, round);
        fill_spread(in, n, rank, round);
        fill_spread(all, n * (size_t) size, -1, round);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        ok = (0 == rank || check_spread(one, n, 0, round)) && ok;
        for (int r = 0; r < size; r++) {
            ok = check_spread(all + (size_t) r * n, n, r, round) && ok;
        }
    }
    for (int i = 0; i < REUSES; i++) {
        MPI_Type_free(&others[i]);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(one);
    free(in);
    free(all);
    return ok;
}

static bool test_reused_types(MPI_Comm comm)
{
    bool small = reuse_types(comm, 2);

    return reuse_types(comm, 2000) && small;
}

/* Inactive requests that outlive the program's handle of their communicator. */
static bool test_outlive(MPI_Comm unused)
{
    MPI_Comm comm;
    struct batch b;
    bool ok;

    (void) unused;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    batch_open(&b, SEVERAL);
    add_any(&b, comm, SEVERAL, SIZES_ANY);
    ok = repeat(&b, 2);
    MPI_Comm_free(&comm);
    form_delay(&mine);
    batch_close(&b, &mine);
    return ok;
}

static bool test_hundreds(MPI_Comm comm)
{
    struct batch b;
    bool ok;

    batch_open(&b, many);
    add_any(&b, comm, many, SIZES_TINY);
    ok = repeat(&b, 2);
    batch_close(&b, &mine);
    return ok;
}

/* Requests of several communicators, made in one order, started in any. */
static bool test_comms(MPI_Comm unused)
{
    MPI_Comm comms[NUM_COMMS];
    struct batch b;
    bool ok;

    (void) unused;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &comms[2]);
    MPI_Comm_dup(comms[2], &comms[3]);
    batch_open(&b, 8 * NUM_COMMS);
    for (int i = 0; i < 8 * NUM_COMMS; i++) {
        add_any(&b, comms[i % NUM_COMMS], 1, SIZES_ANY);
    }
    ok = repeat(&b, 3);
    batch_close(&b, &mine);
    for (int c = 0; c < NUM_COMMS; c++) {
        MPI_Comm_free(&comms[c]);
    }
    return ok;
}

static const struct {
    const char *name;
    bool (*run)(MPI_Comm comm);
    bool asked; /* only where the command line has "types" */
} tests[] = {
    {"several on one communicator, started in other orders", test_several, false},
    {"two in opposite order", test_opposite, false},
    {"one often, another seldom", test_unequal, false},
    {"MPI_Startall of 200", test_startall, false},
    {"nothing to move", test_no_elements, false},
    {"blocking and nonblocking calls while active", test_mixed, false},
    {"freed, used or not", test_freed, false},
    {"their types freed", test_freed_types, true},
    {"their types freed, and others made", test_reused_types, true},
    {"freed after their communicator", test_outlive, false},
    {"many on one communicator", test_hundreds, false},
    {"several communicators", test_comms, false},
};

static void run(size_t t, int rounds)
{
    bool ok = true;
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, t % 2 ? -test_rank : test_rank, &comm);
    for (int i = 0; i < rounds; i++) {
        ok = tests[t].run(comm) && ok;
    }
    MPI_Comm_free(&comm);
    tap_check(ok, "%s, %d rounds", tests[t].name, rounds);
}

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    if (0 == rounds) {
        rounds = 1;
        many = 40;
    }
    calls = rng_key(test_seed, 120, 0);
    mine = rng_key(test_seed, 121, (uint64_t) test_rank);
    if (forms_here <= FORM_PERSISTENT) {
        tap_skip("this Open MPI has none", "persistent collectives");
        return test_end();
    }
    kinds_open();
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        test_alone((enum coll) coll);
    }
    for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
        if (!tests[t].asked || argc > 2) {
            run(t, rounds);
        }
    }
    kinds_close();
    return test_end();
}
