/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small calls of all collectives among many ranks, with any root, in all forms: groups [ROUNDS].
 * Also on a communicator with the ranks in reverse order, and on a part of them.
 */
#include <mpi.h>
#include <stdlib.h>

#include "forms.h"
#include "mpit_counts.h"
#include "rng.h"
#include "tap.h"

static uint64_t calls; /* random numbers: the same on all ranks of the communicator */

static bool all_collectives(MPI_Comm comm, enum form form)
{
    bool ok = true;
    int coll;

    for (coll = 0; coll < NUM_COLLS; coll++) {
        struct form_shape shape = form_draw_coll(&calls, SIZES_TINY, (enum coll) coll);

        shape.root = rng_below(&calls, 1 << 20);
        ok = form_run(comm, &shape, form, rng_next(&calls)) && ok;
    }
    return ok;
}

static void test_comm(MPI_Comm comm, const char *which, int rounds)
{
    int form, k;

    for (form = 0; form < forms_here; form++) {
        bool ok = true;

        for (k = 0; k < (FORM_PERSISTENT == form ? 1 : rounds); k++) {
            ok = all_collectives(comm, (enum form) form) && ok;
        }
        tap_check(ok, "%s: %s", which, form_names[form]);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm reversed, part;
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    calls = rng_key(test_seed, 160, 0);
    kinds_open();
    test_comm(MPI_COMM_WORLD, "all ranks", rounds);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    test_comm(reversed, "in reverse order", rounds);
    MPI_Comm_free(&reversed);
    /* each part draws the same */
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < (2 * test_size + 2) / 3, test_rank, &part);
    test_comm(part, "two parts", 1);
    MPI_Comm_free(&part);
    kinds_close();
    if (0 == test_rank) {
        mpit_counts_list(stdout, "count");
    }
    return test_end();
}
