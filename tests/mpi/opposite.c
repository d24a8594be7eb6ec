/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on several communicators in an order that differs between ranks: opposite [ROUNDS]. MPI
 * allows it as long as nobody blocks in one call before the others have posted theirs, or has
 * posted what they wait for. The communicators are new each time, so that their first calls, which
 * set up, are among them. A rank that needs a peer's progress here gets it only from within another
 * call of the peer's.
 */
#include <mpi.h>
#include <stdlib.h>

#include "batch.h"
#include "matrix_case.h"
#include "rng.h"
#include "tap.h"

#define MAX_COMMS 4

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

/*
 * A call of this collective for communicator comm; made, and initialised where the form has that.
 */
static int add(struct batch *b, MPI_Comm comm, enum coll coll, enum form form)
{
    struct form_shape shape = form_draw_coll(&calls, SIZES_ANY, coll);
    int i = batch_add(b, comm, &shape);

    if (FORM_PERSISTENT == form) {
        form_init(&b->calls[i], &b->requests[i]);
    }
    return i;
}

static uint64_t salt_of(uint64_t salt, int i)
{
    return rng_key(salt, 7, (uint64_t) i);
}

/*
 * n communicators of all ranks; rank r starts on number r and goes round. Twice: with set-up and
 * without.
 */
static bool go_round(int n, enum coll coll, enum form form, bool wait_in_order)
{
    MPI_Comm comms[MAX_COMMS];
    struct batch b;
    bool ok = true;

    batch_open(&b, n);
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        add(&b, comms[i], coll, form);
    }
    for (int turn = 0; turn < 2; turn++) {
        uint64_t salt = rng_next(&calls);

        for (int i = 0; i < n; i++) {
            int at = (test_rank + i) % n;

            form_delay(&mine);
            batch_start(&b, at, form, salt_of(salt, at));
        }
        for (int i = 0; i < n && wait_in_order; i++) {
            MPI_Wait(&b.requests[(test_rank + i) % n], MPI_STATUS_IGNORE);
        }
        ok = batch_complete(&b, &mine) && ok;
        ok = batch_check(&b) && ok;
    }
    batch_close(&b, &mine);
    for (int i = 0; i < n; i++) {
        MPI_Comm_free(&comms[i]);
    }
    return ok;
}

static bool two(enum coll coll, enum form form)
{
    return go_round(2, coll, form, false);
}

static bool two_in_order(enum coll coll, enum form form)
{
    return go_round(2, coll, form, true);
}

static bool three(enum coll coll, enum form form)
{
    return go_round(3, coll, form, rng_below(&calls, 2));
}

/* Ranks first and first + 1, modulo the number of ranks. */
static MPI_Comm pair_comm(int first)
{
    int ranks[2] = {first, (first + 1) % test_size};
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group world, pair;

    if (test_rank == ranks[0] || test_rank == ranks[1]) {
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 2, ranks, &pair);
        MPI_Comm_create_group(MPI_COMM_WORLD, pair, first, &c);
        MPI_Group_free(&pair);
        MPI_Group_free(&world);
    }
    return c;
}

/*
 * Pairs of neighbours, closed to a circle: everybody starts with the pair on the right, so nobody's
 * first call is the first one of the peer.
 */
static bool circle_of_pairs(enum coll coll, enum form form)
{
    struct form_shape shape = form_draw_coll(&calls, SIZES_ANY, coll);
    uint64_t salt = rng_next(&calls);
    MPI_Comm comms[2];
    struct batch b;
    int left = (test_rank + test_size - 1) % test_size;
    bool ok;

    /* in one order for all, as they are made by blocking calls */
    for (int i = 0; i < test_size; i++) {
        MPI_Comm c = pair_comm(i);

        if (i == test_rank) {
            comms[0] = c;
        } else if (i == left) {
            comms[1] = c;
        }
    }
    batch_open(&b, 2);
    batch_add(&b, comms[0], &shape);
    batch_add(&b, comms[1], &shape);
    for (int i = 0; i < test_size && FORM_PERSISTENT == form; i++) { /* may block too */
        if (i == test_rank || i == left) {
            form_init(&b.calls[i == left], &b.requests[i == left]);
        }
    }
    form_delay(&mine);
    batch_start(&b, 0, form, salt_of(salt, test_rank));
    form_delay(&mine);
    batch_start(&b, 1, form, salt_of(salt, left));
    ok = batch_finish(&b, &mine);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return ok;
}

/*
 * Lower and upper half of the ranks, and all of them: odd ranks start with all, even ones with
 * their half.
 */
static bool all_and_halves(enum coll coll, enum form form)
{
    uint64_t salt = rng_next(&calls);
    int upper = test_rank >= test_size / 2;
    MPI_Comm comms[2];
    struct batch b;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, upper, test_rank, &comms[1]);
    batch_open(&b, 2);
    add(&b, comms[0], coll, form);
    add(&b, comms[1], coll, form);
    for (int i = 0; i < 2; i++) {
        int at = (test_rank + 1 + i) % 2;

        form_delay(&mine);
        batch_start(&b, at, form, salt_of(salt, at * (1 + upper)));
    }
    ok = batch_finish(&b, &mine);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return ok;
}

/* ---- blocking on B, another form on A ---- */

enum order {
    START_BLOCK_WAIT,
    BLOCK_START_WAIT,
    START_WAIT_BLOCK /* the others are blocked in B meanwhile and must go on with A */
};

