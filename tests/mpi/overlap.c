/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a nonblocking allreduce go on while the program does something else? overlap [thread|leave
 * FOLDER|time]
 *
 *     nothing   MPI_Test until it is complete
 *     thread    with coll_gpuring_progress_thread 1: the result comes while no rank calls MPI
 *     leave     what a call says at once has left when it returns: rank 0 makes a small Ibcast, and calls MPI again when the
 *               others have it, who say so by files in FOLDER. With links that are there: the first call is awaited by all
 *     time      no test: prints how long MPI_Wait takes after five times the time of a blocking call, asleep
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forms.h"
#include "mpit_counts.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define BYTES (16 << 20)
#define TRIES 7
#define PATIENCE 240 /* seconds that are waited for what must come */

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

/* Returns how long MPI_Wait took, after `away` seconds of something else. */
static double waiting_seconds(struct form_call *c, uint64_t *salts, double away, bool *ok)
{
    double times[TRIES];

    for (int i = 0; i < TRIES; i++) {
        MPI_Request request;

        form_fill(c, rng_next(salts));
        tap_sync();
        form_start(c, FORM_NONBLOCKING, &request);
        quick_sleep((int) (away * 1e6));
        times[i] = seconds_now();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        times[i] = seconds_now() - times[i];
        *ok = form_check(c) && *ok;
    }
    return median(times, TRIES);
}

static void time_it(struct form_call *c)
{
    uint64_t salts = rng_key(test_seed, 170, 0);
    bool ok = true;
    double blocking = blocking_seconds(c, &salts, &ok),
           waiting = waiting_seconds(c, &salts, 5 * blocking, &ok);

    tap_note("%d bytes: blocking %.2f ms, MPI_Wait after five times that %.2f ms", BYTES,
             1e3 * blocking, 1e3 * waiting);
    tap_check(ok, "results");
}

static bool file_comes(const char *path)
{
    double end = seconds_now() + PATIENCE;

    while (0 != access(path, F_OK)) {
        if (seconds_now() > end) {
            return false;
        }
        quick_sleep(1000);
    }
    return true;
}

/*
 * A rank that has the word of call number k says so by a file; with `await` set, rank 0 waits for
 * those of all others.
 */
static bool all_have_it(const char *folder, int k, bool await)
{
    char path[4096];
    bool ok = true;
    FILE *file;

    for (int r = 1; r < test_size; r++) {
        snprintf(path, sizeof path, "%s/call_%d_rank_%d", folder, k, r);
        if (0 == test_rank && await) {
            ok = file_comes(path) && ok;
        } else if (r == test_rank) {
            file = fopen(path, "w");
            ok = NULL != file && 0 == fclose(file);
        }
    }
    return ok;
}

static void check_leaving(const char *folder)
{
    MPI_Request request;
    bool ok = true;
    int word;

    for (int k = 0; k < 4; k++) {
        word = 0 == test_rank ? k : -1;
        tap_sync();
        MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        ok = (0 != test_rank || all_have_it(folder, k, k > 0)) && ok;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ok = (0 == test_rank || all_have_it(folder, k, false)) && ok && k == word;
    }
    tap_check(ok, "what a nonblocking call says at once has left when it returns");
}

static void check_test(struct form_call *c)
{
    MPI_Request request;
    int done = 0;

    form_fill(c, test_seed);
    form_start(c, FORM_NONBLOCKING, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    tap_check(form_check(c), "results");
}

/* What the output will be is known from a first call. */
static void check_thread(struct form_call *c)
{
    double end;
    MPI_Request request;
    char *result = malloc(BYTES);
    bool there = false, ok;

    form_fill(c, test_seed);
    form_start(c, FORM_NONBLOCKING, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memcpy(result, c->recv, BYTES);
    ok = form_check(c);
    if (!tap_agree(mpit_counts_read().calls > 0)) {
        tap_skip("gpuring is not at work", "the result comes while no rank calls MPI");
        free(result);
        return;
    }
    form_fill(c, test_seed);
    form_start(c, FORM_NONBLOCKING, &request);
    for (end = seconds_now() + PATIENCE; !there && seconds_now() < end;) {
        there = 0 == memcmp(result, c->recv, BYTES);
        quick_sleep(1000);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ok = form_check(c) && ok;
    tap_check(ok, "results");
    tap_check(there, "the result comes while no rank calls MPI");
    free(result);
}

int main(int argc, char **argv)
{
    struct form_shape shape = {
        .coll = COLL_ALLREDUCE, .kind = KIND_FLOAT, .count = BYTES / (int) sizeof(float)};
    struct form_call c;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 2 && 0 == strcmp(argv[1], "leave")) {
        check_leaving(argv[2]);
        return test_end();
    }
    kinds_open();
    form_make(&c, MPI_COMM_WORLD, &shape);
    if (argc > 1 && 0 == strcmp(argv[1], "time")) {
        time_it(&c);
    } else if (argc > 1 && 0 == strcmp(argv[1], "thread")) {
        check_thread(&c);
    } else {
        check_test(&c);
    }
    form_free(&c);
    kinds_close();
    return test_end();
}
