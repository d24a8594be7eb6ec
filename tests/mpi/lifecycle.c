/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that come and go: lifecycle [ROUNDS]. Ranks are late by chance, so that one may
 * free a communicator, or use the next one, while its peers are still inside the last call.
 */
#include <mpi.h>
#include <stdlib.h>

#include "growth.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define MANY 64
#define MAX_LATE_US 2000

static uint64_t calls, delays; /* random numbers: the same on all ranks, and of each rank */

static MPI_Comm make_comm(int round)
{
    MPI_Comm c;

    switch (round % 4) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &c);
        break;
    case 2:
        MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &c);
        break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, test_rank < test_size / 2, test_rank, &c);
        break;
    }
    return c;
}

static bool any_call(MPI_Comm comm)
{
    static const int counts[] = {1, 5, 300, 3000, 40000};
    int which = rng_below(&calls, NUM_COLLS);
    int count = counts[rng_below(&calls, 5)];

    return quick_call(comm, (enum coll) which, count, rng_next(&calls));
}

/* Some calls, the last of any kind and with late ranks, and the communicator is freed at once. */
static bool one_round(int round)
{
    MPI_Comm comm = make_comm(round);
    int n = rng_below(&calls, 4);
    bool ok = true;

    for (int i = 0; i <= n; i++) {
        quick_delay(&delays, MAX_LATE_US);
        ok = any_call(comm) && ok;
    }
    MPI_Comm_free(&comm);
    return ok;
}

/* Every collective as a communicator's only call, with one late rank, and freed at once. */
static void test_last_call(void)
{
    bool ok = true;

    for (int coll = 0; coll < NUM_COLLS; coll++) {
        for (int late = 0; late < test_size; late++) {
            MPI_Comm comm;

            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            if (late == test_rank) {
                quick_sleep(MAX_LATE_US);
            }
            ok = quick_call(comm, (enum coll) coll, 1000 * (1 + coll), rng_next(&calls)) && ok;
            MPI_Comm_free(&comm);
        }
    }
    tap_check(ok, "one call, one late rank, freed at once");
}

static void test_many(void)
{
    MPI_Comm comms[MANY];
    bool ok = true;

    for (int i = 0; i < MANY; i++) {
        comms[i] = make_comm(i);
    }
    for (int i = 0; i < 4 * MANY; i++) {
        if (0 == i % 8) {
            quick_delay(&delays, MAX_LATE_US);
        }
        ok = any_call(comms[rng_below(&calls, MANY)]) && ok;
    }
    for (int i = MANY; i > 0; i--) {
        int pick = rng_below(&calls, i);

        MPI_Comm_free(&comms[pick]);
        comms[pick] = comms[i - 1];
    }
    tap_check(ok, "%d communicators at once", MANY);
}

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    calls = rng_key(test_seed, 60, 0);
    delays = rng_key(test_seed, 61, (uint64_t) test_rank);
    test_last_call();
    test_many();
    growth_check(one_round, rounds, &calls);
    return test_end();
}
