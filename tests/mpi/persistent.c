/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent requests as random programs do not have them: hundreds of one communicator that are
 * started together, and one that is started far more often than another: persistent [types|first].
 *
 *     first    one request and nothing else
 *     types    also freed types whose memory other types get; Open MPI's libnbc crashes then
 *              (4.1.4, 5.0.7)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "rng.h"
#include "tap.h"

#define STARTED \
    300 /* by one MPI_Startall: more than the component starts at a time, or has links for */

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
    for (int t = 0; t < 2; t++) {
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

static const struct {
    const char *name;
    bool (*run)(MPI_Comm comm);
} tests[] = {
    {"one often, another seldom", test_unequal},
    {"MPI_Startall of 300", test_startall},
    {"their types freed, and others made", test_reused_types}, /* the last one: see above */
};

/*
 * The program's first request, of a byte; rank 0 starts it when all others have. Nothing goes
 * before it that opens progress, as MPI_Comm_dup() does.
 */
static int first(int argc, char **argv)
{
    char byte, word = 0;
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    byte = 0 == test_rank ? 42 : 0;
    FORM_INIT(Bcast, &byte, 1, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int r = 1; r < test_size && 0 == test_rank; r++) {
        MPI_Recv(&word, 1, MPI_CHAR, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Start(&request);
    if (0 != test_rank) {
        MPI_Send(&word, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    if (test_size - 1 == test_rank) {
        printf("%sok 1 - a byte\n1..1\n", 42 == byte ? "" : "not ");
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    if (argc > 1 && 0 == strcmp(argv[1], "first") && forms_here > FORM_PERSISTENT) {
        return first(argc, argv);
    }
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    calls = rng_key(test_seed, 120, 0);
    mine = rng_key(test_seed, 121, (uint64_t) test_rank);
    if (forms_here <= FORM_PERSISTENT) {
        tap_skip("this Open MPI has none", "persistent collectives");
        return test_end();
    }
    kinds_open();
    for (size_t t = 0; t < sizeof tests / sizeof tests[0] - (argc < 2); t++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, t % 2 ? -test_rank : test_rank, &comm);
        tap_check(tests[t].run(comm), "%s", tests[t].name);
        MPI_Comm_free(&comm);
    }
    kinds_close();
    return test_end();
}
