/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timed steps: timed XxYx... [CALLS [FILE]]. On a Cartesian communicator of that torus, with
 * reorder, on its rows and on MPI_COMM_WORLD: all collectives in their three forms, by ranks that
 * are late by chance. With FILE, Allreduces go on until there is such a file: a script stops ranks
 * meanwhile.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "forms.h"
#include "mpit_counts.h"
#include "rng.h"
#include "tap.h"

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

static MPI_Comm cart(const char *text)
{
    int dims[4], periods[4] = {1, 1, 1, 1},
                 n = sscanf(text, "%dx%dx%dx%d", &dims[0], &dims[1], &dims[2], &dims[3]);
    MPI_Comm c;

    MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 1, &c);
    return c;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* Calls of one form, small and large; late: one rank comes 60 ms late now and then. */
static bool run_calls(MPI_Comm comm, enum coll coll, enum form form, int n, bool late)
{
    bool ok = true;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < n; i++) {
        struct form_shape shape =
            form_draw_coll(&calls, i % 3 == 2 ? SIZES_LARGE : SIZES_MIDDLE, coll);
        uint64_t salt = rng_next(&calls), who = rng_next(&calls);

        if (late && rank == (int) (who % (uint64_t) size)) {
            pause_ms(60);
        }
        form_delay(&mine);
        ok = form_run(comm, &shape, form, salt) && ok;
    }
    return ok;
}

static void test_comm(MPI_Comm comm, const char *name, int n)
{
    unsigned long long taken = mpit_counts_read().calls;
    int size;

    MPI_Comm_size(comm, &size);
    for (int form = 0; form < forms_here; form++) {
        bool ok = true;

        for (int coll = 0; coll < NUM_COLLS; coll++) {
            ok = run_calls(comm, (enum coll) coll, (enum form) form, n, false) && ok;
        }
        tap_check(ok, "%s: all collectives, %s", name, form_names[form]);
    }
    tap_check(run_calls(comm, COLL_ALLREDUCE, FORM_BLOCKING, n, true), "%s: with late ranks", name);
    tap_check(1 == size || mpit_counts_read().calls > taken, "%s: gpuring takes them", name);
}

/* Rank 0 looks for the file. */
static void call_until(const char *file)
{
    bool ok = true;
    int there = 0;

    while (!there) {
        ok = run_calls(MPI_COMM_WORLD, COLL_ALLREDUCE, FORM_BLOCKING, 3, false) && ok;
        there = 0 != tap_share(0 == access(file, F_OK));
    }
    tap_check(ok, "until ranks were stopped");
}

/* Calls that differ in the type, and in nothing else. */
static void call_types(int n)
{
    enum { COUNT = 8192 };
    static float float_in[COUNT], float_out[COUNT];
    static double double_in[COUNT], double_out[COUNT];
    bool ok = true;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < COUNT; k++) {
            float_in[k] = (float) (i + k);
            double_in[k] = i - k;
        }
        MPI_Allreduce(float_in, float_out, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(double_in, double_out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int k = 0; k < COUNT; k++) {
            ok = ok && (float) (test_size * (i + k)) == float_out[k] &&
                 test_size * (i - k) == double_out[k];
        }
    }
    tap_check(ok, "floats and doubles in turns");
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "2x2";
    int n = argc > 2 ? atoi(argv[2]) : 3, rank;
    MPI_Comm torus, row;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (0 == strcmp(text, "types")) {
        call_types(n);
        return test_end();
    }
    calls = test_seed;
    mine = test_seed + 1000003 * (uint64_t) (test_rank + 1);
    kinds_open();
    torus = cart(text);
    tap_check(MPI_COMM_NULL != torus, "a %s torus", text);
    MPI_Comm_rank(torus, &rank);
    MPI_Comm_split(torus, rank / 2, rank, &row);
    test_comm(torus, "torus", n);
    test_comm(row, "rows of two", n);
    test_comm(MPI_COMM_WORLD, "world", 1);
    if (argc > 3) {
        call_until(argv[3]);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&torus);
    kinds_close();
    return test_end();
}
