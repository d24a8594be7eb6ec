/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that come and go: lifecycle [ROUNDS]. Ranks are late by chance, so that one may free a
 * communicator, or use the next one, while its peers are still inside the last call.
 */
#include <mpi.h>
#include <stdlib.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"
#include "usage.h"

#define MANY        64
#define MAX_LATE_US 2000
#define WINDOWS     4

static uint64_t calls, delays; /* random numbers: the same on all ranks, and of each rank */

static MPI_Comm make_comm(int round)
{
    MPI_Comm c;

    switch (round % 4) {
    case 0: MPI_Comm_dup(MPI_COMM_WORLD, &c); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &c); break;
    case 2: MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &c); break;
    default: MPI_Comm_split(MPI_COMM_WORLD, test_rank < test_size / 2, test_rank, &c); break;
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

static void test_churn(int rounds)
{
    bool ok = true;

    for (int i = 0; i < rounds; i++) {
        ok = one_round(i) && ok;
    }
    tap_check(ok, "dup or split, use, free: %d rounds", rounds);
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

/* Collectives that are handed on, between those that are not. */
static void test_others(int rounds)
{
    MPI_Comm comm;
    bool ok = true;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < rounds; i++) {
        quick_delay(&delays, MAX_LATE_US / 4);
        ok = quick_other(comm, (enum other) rng_below(&calls, NUM_OTHERS), 1 + i, rng_next(&calls)) && ok;
        ok = any_call(comm) && ok;
    }
    MPI_Comm_free(&comm);
    tap_check(ok, "among barriers, alltoalls and nonblocking collectives: %d rounds", rounds);
}

/* The same rounds again and again. What was taken at first may be filled bit by bit, a leak grows in every
 * window: so the last of at most WINDOWS is judged, and there is no next one when nothing grew. */
static void test_growth(int rounds)
{
    long slack = env_long("GPURING_SLACK_KIB", 512);
    uint64_t calls_at = calls;
    struct usage before, after = usage_now();
    bool ok = true, grew = true;

    for (int w = 0; w <= WINDOWS && grew; w++) {
        before = after;
        calls = calls_at;
        for (int i = 0; i < rounds; i++) {
            ok = one_round(i) && ok;
        }
        tap_sync();
        after = usage_now();
        grew = 0 == w || !tap_agree(after.rss_kib - before.rss_kib <= slack && after.fds <= before.fds &&
                                    after.maps <= before.maps);
        tap_note("rank 0, window %d: rss %ld -> %ld KiB, shared %ld -> %ld KiB, descriptors %ld -> %ld, mappings "
                 "%ld -> %ld", w, before.rss_kib, after.rss_kib, before.shmem_kib, after.shmem_kib, before.fds,
                 after.fds, before.maps, after.maps);
    }
    tap_check(ok, "results while counting");
    tap_check(after.rss_kib - before.rss_kib <= slack, "resident memory stays, within %ld KiB", slack);
    tap_check(after.shmem_kib - before.shmem_kib <= slack, "shared memory stays, within %ld KiB", slack);
    tap_check(after.fds <= before.fds, "no more descriptors");
    tap_check(after.maps <= before.maps, "no more mappings");
}

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    calls = rng_key(test_seed, 60, 0);
    delays = rng_key(test_seed, 61, (uint64_t) test_rank);
    test_churn(rounds);
    test_last_call();
    test_many();
    test_others(rounds / 2);
    test_growth(rounds);
    return test_end();
}