static bool beside_blocking(enum coll coll, enum form form, enum order even, enum order odd)
{
    uint64_t salt = rng_next(&calls);
    enum order order = test_rank % 2 ? odd : even;
    MPI_Comm comms[2];
    struct batch b;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    batch_open(&b, 2);
    add(&b, comms[0], coll, form);
    add(&b, comms[1], (enum coll) rng_below(&calls, NUM_COLLS), FORM_BLOCKING);
    form_delay(&mine);
    if (BLOCK_START_WAIT == order) {
        batch_start(&b, 1, FORM_BLOCKING, salt_of(salt, 1));
    }
    form_delay(&mine);
    batch_start(&b, 0, form, salt_of(salt, 0));
    if (START_WAIT_BLOCK == order) {
        MPI_Wait(&b.requests[0], MPI_STATUS_IGNORE);
    }
    if (BLOCK_START_WAIT != order) {
        batch_start(&b, 1, FORM_BLOCKING, salt_of(salt, 1));
    }
    ok = batch_finish(&b, &mine);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return ok;
}

static bool blocking_before_or_after(enum coll coll, enum form form)
{
    return beside_blocking(coll, form, START_BLOCK_WAIT, BLOCK_START_WAIT);
}

static bool wait_before_or_after(enum coll coll, enum form form)
{
    return beside_blocking(coll, form, START_BLOCK_WAIT, START_WAIT_BLOCK);
}

/*
 * Rank 0 gets a message that the last rank sends only when its call is complete: MPI_Recv goes on
 * with it.
 */
static bool inside_receive(enum coll coll, enum form form)
{
    int last = test_size - 1, token = test_rank;
    MPI_Comm comm;
    struct batch b;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    batch_open(&b, 1);
    add(&b, comm, coll, form);
    batch_start(&b, 0, form, rng_next(&calls));
    if (test_rank == last) {
        ok = batch_complete(&b, &mine);
        MPI_Send(&token, 1, MPI_INT, 0, 3, comm);
    } else if (0 == test_rank) {
        MPI_Recv(&token, 1, MPI_INT, last, 3, comm, MPI_STATUS_IGNORE);
    }
    ok = batch_finish(&b, &mine) && (0 != test_rank || last == token);
    MPI_Comm_free(&comm);
    return ok;
}

/* A barrier of another component that some enter before they wait, and some after. */
static bool around_barrier(enum coll coll, enum form form)
{
    MPI_Comm comm;
    struct batch b;
    bool ok = true;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    batch_open(&b, 1);
    add(&b, comm, coll, form);
    batch_start(&b, 0, form, rng_next(&calls));
    if (test_rank % 2) {
        ok = batch_complete(&b, &mine);
    }
    MPI_Barrier(comm);
    ok = batch_finish(&b, &mine) && ok;
    MPI_Comm_free(&comm);
    return ok;
}

/*
 * Calls that are pending on a new communicator set up one after the other, a request that is made
 * meanwhile sets up too: on even ranks before the second of them can, on odd ones after it has
 * begun to.
 */
static bool setups_in_any_order(enum coll coll, enum form form)
{
    MPI_Comm comm;
    struct batch b;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    batch_open(&b, 4);
    for (int size = SIZES_TINY; size <= SIZES_MIDDLE; size++) {
        struct form_shape shape = form_draw(&calls, (enum form_sizes)(SIZES_MIDDLE - size));

        batch_post(&b, comm, &shape, FORM_NONBLOCKING, rng_next(&calls));
    }
    if (test_rank % 2) {
        MPI_Wait(&b.requests[0], MPI_STATUS_IGNORE);
    }
    batch_start(&b, add(&b, comm, coll, form), form, rng_next(&calls));
    ok = batch_finish(&b, &mine);
    MPI_Comm_free(&comm);
    return ok;
}

static const struct {
    const char *name;
    bool (*run)(enum coll coll, enum form form);
    int min_ranks;
} tests[] = {
    {"two communicators in opposite order", two, 1},
    {"two communicators in opposite order, waits too", two_in_order, 1},
    {"three communicators in turn", three, 1},
    {"set-ups of one communicator in any order", setups_in_any_order, 1},
    {"a circle of pairs", circle_of_pairs, 2},
    {"all ranks and half of them", all_and_halves, 2},
    {"blocking on another communicator before or after", blocking_before_or_after, 1},
    {"waiting before or after a blocking call on another", wait_before_or_after, 1},
    {"going on inside MPI_Recv", inside_receive, 2},
    {"going on inside MPI_Barrier", around_barrier, 1},
};

static void run(size_t t, enum form form, int rounds)
{
    bool ok = true;

    if (test_size < tests[t].min_ranks) {
        tap_skip("too few ranks", "%s: %s", form_names[form], tests[t].name);
        return;
    }
    for (int i = 0; i < rounds * NUM_COLLS; i++) {
        ok = tests[t].run((enum coll)(i % NUM_COLLS), form) && ok;
    }
    tap_check(ok, "%s: %s, %d rounds of each collective", form_names[form], tests[t].name, rounds);
}

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 4;
    calls = rng_key(test_seed, 110, 0);
    mine = rng_key(test_seed, 111, (uint64_t) test_rank);
    kinds_open();
    for (int form = FORM_NONBLOCKING; form < forms_here; form++) {
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
            run(t, (enum form) form, rounds);
        }
    }
    kinds_close();
    return test_end();
}
