/* SPDX-License-Identifier: BSD-3-Clause */
/* TAP lines that all ranks agree on; start and end of a test program (tap.h). */
#include "tap.h"

#include "devmem.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "mpit_counts.h"
#include "rng.h"

#define MAX_FAULTS 5

int test_rank;
int test_size;
uint64_t test_seed;

static MPI_Comm tap_comm;
static int num_tests;
static _Atomic int num_faults;

/*
 * Rank 0 gets the sum of all values, everybody gets rank 0's answer: the sum, or what it was given.
 */
static int64_t exchange(int64_t value, bool sum)
{
    int64_t other;
    uint64_t total = (uint64_t) value; /* hashes may wrap */

    for (int r = 1; r < test_size; r++) {
        if (0 == test_rank) {
            MPI_Recv(&other, 1, MPI_INT64_T, r, 0, tap_comm, MPI_STATUS_IGNORE);
            total += (uint64_t) other;
        } else if (test_rank == r) {
            MPI_Send(&value, 1, MPI_INT64_T, 0, 0, tap_comm);
        }
    }
    if (!sum) {
        total = (uint64_t) value;
    }
    for (int r = 1; r < test_size; r++) {
        if (0 == test_rank) {
            MPI_Send(&total, 1, MPI_INT64_T, r, 1, tap_comm);
        } else if (test_rank == r) {
            MPI_Recv(&total, 1, MPI_INT64_T, 0, 1, tap_comm, MPI_STATUS_IGNORE);
        }
    }
    return (int64_t) total;
}

int64_t tap_sum(int64_t value)
{
    return exchange(value, true);
}

int64_t tap_share(int64_t value)
{
    return exchange(value, false);
}

bool tap_agree(bool mine)
{
    return 0 == tap_sum(mine ? 0 : 1);
}

void tap_sync(void)
{
    (void) tap_sum(0);
}

static void print_result(bool ok, const char *skip, const char *format, va_list args)
{
    if (0 != test_rank) {
        return;
    }
    printf("%sok %d - ", ok ? "" : "not ", num_tests);
    vprintf(format, args);
    if (NULL != skip) {
        printf(" # SKIP %s", skip);
    }
    printf("\n");
    fflush(stdout);
}

void tap_check(bool mine, const char *format, ...)
{
    bool ok = tap_agree(mine);
    va_list args;

    num_tests++;
    va_start(args, format);
    print_result(ok, NULL, format, args);
    va_end(args);
}

void tap_skip(const char *why, const char *format, ...)
{
    va_list args;

    num_tests++;
    va_start(args, format);
    print_result(true, why, format, args);
    va_end(args);
}

void tap_note(const char *format, ...)
{
    va_list args;

    if (0 != test_rank) {
        return;
    }
    printf("# ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

void tap_fault(const char *format, ...)
{
    char text[512];
    va_list args;

    if (num_faults++ >= MAX_FAULTS) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("# rank %d: %s\n", test_rank, text); /* in one piece: ranks share the terminal */
    fflush(stdout);
}

long env_long(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return (NULL != text && '\0' != text[0]) ? strtol(text, NULL, 0) : otherwise;
}

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

int test_begin(int *argc, char ***argv, int level)
{
    int provided;
    uint64_t drawn;

    (void) devmem_open();
    MPI_Init_thread(argc, argv, level, &provided);
    mpit_counts_start();
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &tap_comm);
    drawn = rng_key((uint64_t) time(NULL), (uint64_t) getpid(), 0) % 1000000;
    test_seed = (uint64_t) tap_share((int64_t) env_long("GPURING_SEED", (long) drawn));
    tap_note("GPURING_SEED=%llu", (unsigned long long) test_seed);
    return provided;
}

int test_end(void)
{
    struct mpit_totals t = mpit_counts_read();

    tap_note("gpuring zero copy calls %llu", t.zero_copy);
    tap_note("gpuring leader calls %llu", t.leader);
    tap_note("gpuring calls %llu handovers %llu device %llu", t.calls, t.handovers, t.device);
    if (0 == test_rank) {
        printf("1..%d\n", num_tests);
        fflush(stdout);
    }
    tap_sync();
    mpit_counts_stop();
    MPI_Comm_free(&tap_comm);
    MPI_Finalize();
    return 0;
}
