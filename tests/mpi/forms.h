/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The eight collectives in their three forms - blocking, nonblocking, persistent - as calls that
 * check themselves: a call owns guarded buffers, fills them before each start and judges them after
 * completion. Usable from several threads at once, each call from one.
 *
 *     form_make(&c, comm, &shape);
 *     form_fill(&c, salt);                       salts: the same on all ranks, another for each start
 *     form_start(&c, FORM_NONBLOCKING, &request);
 *     MPI_Wait(&request, MPI_STATUS_IGNORE);
 *     ok = form_check(&c);
 *     form_free(&c);
 */
#ifndef TEST_FORMS_H
#define TEST_FORMS_H

#include <mpi.h>
#include <mpi-ext.h>
#include <stdbool.h>
#include <stdint.h>

#include "colls.h"
#include "guard.h"
#include "kinds.h"

/* Open MPI 5 has MPI-4's persistent collectives, 4.1 has them as an extension. */
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define FORM_INIT(Name, ...) MPI_##Name##_init(__VA_ARGS__)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define FORM_INIT(Name, ...) MPIX_##Name##_init(__VA_ARGS__)
#else
#define FORM_INIT(Name, ...) abort() /* nobody gets here: forms_here */
#define NO_PERSISTENT
#endif

/* Counts are int; from MPI-4 on each function has a twin MPI_..._c with MPI_Count and MPI_Aint. */
#if MPI_VERSION >= 4
#define FORM_WIDTHS 2
#define FORM_INIT_c(Name, ...) MPI_##Name##_init_c(__VA_ARGS__)
#else
#define FORM_WIDTHS 1
#endif

enum form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT, NUM_FORMS };

extern const char *const form_names[NUM_FORMS];

/* Whether a call with this key is one of MPI_..._c: half of them are. */
static inline bool form_is_wide(uint64_t key)
{
    return FORM_WIDTHS > 1 && 0 != (key >> 20 & 1);
}

/* How many of the forms this Open MPI has, from the first: without persistent ones 2. */
extern const int forms_here;

/* What a call is: the same on all ranks of its communicator. */
struct form_shape {
    enum coll coll;
    enum kind_id kind;
    /* elements of the vector; in allgather and reduce_scatter forms of a block, about */
    int count;
    int root;      /* modulo the number of ranks */
    bool in_place; /* where the collective has it */
    bool on_host;  /* in host memory, whatever GPURING_MEMORY says */
    uint64_t key;  /* of the shares and places of blocks in the v-forms, and the counts' width */
};

struct form_call {
    struct form_shape shape;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    int rank, size, root;
    const void *send; /* what MPI gets */
    void *recv;
    int *counts, *displs;
    MPI_Count *wide_counts; /* the same for MPI_..._c */
    MPI_Aint *wide_displs;
    int count; /* elements */
    struct guarded in, out;
    int inputs;      /* elements of the input */
    int in_place_at; /* element of the output where the input of an in-place call lies */
    int compared;    /* leading elements of the output that MPI defines */
    uint64_t salt;
    bool filled; /* and not checked yet */
};

enum form_sizes {
    SIZES_TINY,   /* 0 to 70 bytes */
    SIZES_EDGE,   /* around 64, 4096 and 8192 bytes, where small messages change their path */
    SIZES_MIDDLE, /* up to 64 KiB */
    /* 200 KiB to 1 MiB; collectives that share out a vector: for all ranks together */
    SIZES_LARGE,
    SIZES_ANY /* any of them, the large ones seldom */
};

/* A random shape: all of it, or of this collective, or of this collective and kind. */
struct form_shape form_draw(uint64_t *rng, enum form_sizes sizes);
struct form_shape form_draw_coll(uint64_t *rng, enum form_sizes sizes, enum coll coll);
struct form_shape form_draw_kind(uint64_t *rng, enum form_sizes sizes, enum coll coll,
                                 enum kind_id kind);

/* Can this collective have data of this kind? */
bool form_takes(enum coll coll, enum kind_id kind);

/* Makes the buffers. A call may be filled, started and checked any number of times. */
void form_make(struct form_call *c, MPI_Comm comm, const struct form_shape *shape);
void form_fill(struct form_call *c, uint64_t salt);

/*
 * Gives the call arrays of its own, in one allocation that begins at wide_counts, with what is in
 * the narrow ones that it has; returns the bytes.
 */
size_t form_arrays(struct form_call *c);

/* Carries out or starts; a null request is first made, in the persistent form. MPI's error code. */
int form_start(const struct form_call *c, enum form form, MPI_Request *request);
int form_init(const struct form_call *c, MPI_Request *request);

/* True when this rank's output is right and nothing else was written. */
bool form_check(struct form_call *c);
void form_free(struct form_call *c);

/* All of that once, waiting with MPI_Wait. */
bool form_run(MPI_Comm comm, const struct form_shape *shape, enum form form, uint64_t salt);

/*
 * Sometimes sleeps up to 2 ms, sometimes keeps the core busy, mostly neither; *rng is the rank's
 * own.
 */
void form_delay(uint64_t *rng);

#endif
