/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicators of ignored.c. */
#include "ignored.h"

#include <stdlib.h>

#include "tap.h"

static int *run(int first, int n)
{
    int *ranks = calloc((size_t) n + 1, sizeof *ranks);

    for (int k = 0; k < n; k++) {
        ranks[k] = first + k;
    }
    return ranks;
}

static struct scene open_intra(void)
{
    return (struct scene) {"one group", ON_INTRA,          MPI_COMM_WORLD,   test_size,
                           test_size,   run(0, test_size), run(0, test_size)};
}

/* The last rank and the others: those of a group of two pass MPI_PROC_NULL. */
static struct scene open_inter(void)
{
    const int last = test_size - 1;
    const bool alone = test_rank == last;
    struct scene s = {.name = "two groups", .on = ON_INTER};
    MPI_Comm group;

    MPI_Comm_split(MPI_COMM_WORLD, alone, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, alone ? 0 : last, 7, &s.comm);
    MPI_Comm_free(&group);
    s.nsources = s.ndests = alone ? last : 1;
    s.sources = run(alone ? 0 : last, s.nsources);
    s.dests = run(alone ? 0 : last, s.ndests);
    return s;
}

/* A ring without rank 0, which has no neighbours. */
static struct scene open_graph(void)
{
    const int n = test_size - 1, place = test_rank - 1, degree = test_rank > 0, weights[] = {1};
    struct scene s = {
        "ring without rank 0", ON_GRAPH, MPI_COMM_NULL, degree, degree, run(0, 1), run(0, 1)};

    if (degree) {
        s.sources[0] = 1 + (place + n - 1) % n;
        s.dests[0] = 1 + (place + 1) % n;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, s.sources, weights, degree, s.dests,
                                   weights, MPI_INFO_NULL, 0, &s.comm);
    return s;
}

void ignored_scenes_open(struct scene scenes[IGNORED_SCENES])
{
    scenes[0] = open_intra();
    scenes[1] = open_inter();
    scenes[2] = open_graph();
}

void ignored_scenes_close(struct scene scenes[IGNORED_SCENES])
{
    for (int k = 0; k < IGNORED_SCENES; k++) {
        if (MPI_COMM_WORLD != scenes[k].comm) {
            MPI_Comm_free(&scenes[k].comm);
        }
        free(scenes[k].sources);
        free(scenes[k].dests);
    }
}
