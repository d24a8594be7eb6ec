/* SPDX-License-Identifier: BSD-3-Clause */
/* The creation of communicators: their ranks, order and neighbors. */
#include "comms.h"

#include <stdlib.h>

#include "rng.h"
#include "tap.h"

/* A draw that all ranks know of each other. */
static uint64_t of_rank(const struct comm *parent, int rank, const struct step *step, uint64_t what)
{
    return rng_key(step->key, (uint64_t) parent->world[rank], what);
}

static int split(struct comm *c, const struct comm *parent, const struct step *step)
{
    const uint64_t colors = 1 + step->key % 3;
    const uint64_t mine = of_rank(parent, parent->rank, step, 0);
    const int color = 0 == mine % 11 ? MPI_UNDEFINED : (int) (mine / 11 % colors);

    return MPI_Comm_split(parent->mpi, color, (int) (of_rank(parent, parent->rank, step, 1) % 5),
                          &c->mpi);
}

static int *some_ints(int n)
{
    int *at = calloc((size_t) n + 1, sizeof *at);

    if (NULL == at) {
        abort();
    }
    return at;
}

/* Some ranks of the parent, in any order; whether this one is among them. */
static bool some_ranks(const struct comm *parent, const struct step *step, MPI_Group *group)
{
    int *ranks = some_ints(parent->size), n = 0, j;
    uint64_t order = step->key;
    bool in = false;
    MPI_Group all;

    for (int r = 0; r < parent->size; r++) {
        if (0 != of_rank(parent, r, step, 2) % 4) {
            j = rng_below(&order, n + 1);
            ranks[n++] = ranks[j];
            ranks[j] = r;
            in = in || r == parent->rank;
        }
    }
    MPI_Comm_group(parent->mpi, &all);
    MPI_Group_incl(all, n, ranks, group);
    MPI_Group_free(&all);
    free(ranks);
    return in;
}

static int create(struct comm *c, const struct comm *parent, const struct step *step, int number)
{
    MPI_Group group;
    const bool in = some_ranks(parent, step, &group);
    int rc = MPI_SUCCESS;

    if (O_CREATE == step->what) {
        rc = MPI_Comm_create(parent->mpi, group, &c->mpi);
    } else if (in) {
        rc = MPI_Comm_create_group(parent->mpi, group, number, &c->mpi);
    }
    MPI_Group_free(&group);
    return rc;
}

/* A grid of all ranks or all but one, which may come in another order, or a part of such a grid. */
static int grid(struct comm *c, const struct comm *parent, const struct step *step)
{
    const int n = parent->size > 1 && 0 == step->key % 4 ? parent->size - 1 : parent->size;
    const int dimensions = 1 + (int) (step->key / 4 % 3);
    const int around[] = {step->key >> 8 & 1, step->key >> 9 & 1, step->key >> 10 & 1};
    const int kept[] = {1, 0, step->key >> 12 & 1};
    int lengths[] = {0, 0, 0}, rc;
    MPI_Comm whole;

    MPI_Dims_create(n, dimensions, lengths);
    rc = MPI_Cart_create(parent->mpi, dimensions, lengths, around, step->key >> 11 & 1, &c->mpi);
    if (MPI_SUCCESS == rc && MPI_COMM_NULL != c->mpi && 0 == (step->key >> 13 & 3)) {
        whole = c->mpi;
        rc = MPI_Cart_sub(whole, kept, &c->mpi);
        MPI_Comm_free(&whole);
    }
    return rc;
}

/* Edges from rank i to rank j: none, one or two. */
static int edges(const struct comm *parent, const struct step *step, int i, int j)
{
    static const int some[] = {0, 0, 0, 1, 1, 2};

    return some[rng_key(step->key, (uint64_t) parent->world[i], (uint64_t) parent->world[j]) % 6];
}

