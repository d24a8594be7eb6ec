/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of ignored.c, each collective in its forms, and the communicators. */
#ifndef TEST_IGNORED_H
#define TEST_IGNORED_H

#include <mpi.h>
#include <stdbool.h>

#include "forms.h"
#include "guard.h"

/* What MPI gets for one side. */
struct side {
    void *at;
    int count;
    MPI_Datatype type;
    int *counts, *displs, *bytes; /* displacements in elements, in bytes */
    MPI_Aint *places;             /* the same, wider */
    MPI_Datatype *types;
};

struct args {
    struct side s, r;
    int *shares; /* of a reduce_scatter */
    int root;
    MPI_Comm comm;
};

/* Whose numbers a block's size, where sizes differ, and its contents depend on. */
enum { BY_FROM = 1, BY_TO = 2 };
enum rooted { ROOTED_NOT, ROOTED_TO, ROOTED_FROM };
enum reduced { REDUCED_NOT, REDUCED_ALL, REDUCED_UP_TO, REDUCED_BEFORE }; /* over which ranks */
enum on { ON_INTRA = 1, ON_INTER = 2, ON_GRAPH = 4 };

struct row {
    const char *name;
    void (*call[NUM_FORMS])(const struct args *a, MPI_Request *request);
    unsigned on;
    bool in_place, sizes; /* it has a form in place; block by block, its sizes may differ */
    int by;
    enum rooted rooted;
    enum reduced reduced;
};

#define IGNORED_ROWS 21
extern const struct row ignored_rows[IGNORED_ROWS];

/* A communicator. Ranks are those of MPI_COMM_WORLD, but for the root. */
struct scene {
    const char *name;
    enum on on;
    MPI_Comm comm;
    int nsources, ndests; /* blocks of either side */
    int *sources, *dests; /* whose they are */
};

enum { IGNORED_SCENES = 3 };
void ignored_scenes_open(struct scene scenes[IGNORED_SCENES]);
void ignored_scenes_close(struct scene scenes[IGNORED_SCENES]);

/* One call. */
struct job {
    const struct row *row;
    const struct scene *on;
    enum form form;
    int count, stride;     /* elements of a block; integers from one element to the next */
    bool in_place, uneven; /* uneven: blocks of 0 elements among them */
    int root;              /* of MPI_COMM_WORLD */
    MPI_Datatype type;
    struct guarded in, out;
    int *integers; /* arrays of both sides */
    MPI_Aint *places;
    MPI_Datatype *types;
};

#endif
