/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that random programs do not make, or seldom: parts of a grid, what is made of a
 * grid, where a mark of the grid may stay that is none of the communicator's, and a session's.
 */
#include <mpi.h>
#include <stdlib.h>

#include "forms.h"
#include "rng.h"
#include "tap.h"

/* All ranks but the first, which gets none. */
static MPI_Comm without_first(MPI_Comm of)
{
    MPI_Group all, rest;
    MPI_Comm c = MPI_COMM_NULL;

    MPI_Comm_group(of, &all);
    MPI_Group_excl(all, 1, (int[]) {0}, &rest);
    if (0 != test_rank) {
        MPI_Comm_create_group(of, rest, 7, &c);
    }
    MPI_Group_free(&rest);
    MPI_Group_free(&all);
    return c;
}

static MPI_Comm from_cart(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Comm c;

    MPI_Dims_create(test_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &c);
    return c;
}

static MPI_Comm from_cart_sub(void)
{
    MPI_Comm cart = from_cart(), c;

    MPI_Cart_sub(cart, (int[]) {1, 0}, &c);
    MPI_Comm_free(&cart);
    return c;
}

static MPI_Comm make_graph(MPI_Comm of)
{
    int next = (test_rank + 1) % test_size, before = (test_rank + test_size - 1) % test_size,
        weight = 1;
    MPI_Comm c;

    MPI_Dist_graph_create_adjacent(of, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL, 0,
                                   &c);
    return c;
}

/* In Open MPI 5 it has the marks of both; and what is left of a grid those of the grid. */
static MPI_Comm from_graph_of_cart(void)
{
    MPI_Comm cart = from_cart(), c = make_graph(cart);

    MPI_Comm_free(&cart);
    return c;
}

static MPI_Comm from_part_of_cart(void)
{
    MPI_Comm cart = from_cart(), c = without_first(cart);

    MPI_Comm_free(&cart);
    return c;
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static MPI_Session session = MPI_SESSION_NULL;

static MPI_Comm from_session(void)
{
    MPI_Group group;
    MPI_Comm c;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "comms", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
    MPI_Group_free(&group);
    return c;
}
#endif

static const struct {
    const char *name;
    MPI_Comm (*make)(void);
} origins[] = {
    {"cart", from_cart},
    {"cart_sub", from_cart_sub},
    {"graph of a grid", from_graph_of_cart},
    {"part of a grid", from_part_of_cart},
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    {"a session", from_session},
#endif
};

/* The eight, of several sizes. */
static bool run_all(MPI_Comm comm, uint64_t calls)
{
    bool ok = true;

    for (int i = 0; i < 4 * NUM_COLLS; i++) {
        struct form_shape shape =
            form_draw_coll(&calls, (enum form_sizes)(i / NUM_COLLS), (enum coll)(i % NUM_COLLS));

        ok = form_run(comm, &shape, FORM_BLOCKING, rng_next(&calls)) && ok;
    }
    return ok;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    kinds_open();
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        MPI_Comm comm = origins[i].make();
        bool ok = true;

        if (MPI_COMM_NULL != comm) {
            ok = run_all(comm, rng_key(test_seed, 40, i));
            MPI_Comm_free(&comm);
        }
        tap_check(ok, "all eight on: %s", origins[i].name);
    }
    kinds_close();
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    MPI_Session_finalize(&session);
#endif
    return test_end();
}