/* The other ends of this rank's edges, in any order; returns how many. */
static int ends(const struct comm *parent, const struct step *step, bool out, int *ranks)
{
    const int me = parent->rank;
    uint64_t order = of_rank(parent, me, step, out ? 3 : 4);
    int n = 0, j;

    for (int r = 0; r < parent->size; r++) {
        for (int k = out ? edges(parent, step, me, r) : edges(parent, step, r, me); k > 0; k--) {
            j = rng_below(&order, n + 1);
            ranks[n++] = ranks[j];
            ranks[j] = r;
        }
    }
    return n;
}

/* A graph with loops, with several edges between two ranks, and with ranks that have none. */
static int graph(struct comm *c, const struct comm *parent, const struct step *step)
{
    int *from = some_ints(2 * parent->size), *to = some_ints(2 * parent->size),
        *weights = some_ints(2 * parent->size);
    const int in = ends(parent, step, false, from), out = ends(parent, step, true, to);
    const int rc = MPI_Dist_graph_create_adjacent(parent->mpi, in, from, weights, out, to, weights,
                                                  MPI_INFO_NULL, 0, &c->mpi);

    free(from);
    free(to);
    free(weights);
    return rc;
}

/*
 * Whether a rank is in the second part of the parent: a half of it, or the odd ranks, or some that
 * are not all.
 */
static bool in_second(const struct comm *parent, const struct step *step, int rank)
{
    switch (step->key % 3) {
    case 0:
        return rank >= parent->size / 2;
    case 1:
        return 0 != rank % 2;
    default:
        return rank == (int) (step->key / 3 % (uint64_t) parent->size);
    }
}

/*
 * Between two parts of the parent, with a leader of each, the first or the last; one rank alone
 * gets none.
 */
static int inter(struct comm *c, const struct comm *parent, const struct step *step, int number)
{
    const bool second = in_second(parent, step, parent->rank), last = 0 != (step->key >> 32 & 1);
    int other = -1, size, rc;
    MPI_Comm part;

    if (1 == parent->size) {
        return MPI_SUCCESS;
    }
    for (int r = 0; r < parent->size; r++) {
        if (second != in_second(parent, step, r) && (other < 0 || last)) {
            other = r;
        }
    }
    rc = MPI_Comm_split(parent->mpi, second, parent->rank, &part);
    if (MPI_SUCCESS == rc) {
        MPI_Comm_size(part, &size);
        rc = MPI_Intercomm_create(part, last ? size - 1 : 0, parent->mpi, other, number, &c->mpi);
        MPI_Comm_free(&part);
    }
    return rc;
}

/* With the groups in either order, or in an order of MPI's own. */
static int merge(struct comm *c, const struct comm *parent, const struct step *step)
{
    const int high = (int) (step->key >> (parent->second ? 33 : 34) & 1);

    return MPI_Intercomm_merge(parent->mpi, high, &c->mpi);
}

int comm_make(struct comm *c, const struct comm *parent, const struct step *step, int number)
{
    int rc;

    c->mpi = MPI_COMM_NULL;
    c->topology = O_DUP == step->what ? parent->topology : (enum origin) step->what;
    switch ((enum origin) step->what) {
    case O_DUP:
        rc = MPI_Comm_dup(parent->mpi, &c->mpi);
        break;
    case O_SPLIT:
        rc = split(c, parent, step);
        break;
    case O_SPLIT_SHARED:
        rc = MPI_Comm_split_type(parent->mpi, MPI_COMM_TYPE_SHARED,
                                 (int) (of_rank(parent, parent->rank, step, 1) % 5), MPI_INFO_NULL,
                                 &c->mpi);
        break;
    case O_CART:
        rc = grid(c, parent, step);
        break;
    case O_GRAPH:
        rc = graph(c, parent, step);
        break;
    case O_INTER:
        rc = inter(c, parent, step, number);
        break;
    case O_MERGE:
        rc = merge(c, parent, step);
        break;
    default:
        rc = create(c, parent, step, number);
        break;
    }
    if (MPI_SUCCESS == rc) {
        comm_known(c);
    }
    return rc;
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static MPI_Session session = MPI_SESSION_NULL;

void comm_all_ranks(MPI_Comm *c, bool of_session)
{
    MPI_Group group;

    if (!of_session) {
        MPI_Comm_dup(MPI_COMM_WORLD, c);
        return;
    }
    if (MPI_SESSION_NULL == session) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    }
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "random", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, c);
    MPI_Group_free(&group);
}

