/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a nonblocking allreduce go on while the program does something else? overlap [thread|leave]
 *
 *     thread    judges it: the rank sleeps five times as long as the call takes, and must hardly wait then.
 *               Expects coll_gpuring_progress_thread 1. It sleeps, so that the thread has the core.
 *     leave     what a call says at once has left when it returns: rank 0 makes a small Ibcast and sleeps, and nobody waits
 *               until it wakes. With links that are there: the first call is awaited by all
 *     nothing   computes and calls MPI_Test in between; times are only told
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"
#include "mpit_counts.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define BYTES (16 << 20)
#define TRIES 7
#define SLEEP 1 /* seconds */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t) n, sizeof *values, by_value);
    return values[n / 2];
}

static double blocking_seconds(struct form_call *c, uint64_t *salts, bool *ok)
{
    double times[TRIES];

    for (int i = 0; i < TRIES; i++) {
        form_fill(c, rng_next(salts));
        tap_sync();
        times[i] = seconds_now();
        form_start(c, FORM_BLOCKING, NULL);
        times[i] = seconds_now() - times[i];
        *ok = form_check(c) && *ok;
    }
    return median(times, TRIES);
}

/* Keeps the core busy for that long, with a look at the request every 50 us. */
static void compute(double seconds, MPI_Request *request)
{
    double end = seconds_now() + seconds, look = 0;
    int done = 0;

    while (seconds_now() < end) {
        if (seconds_now() > look) {
            MPI_Test(request, &done, MPI_STATUS_IGNORE);
            look = seconds_now() + 50e-6;
        }
    }
}

/* Returns how long MPI_Wait took, after `away` seconds of something else. */
static double waiting_seconds(struct form_call *c, uint64_t *salts, bool thread, double away, bool *ok)
{
    double times[TRIES];

    for (int i = 0; i < TRIES; i++) {
        MPI_Request request;

        form_fill(c, rng_next(salts));
        tap_sync();
        form_start(c, FORM_NONBLOCKING, &request);
        if (thread) {
            quick_sleep((int) (away * 1e6));
        } else {
            compute(away, &request);
        }
        times[i] = seconds_now();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        times[i] = seconds_now() - times[i];
        *ok = form_check(c) && *ok;
    }
    return median(times, TRIES);
}

static void check_leaving(void)
{
    int word = -1, k;
    double waited;
    bool ok = true;
    MPI_Request request;

    for (k = 0; k < 4; k++) {
        word = 0 == test_rank ? k : -1;
        tap_sync();
        waited = seconds_now();
        MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        if (0 == test_rank && k > 0) {
            quick_sleep(SLEEP * 1000000);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        waited = seconds_now() - waited;
        ok = ok && k == word && (0 == test_rank || 0 == k || waited < SLEEP / 2.0);
        tap_note("call %d: %.3f ms", k, 1e3 * waited);
    }
    tap_check(ok, "what a nonblocking call says at once has left when it returns");
}

static void check_going_on(bool thread)
{
    struct form_shape shape = {.coll = COLL_ALLREDUCE, .kind = KIND_FLOAT, .count = BYTES / (int) sizeof(float)};
    bool ok = true;
    struct form_call c;
    double blocking, waiting;
    uint64_t salts = rng_key(test_seed, 170, 0);

    kinds_open();
    form_make(&c, MPI_COMM_WORLD, &shape);
    blocking = blocking_seconds(&c, &salts, &ok);
    waiting = waiting_seconds(&c, &salts, thread, 5 * blocking, &ok);
    form_free(&c);
    tap_note("%d bytes: blocking %.2f ms, MPI_Wait after five times that %.2f ms", BYTES, 1e3 * blocking,
             1e3 * waiting);
    tap_check(ok, "results");
    if (thread && tap_agree(mpit_counts_read().calls > 0)) {
        tap_check(waiting < blocking / 2, "the thread went on: MPI_Wait takes less than half of a blocking call");
    } else if (thread) {
        tap_skip("gpuring is not at work", "the thread went on");
    }
    kinds_close();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 1 && 0 == strcmp(argv[1], "leave")) {
        check_leaving();
    } else {
        check_going_on(argc > 1 && 0 == strcmp(argv[1], "thread"));
    }
    return test_end();
}
