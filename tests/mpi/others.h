/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives that gpuring has no kernels for, and the seven on intercommunicators, as calls
 * that are made twice: on plain host memory in the blocking form, which is the reference, and on
 * memory that guarded_lend() gives, in any form. Both copies of every buffer begin with the same
 * bytes, and must end with the same bytes, gaps and holes too.
 *
 *     others_make(&c, scene, &what);
 *     others_fill(&c, salt);                        another salt for each start
 *     others_refer(&c, FORM_NONBLOCKING);
 *     others_start(&c, FORM_NONBLOCKING, &request);
 *     MPI_Wait(&request, MPI_STATUS_IGNORE);
 *     ok = others_check(&c);
 *     others_free(&c);
 */
#ifndef TEST_OTHERS_H
#define TEST_OTHERS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "forms.h"
#include "guard.h"
#include "kinds.h"

/* ---- communicators ---- */

enum { ON_INTRA = 1, ON_INTER = 2, ON_TOPOLOGY = 4, ON_SELF = 8 };

/*
 * A communicator, and whom this rank sends to and receives from in a collective that has blocks for
 * several.
 */
struct others_scene {
    const char *name;
    unsigned kind; /* one of ON_ ..., MPI_COMM_SELF also ON_INTRA */
    MPI_Comm comm; /* MPI_COMM_NULL: there are too few ranks for it */
    int rank, size;
    int side;  /* of an intercommunicator, 0 or 1; else 0 */
    int other; /* the side of those it talks with */
    int sources, dests;
    int *source, *dest; /* ranks, or MPI_PROC_NULL */
    /* how many equal ones come before, where equal ones are matched in order */
    int *source_turn, *dest_turn;
    /* a Cartesian one with equal ones, where blocking and other forms give them different blocks */
    bool twisted;
};

#define NUM_SCENES 7
void others_scenes_open(struct others_scene scenes[NUM_SCENES]);
void others_scenes_close(struct others_scene scenes[NUM_SCENES]);

/* ---- types ---- */

/* Messages are of whole units: every layout has a number of elements that divides this. */
#define UNIT 6

#define NUM_BASES 3
#define NUM_LAYOUTS 8
#define LAYOUTS_OF_3 5 /* the first ones have three elements */
#define NUM_OPS 6

extern const char *const others_layout_names[NUM_LAYOUTS];

/* A committed type, and how many elements of its base it has. Base 0 is the one of single bytes. */
MPI_Datatype others_type(int base, int layout);
int others_elements(int layout);

/* count elements of this type, which it frees, at an absolute address. */
MPI_Datatype others_type_at(MPI_Datatype type, int count, MPI_Aint address, bool as_struct);

/* Frees what is not predefined. */
void others_type_drop(MPI_Datatype type);

/*
 * Operations, each with its type; that of operation 0 is a single byte. others_op_put() sets an
 * element to a value that the operation takes.
 */
MPI_Datatype others_op_type(int op);
MPI_Op others_op_make(int op);
void others_op_drop(int op, MPI_Op *handle);
void others_op_put(int op, char *element, uint64_t bits);

/* ---- what a call is ---- */

enum others_coll {
    OTHERS_GATHER,
    OTHERS_GATHERV,
    OTHERS_SCATTER,
    OTHERS_SCATTERV,
    OTHERS_ALLTOALL,
    OTHERS_ALLTOALLV,
    OTHERS_ALLTOALLW,
    OTHERS_SCAN,
    OTHERS_EXSCAN,
    OTHERS_NEIGHBOR_ALLGATHER,
    OTHERS_NEIGHBOR_ALLGATHERV,
    OTHERS_NEIGHBOR_ALLTOALL,
    OTHERS_NEIGHBOR_ALLTOALLV,
    OTHERS_NEIGHBOR_ALLTOALLW,
    OTHERS_REDUCE_LOCAL,
    OTHERS_ALLREDUCE, /* from here on: on intercommunicators */
    OTHERS_ALLGATHER,
    OTHERS_ALLGATHERV,
    OTHERS_REDUCE_SCATTER,
    OTHERS_REDUCE_SCATTER_BLOCK,
    OTHERS_BCAST,
    OTHERS_REDUCE,
    NUM_OTHERS
};

