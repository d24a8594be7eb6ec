/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicators of others.h, and the peers of each rank. */
#include <stdlib.h>

#include "batch.h"
#include "others.h"
#include "rng.h"
#include "tap.h"

#define MAX_PAIR 3 /* edges from one rank to another */

/* ---- making ---- */

static MPI_Comm from_world(void)
{
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    return c;
}

static MPI_Comm from_reversed(void)
{
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &c);
    return c;
}

static MPI_Comm from_self(void)
{
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_SELF, &c);
    return c;
}

/* The first third of the ranks against the rest. */
static int inter_side(void)
{
    return test_rank >= (test_size + 1) / 3;
}

static MPI_Comm from_inter(void)
{
    MPI_Comm local, c = MPI_COMM_NULL;

    if (test_size >= 2) {
        MPI_Comm_split(MPI_COMM_WORLD, inter_side(), test_rank, &local);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, inter_side() ? 0 : (test_size + 1) / 3, 5,
                             &c);
        MPI_Comm_free(&local);
    }
    return c;
}

static MPI_Comm make_cart(int period)
{
    int dims[2] = {0, 0}, periods[2] = {period, period};
    MPI_Comm c;

    MPI_Dims_create(test_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c);
    return c;
}

static MPI_Comm from_torus(void)
{
    return make_cart(1);
}

static MPI_Comm from_grid(void)
{
    return make_cart(0);
}

/*
 * Edges from one rank to another, none to three. The last of several ranks has none. Rank 0 has one
 * to itself where it would have none: a graph without any is nothing to others_steady().
 */
static int edges(int from, int to)
{
    static const int numbers[] = {0, 0, 1, 1, 2, MAX_PAIR};
    uint64_t rng = rng_key(test_seed, 201, (uint64_t) from << 32 | (uint64_t) to);
    int n = numbers[rng_below(&rng, 6)];

    if (test_size > 2 && (from == test_size - 1 || to == test_size - 1)) {
        return 0;
    }
    return 0 == from && 0 == to && 0 == n ? 1 : n;
}

static void shuffle_ranks(int n, int *ranks, uint64_t rng)
{
    for (int i = n - 1; i > 0; i--) {
        int j = rng_below(&rng, i + 1), swapped = ranks[i];

        ranks[i] = ranks[j];
        ranks[j] = swapped;
    }
}

static MPI_Comm from_graph(void)
{
    int room = MAX_PAIR * test_size, in = 0, out = 0;
    int *sources = calloc(4 * (size_t) room, sizeof *sources), *dests = sources + room,
        *weights = dests + room;
    MPI_Comm c;

    for (int r = 0; r < test_size; r++) {
        for (int e = 0; e < edges(r, test_rank); e++) {
            sources[in++] = r;
        }
        for (int e = 0; e < edges(test_rank, r); e++) {
            dests[out++] = r;
        }
    }
    shuffle_ranks(in, sources, rng_key(test_seed, 202, (uint64_t) test_rank));
    shuffle_ranks(out, dests, rng_key(test_seed, 203, (uint64_t) test_rank));
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, weights, out, dests, weights + room,
                                   MPI_INFO_NULL, 0, &c);
    free(sources);
    return c;
}

/* ---- who talks with whom ---- */

static void find_all(struct others_scene *s)
{
    for (int i = 0; i < s->sources; i++) {
        s->source[i] = s->dest[i] = i;
    }
}

/*
 * Below and above in each dimension. In rings of one or two these are equal, and which of them gets
 * a block depends on the form (Open MPI 4.1.4): there, all blocks from one rank have one size, and
 * no turns.
 */
static void find_cart(struct others_scene *s)
{
    for (int d = 0; d < 2; d++) {
        MPI_Cart_shift(s->comm, d, 1, &s->source[2 * d], &s->source[2 * d + 1]);
        s->dest[2 * d] = s->source[2 * d];
        s->dest[2 * d + 1] = s->source[2 * d + 1];
        s->twisted |= s->source[2 * d] == s->source[2 * d + 1] && MPI_PROC_NULL != s->source[2 * d];
    }
}

static void count_turns(int n, const int *ranks, int *turns)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            turns[i] += ranks[j] == ranks[i];
        }
    }
}

static void find_graph(struct others_scene *s)
{
    int *weights = malloc(((size_t) s->sources + (size_t) s->dests + 1) * sizeof *weights);

    MPI_Dist_graph_neighbors(s->comm, s->sources, s->source, weights, s->dests, s->dest,
                             weights + s->sources);
    count_turns(s->sources, s->source, s->source_turn);
    count_turns(s->dests, s->dest, s->dest_turn);
    free(weights);
}

static void count_all(struct others_scene *s)
{
    if (ON_INTER == s->kind) {
        MPI_Comm_remote_size(s->comm, &s->sources);
    } else {
        s->sources = s->size;
    }
    s->dests = s->sources;
}

static void count_cart(struct others_scene *s)
{
    s->sources = s->dests = 4;
}

static void count_graph(struct others_scene *s)
{
    int weighted;

    MPI_Dist_graph_neighbors_count(s->comm, &s->sources, &s->dests, &weighted);
}

static const struct {
    const char *name;
    unsigned kind;
    MPI_Comm (*make)(void);
    void (*count)(struct others_scene *s);
    void (*find)(struct others_scene *s);
} rows[NUM_SCENES] = {
    {"the world", ON_INTRA, from_world, count_all, find_all},
    {"the world, reversed", ON_INTRA, from_reversed, count_all, find_all},
    {"one rank", ON_INTRA | ON_SELF, from_self, count_all, find_all},
    {"an intercommunicator", ON_INTER, from_inter, count_all, find_all},
    {"a torus", ON_TOPOLOGY, from_torus, count_cart, find_cart},
    {"a grid", ON_TOPOLOGY, from_grid, count_cart, find_cart},
    {"a graph", ON_TOPOLOGY, from_graph, count_graph, find_graph},
};

void others_scenes_open(struct others_scene scenes[NUM_SCENES])
{
    for (int i = 0; i < NUM_SCENES; i++) {
        struct others_scene *s = &scenes[i];

        *s = (struct others_scene) {
            .name = rows[i].name, .kind = rows[i].kind, .comm = rows[i].make()};
        if (MPI_COMM_NULL == s->comm) {
            continue;
        }
        MPI_Comm_rank(s->comm, &s->rank);
        MPI_Comm_size(s->comm, &s->size);
        s->side = ON_INTER == s->kind ? inter_side() : 0;
        s->other = ON_INTER == s->kind ? 1 - s->side : 0;
        rows[i].count(s);
        s->source = calloc(2 * (size_t) (s->sources + s->dests) + 1, sizeof *s->source);
        s->dest = s->source + s->sources;
        s->source_turn = s->dest + s->dests;
        s->dest_turn = s->source_turn + s->sources;
        rows[i].find(s);
    }
}

void others_scenes_close(struct others_scene scenes[NUM_SCENES])
{
    for (int i = 0; i < NUM_SCENES; i++) {
        if (MPI_COMM_NULL != scenes[i].comm) {
            MPI_Comm_free(&scenes[i].comm);
            free(scenes[i].source);
        }
    }
}