void comm_end_session(void)
{
    if (MPI_SESSION_NULL != session) {
        MPI_Session_finalize(&session);
    }
}
#else
void comm_all_ranks(MPI_Comm *c, bool of_session)
{
    (void) of_session;
    MPI_Comm_dup(MPI_COMM_WORLD, c);
}

void comm_end_session(void)
{
}
#endif

int comm_start_idup(struct comm *c, const struct comm *parent)
{
    c->topology = parent->topology;
    return MPI_Comm_idup(parent->mpi, &c->mpi, &c->idup);
}

/* The ranks of a group in MPI_COMM_WORLD; frees the group. */
static int *in_world(MPI_Group group, int n)
{
    int *ranks = some_ints(n), *world = some_ints(n);
    MPI_Group all;

    for (int r = 0; r < n; r++) {
        ranks[r] = r;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(group, n, ranks, all, world);
    MPI_Group_free(&all);
    MPI_Group_free(&group);
    free(ranks);
    return world;
}

/* On a grid two in each dimension: the one below, and the one above. */
static void know_grid(struct comm *c)
{
    int dimensions;

    MPI_Cartdim_get(c->mpi, &dimensions);
    c->indegree = c->outdegree = 2 * dimensions;
    c->sources = some_ints(c->indegree);
    c->destinations = some_ints(c->outdegree);
    for (int k = 0; k < dimensions; k++) {
        MPI_Cart_shift(c->mpi, k, 1, &c->sources[2 * k], &c->sources[2 * k + 1]);
        c->destinations[2 * k] = c->sources[2 * k];
        c->destinations[2 * k + 1] = c->sources[2 * k + 1];
    }
}

static void know_graph(struct comm *c)
{
    int weighted, *weights;

    MPI_Dist_graph_neighbors_count(c->mpi, &c->indegree, &c->outdegree, &weighted);
    c->sources = some_ints(c->indegree);
    c->destinations = some_ints(c->outdegree);
    weights = some_ints(c->indegree + c->outdegree);
    MPI_Dist_graph_neighbors(c->mpi, c->indegree, c->sources, weights, c->outdegree,
                             c->destinations, weights + c->indegree);
    free(weights);
}

void comm_known(struct comm *c)
{
    MPI_Group group;
    int inter;

    if (MPI_COMM_NULL == c->mpi) {
        return;
    }
    MPI_Comm_set_errhandler(c->mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c->mpi, &c->rank);
    MPI_Comm_size(c->mpi, &c->size);
    MPI_Comm_group(c->mpi, &group);
    c->world = c->remote = in_world(group, c->size);
    c->remote_size = c->size;
    MPI_Comm_test_inter(c->mpi, &inter);
    c->inter = 0 != inter;
    if (c->inter) {
        MPI_Comm_remote_size(c->mpi, &c->remote_size);
        MPI_Comm_remote_group(c->mpi, &group);
        c->remote = in_world(group, c->remote_size);
        c->second = c->world[0] > c->remote[0];
    }
    if (O_CART == c->topology) {
        know_grid(c);
    } else if (O_GRAPH == c->topology) {
        know_graph(c);
    }
}

void comm_forget(struct comm *c)
{
    free(c->remote != c->world ? c->remote : NULL);
    free(c->world);
    free(c->sources);
    free(c->destinations);
}

int comm_root(const struct comm *c, const struct step *step)
{
    const bool in_second = 0 != (step->key >> 20 & 1);

    if (!c->inter) {
        return step->root % c->size;
    } else if (c->second != in_second) {
        return step->root % c->remote_size;
    }
    return c->rank == step->root % c->size ? MPI_ROOT : MPI_PROC_NULL;
}