/* how a side's blocks are told */
enum others_spread { SPREAD_NONE, SPREAD_ONE, SPREAD_EVEN, SPREAD_V, SPREAD_W };
/* what a block's size depends on */
enum { VARY_FROM = 1, VARY_TO = 2 };
enum others_rooted { ROOTED_NOT, ROOTED_TO, ROOTED_FROM };

struct others_info {
    const char *name;
    unsigned on;
    int forms; /* that are tested, from the first */
    enum others_spread send, recv;
    unsigned vary;
    enum others_rooted rooted;
    bool in_place, reduces;
};

extern const struct others_info others_infos[NUM_OTHERS];

/* The same on all ranks. */
struct others_case {
    enum others_coll coll;
    int number;   /* for messages */
    uint64_t key; /* of all that is not here, and the counts' width */
    int root, root_side;
    int op, base;
    bool in_place, absolute; /* absolute: MPI_BOTTOM, and each block in an allocation of its own */
};

/* A random case, of the collective given. */
struct others_case others_draw(uint64_t *rng, const struct others_scene *on, enum others_coll coll);

/* ---- calls ---- */

enum { PLAIN, LENT, COPIES };

struct others_block {
    int units, base, layout;
    int count;          /* of its type */
    MPI_Aint at;        /* from the address that MPI gets */
    MPI_Aint low, high; /* its first byte and that after its last, from there */
};

struct others_buffer {
    struct guarded copy[COPIES];
    char *before;         /* what both had in them */
    MPI_Aint mpi[COPIES]; /* the address of their first byte, for MPI */
    MPI_Aint low, high;   /* of the blocks in it */
    int slack;            /* bytes before them */
};

/* What MPI gets for one side. */
struct others_end {
    void *at;
    int count;
    MPI_Datatype type;
    int *counts, *displs;
    MPI_Count *counts_c; /* these two for MPI_..._c */
    MPI_Aint *displs_c;
    MPI_Aint *places;
    MPI_Datatype *types;
};

struct others_side {
    enum others_spread spread;
    bool absolute;
    bool in_place, unread; /* unread: MPI does not look at this side of this rank */
    bool absent;           /* and there is nothing to look at */
    int n, buffers;
    struct others_block *blocks;
    struct others_buffer *buffer;
    struct others_end end[COPIES];
};

struct others_call {
    struct others_case what;
    const struct others_scene *on;
    struct others_side send, recv;
    int *shares; /* of a reduce_scatter */
    MPI_Count *shares_c;
    int root; /* as MPI wants it */
    MPI_Op op[COPIES];
    bool dropped[COPIES];
    uint64_t salt;
};

void others_make(struct others_call *c, const struct others_scene *on,
                 const struct others_case *what);
void others_fill(struct others_call *c, uint64_t salt);
void others_refer(const struct others_call *c, enum form form);

/*
 * Carries out or starts the call on lent memory; a null request is first made, in the persistent
 * form.
 */
void others_start(const struct others_call *c, enum form form, MPI_Request *request);
void others_init(const struct others_call *c, MPI_Request *request);

/*
 * Frees the program's handles of the types and the operation of one copy, as MPI allows once a call
 * is under way.
 */
void others_drop_handles(struct others_call *c, int copy);

bool others_check(struct others_call *c, enum form form);
void others_free(struct others_call *c);

/*
 * Parts of others_make(): which blocks there are and how large; where they lie, their types,
 * buffers and ends.
 */
void others_plan(struct others_call *c);
void others_side_make(struct others_call *c, struct others_side *s);
void others_side_drop(const struct others_side *s, int copy);
void others_side_free(struct others_side *s);

/* ---- only on devices: with TAP lines ---- */

void others_steady(const struct others_scene *scenes);
void others_copies(void);
void others_parcels(void);

#endif
