/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All collectives in all forms on Cartesian communicators: rings, lines, both, their rows and
 * planes, a copy with the info key in the place of a grid, and ranks in an order of their own. The
 * grid is the first argument, as in 4x2 (MPI's dimensions: the last one is that of neighbouring
 * ranks); its product is the number of ranks. GPURING_BUDGET: seconds for each communicator
 * (default 1).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "forms.h"
#include "kinds.h"
#include "rng.h"
#include "tap.h"

#define MOST_DIMS 4

static int dims[MOST_DIMS], ndims;

/* "2x2x2": false where it is not such, or has not as many places as there are ranks. */
static bool parse_grid(const char *text)
{
    int places = 1;
    char *end;

    for (;; text = end + 1) {
        long n = strtol(text, &end, 10);

        if (end == text || n < 1 || MOST_DIMS == ndims) {
            return false;
        }
        dims[ndims++] = (int) n;
        places *= (int) n;
        if ('x' != *end) {
            return 0 == *end && test_size == places;
        }
    }
}

/*
 * A call that is the same on all ranks of the communicator; groups of one split may make the same
 * ones.
 */
static bool call_one(MPI_Comm comm, uint64_t *calls, enum coll coll, enum form form)
{
    static const enum form_sizes sizes[] = {SIZES_TINY, SIZES_EDGE, SIZES_EDGE, SIZES_MIDDLE};
    struct form_shape shape = form_draw_coll(calls, sizes[rng_below(calls, 4)], coll);

    return form_run(comm, &shape, form, rng_next(calls));
}

/* All collectives and forms, until the time is over. */
static void run_on(MPI_Comm comm, const char *what, int number)
{
    uint64_t calls = rng_key(test_seed, 40, (uint64_t) number);
    double end = seconds_now() + (double) env_long("GPURING_BUDGET", 1);
    bool ok = true;
    long rounds = 0;

    do {
        for (int coll = 0; coll < NUM_COLLS; coll++) {
            for (int form = 0; form < forms_here; form++) {
                ok = call_one(comm, &calls, (enum coll) coll, (enum form) form) && ok;
            }
        }
        rounds++;
    } while (tap_share(seconds_now() < end));
    tap_note("%s: %ld rounds", what, rounds);
    tap_check(ok, "%s", what);
    MPI_Comm_free(&comm);
}

static MPI_Comm grid(unsigned rings)
{
    int periods[MOST_DIMS];
    MPI_Comm comm;

    for (int d = 0; d < ndims; d++) {
        periods[d] = (int) (rings >> d & 1);
    }
    MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 1, &comm);
    return comm;
}

/* The grids in which the kept dimensions vary. */
static MPI_Comm part_of(unsigned rings, unsigned kept)
{
    MPI_Comm whole = grid(rings), part;
    int remain[MOST_DIMS];

    for (int d = 0; d < ndims; d++) {
        remain[d] = (int) (kept >> d & 1);
    }
    MPI_Cart_sub(whole, remain, &part);
    MPI_Comm_free(&whole);
    return part;
}

/*
 * Ranks backwards; the key says what no grid does. Its first extent is that of neighbouring ranks.
 */
static MPI_Comm with_key(void)
{
    char text[64] = "";
    MPI_Comm plain, comm;
    MPI_Info info;
    int used = 0;

    for (int d = ndims - 1; d >= 0; d--) {
        used += snprintf(text + used, sizeof text - (size_t) used, "%s%d", used > 0 ? "x" : "",
                         dims[d]);
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "gpuring_torus", text);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &plain);
    MPI_Comm_dup_with_info(plain, info, &comm);
    MPI_Comm_free(&plain);
    MPI_Info_free(&info);
    return comm;
}

int main(int argc, char **argv)
{
    unsigned all;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc < 2 || !parse_grid(argv[1])) {
        tap_check(false, "%d ranks do not form the grid %s", test_size,
                  argc < 2 ? "that is missing" : argv[1]);
        return test_end();
    }
    kinds_open();
    all = (1u << ndims) - 1;
    run_on(grid(all), "rings", 0);
    run_on(grid(0), "lines", 1);
    run_on(grid(1), "rings in the first dimension, lines in others", 2);
    run_on(part_of(all, all & ~1u), "all but the first dimension", 3);
    run_on(part_of(all & ~1u, 1), "the first dimension alone, lines", 4);
    run_on(with_key(), "an info key, and ranks backwards", 5);
    kinds_close();
    return test_end();
}
