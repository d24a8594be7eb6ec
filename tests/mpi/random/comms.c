/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns how communicators are made: which ranks are in them, in which order. */
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

/* Some ranks of the parent, in any order; whether this one is among them. */
static bool some_ranks(const struct comm *parent, const struct step *step, MPI_Group *group)
{
    int *ranks = malloc((size_t) parent->size * sizeof *ranks), n = 0, j;
    uint64_t order = step->key;
    bool in = false;
    MPI_Group all;

    if (NULL == ranks) {
        abort();
    }
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

/* A grid of all ranks or all but one, which may come in another order. */
static int grid(struct comm *c, const struct comm *parent, const struct step *step)
{
    const int n = parent->size > 1 && 0 == step->key % 4 ? parent->size - 1 : parent->size;
    const int dimensions = 1 + (int) (step->key / 4 % 3);
    const int around[] = {step->key >> 8 & 1, step->key >> 9 & 1, step->key >> 10 & 1};
    int lengths[] = {0, 0, 0};

    MPI_Dims_create(n, dimensions, lengths);
    return MPI_Cart_create(parent->mpi, dimensions, lengths, around, step->key >> 11 & 1, &c->mpi);
}

int comm_make(struct comm *c, const struct comm *parent, const struct step *step, int number)
{
    int rc;

    c->mpi = MPI_COMM_NULL;
    switch ((enum origin) step->what) {
    case O_DUP: rc = MPI_Comm_dup(parent->mpi, &c->mpi); break;
    case O_SPLIT: rc = split(c, parent, step); break;
    case O_SPLIT_SHARED:
        rc = MPI_Comm_split_type(parent->mpi, MPI_COMM_TYPE_SHARED,
                                 (int) (of_rank(parent, parent->rank, step, 1) % 5), MPI_INFO_NULL,
                                 &c->mpi);
        break;
    case O_CART: rc = grid(c, parent, step); break;
    default: rc = create(c, parent, step, number); break;
    }
    if (MPI_SUCCESS == rc) {
        comm_known(c);
    }
    return rc;
}

int comm_start_idup(struct comm *c, const struct comm *parent)
{
    return MPI_Comm_idup(parent->mpi, &c->mpi, &c->idup);
}

void comm_known(struct comm *c)
{
    MPI_Group mine, world;
    int *ranks;

    if (MPI_COMM_NULL == c->mpi) {
        return;
    }
    MPI_Comm_set_errhandler(c->mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c->mpi, &c->rank);
    MPI_Comm_size(c->mpi, &c->size);
    ranks = malloc((size_t) c->size * sizeof *ranks);
    c->world = malloc((size_t) c->size * sizeof *c->world);
    if (NULL == ranks || NULL == c->world) {
        abort();
    }
    for (int r = 0; r < c->size; r++) {
        ranks[r] = r;
    }
    MPI_Comm_group(c->mpi, &mine);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(mine, c->size, ranks, world, c->world);
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
    free(ranks);
}
