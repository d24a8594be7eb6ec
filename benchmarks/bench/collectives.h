/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives and their MPI calls, each in the blocking, the nonblocking and the
 * persistent form.
 */
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
    const int *counts;         /* v-forms, by rank: count */
    const int *displs;         /* v-forms, by rank: blocks one after the other */
    const int *byte_displs;    /* w-forms, by rank: displs in bytes */
    const MPI_Datatype *types; /* w-forms, by rank: type */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    int left;  /* sendrecv: the source */
    int right; /* sendrecv: the destination */
    MPI_Comm comm;
    MPI_Comm ring; /* neighborhood collectives: left and right are the neighbors */
};

#define COLLECTIVE_MAX_REQUESTS 2

struct collective {
    const char *name;
    enum ideal_kind kind;      /* the bound */
    const struct moves *moves; /* what S is; inputs and outputs */
    int (*blocking)(const struct job *job);
    int (*nonblocking)(const struct job *job, MPI_Request *requests);
    int (*persistent)(const struct job *job, MPI_Request *requests);
    bool messages;    /* two messages with two requests, not a collective */
    bool ring;        /* a neighborhood collective */
    bool byte_displs; /* S in bytes must fit an int */
};

enum { COLLECTIVES = 23 };
extern const struct collective collectives[COLLECTIVES];

/* Whether the MPI library that this was built with has persistent collectives. */
bool collectives_have_persistent(void);

/* Whether that MPI library has the type: half and bfloat16 are not in the standard. */
bool collectives_have_type(enum element_type_id type);

/* Whether the MPI library itself takes buffers in device memory. After MPI_Init. */
bool collectives_cuda_aware(void);

/* Frees what calls share; before MPI_Finalize, collective over all ranks. */
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

/*
 * Sets up a call on MPI_COMM_WORLD; collective over all its ranks. The buffers must outlive it.
 * Returns 0, or -1 on every rank when memory is short on one. call_free is due in both cases.
 */
int call_init(struct call *call, const struct collective *collective, const struct options *options,
              const struct shape *shape, const struct buffers *buffers);
void call_free(struct call *call);

/* One complete call. Errors of MPI end the job. */
void call_run(struct call *call);

#endif
