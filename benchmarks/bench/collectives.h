/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the table of collectives and their MPI calls: one row each, in the blocking, the nonblocking
 * and the persistent form. */
#ifndef BENCH_COLLECTIVES_H
#define BENCH_COLLECTIVES_H

#include "common/ideal.h"
#include "common/moves.h"
#include "common/options.h"

#include <mpi.h>

/*
 * The arguments of a call; each collective uses those it has. One of the buffers may be
 * MPI_IN_PLACE.
 */
struct job {
    const void *send;
    void *recv;
    int count;
    const int *counts; /* v-forms: equal blocks of count, one after the other */
    const int *displs;
    const int *byte_displs;    /* w-forms: those in bytes, */
    const MPI_Datatype *types; /* and the type, for each rank */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    int left;  /* sendrecv: where from */
    int right; /* sendrecv: where to */
    MPI_Comm comm;
    MPI_Comm ring; /* neighbours: these two */
};

#define COLLECTIVE_MAX_REQUESTS 2

struct collective {
    const char *name;
    enum ideal_kind kind;      /* what S is held against */
    const struct moves *moves; /* what S is, how inputs are prepared and outputs checked */
    int (*blocking)(const struct job *job);
    int (*nonblocking)(const struct job *job, MPI_Request *requests);
    int (*persistent)(const struct job *job, MPI_Request *requests);
    bool messages;    /* no collective, but two messages: two requests */
    bool ring;        /* of neighbours */
    bool byte_displs; /* all of S lies within what an int of bytes can say */
};

enum { COLLECTIVES = 22 };
extern const struct collective collectives[COLLECTIVES];

/* Was this built with an MPI that has persistent collectives? */
bool collectives_have_persistent(void);

/* Does the MPI itself take buffers in device memory? After MPI_Init. */
bool collectives_cuda_aware(void);

/* Frees what calls have left for the next ones; before MPI_Finalize, collective over all ranks. */
void collectives_end(void);

/* A collective with its arguments, ready to be called any number of times. */
struct call {
    const struct collective *collective;
    enum call_form form;
    struct job job;
    int *counts;         /* owned: counts, displs, byte_displs */
    MPI_Datatype *types; /* owned */
    bool initialized;    /* its persistent requests are */
    MPI_Request requests[COLLECTIVE_MAX_REQUESTS];
};

/* Sets up a call on MPI_COMM_WORLD; collective over all its ranks. The buffers must outlive it.
 * Returns 0, or -1 on every rank when memory is short on one. call_free is due in both cases. */
int call_init(struct call *call, const struct collective *collective, const struct options *options,
              const struct shape *shape, const struct buffers *buffers);
void call_free(struct call *call);

/* One complete call. MPI's errors are fatal, as MPI_COMM_WORLD has it. */
void call_run(struct call *call);

#endif
