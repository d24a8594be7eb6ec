/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of each: the eight collectives and what gpuring leaves to others, then what gpuring counted
 * on rank 0, as "count NAME NUMBER" lines; "pvars: none" when there are no such counters.
 */
#include <locale.h>
#include <mpi.h>
#include <stdio.h>

#include "mpit_counts.h"
#include "quick.h"
#include "tap.h"

/* Around a periodic ring. */
static bool neighbors(void)
{
    int got[2] = {-1, -1}, before, after, rank;
    MPI_Comm ring;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, (int[]) {1}, 0, &ring);
    MPI_Comm_rank(ring, &rank);
    MPI_Cart_shift(ring, 0, 1, &before, &after);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
    return got[0] == before && got[1] == after;
}

int main(int argc, char **argv)
{
    bool ok = true;
    int level;

    setlocale(LC_ALL, ""); /* as many programs do */
    if (env_long("GPURING_TOOL_FIRST", 0)) {
        MPI_T_init_thread(MPI_THREAD_SINGLE, &level); /* as tools do, before MPI_Init */
    }
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int c = 0; c < NUM_COLLS; c++) {
        ok = quick_call(MPI_COMM_WORLD, (enum coll) c, 100, 1) && ok;
    }
    tap_check(ok, "the eight");
    for (int o = 0; o < NUM_OTHERS; o++) {
        ok = quick_other(MPI_COMM_WORLD, (enum other) o, 100, 1) && ok;
    }
    tap_check(ok, "the others");
    tap_check(neighbors(), "neighbours");
    if (0 == test_rank && 0 == mpit_counts_read().counters) {
        printf("pvars: none\n");
    } else if (0 == test_rank) {
        mpit_counts_list(stdout, "count");
    }
    if (env_long("GPURING_TOOL_FIRST", 0)) {
        MPI_T_finalize();
    }
    return test_end();
}
