/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random MPI program: a list of steps that all ranks draw alike from a seed. What a rank draws
 * for itself (delays, tests, waits, layouts, kinds of memory) is not in it.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_STEPS 48
#define MAX_COMMS (MAX_STEPS + 1)
#define MAX_ROOT 840 /* of what is drawn: divisible by every number of ranks up to 8 */

enum step_kind {
    STEP_COLLECTIVE, /* blocking, nonblocking, or the making of a persistent request */
    STEP_MESSAGES,   /* point to point */
    STEP_COMM,       /* a communicator is made */
    STEP_IDUP,       /* MPI_Comm_idup is started */
    STEP_IDUP_WAIT,  /* and waited for */
    STEP_FREE,       /* a communicator is freed, whatever is pending on it */
    STEP_START,      /* persistent requests are started, in an order of each rank's own */
    STEP_RELEASE     /* a persistent request is freed */
};

enum collective {
    C_BARRIER,
    C_BCAST,
    C_REDUCE,
    C_ALLREDUCE,
    C_SCAN,
    C_EXSCAN,
    C_REDUCE_SCATTER,
    C_REDUCE_SCATTER_BLOCK,
    C_ALLGATHER,
    C_ALLGATHERV,
    C_GATHER,
    C_GATHERV,
    C_SCATTER,
    C_SCATTERV,
    C_ALLTOALL,
    C_ALLTOALLV,
    C_ALLTOALLW,
    C_NEIGHBOR_ALLGATHER, /* from here on: on communicators with a topology */
    C_NEIGHBOR_ALLGATHERV,
    C_NEIGHBOR_ALLTOALL,
    C_NEIGHBOR_ALLTOALLV,
    C_NEIGHBOR_ALLTOALLW,
    NUM_COLLECTIVES
};

enum call_form { BLOCKING, NONBLOCKING, PERSISTENT, NUM_CALL_FORMS };

enum pattern {
    P_SHIFT,     /* each rank sends to one and receives from one, by source and tag */
    P_SHIFT_TAG, /* the same with MPI_ANY_TAG */
    P_FUNNEL,    /* all send to the root, which receives with MPI_ANY_SOURCE */
    P_WILD,      /* the same with MPI_ANY_TAG, too, and a barrier behind */
    NUM_PATTERNS
};

enum origin {
    O_DUP,
    O_SPLIT,
    O_CREATE,
    O_CREATE_GROUP,
    O_SPLIT_SHARED,
    O_CART,
    O_GRAPH, /* MPI_Dist_graph_create_adjacent */
    O_INTER, /* an intercommunicator, between two parts of the parent */
    O_MERGE, /* of such a one */
    NUM_ORIGINS
};

struct step {
    enum step_kind kind;
    int what; /* enum collective, enum pattern or enum origin */
    enum call_form form;
    int comm;   /* the communicator it is on: 0, or 1 + the number of the step that made it */
    int target; /* of STEP_RELEASE and STEP_IDUP_WAIT: the number of the step that made the request
                 */
    uint64_t starts; /* of STEP_START: a bit for each such number */
    int basic, op;   /* rows of values.h */
    int count;       /* elements of a block, about */
    int root;        /* modulo the size of the communicator */
    bool in_place;
    bool derived;  /* layouts with gaps, another one on each rank; counts are multiples of
                          LAYOUT_UNIT */
    bool nonsense; /* passed for what MPI ignores */
    bool signs;    /* values that Open MPI itself orders with the wrong sign are among the inputs */
    uint64_t key;  /* of everything else about it */
    int again;     /* how often in a row it came before with this key; the data differ */
};

struct program {
    uint64_t seed;
    int thread;
    bool beyond; /* as in draw_options */
    int n;
    struct step steps[MAX_STEPS];
    bool left_out[MAX_STEPS];
};

struct profile;

struct draw_options {
    bool idup;       /* MPI_Comm_idup may be drawn */
    bool comms;      /* communicators may be made */
    bool neighbors;  /* neighbourhood collectives, and distributed graphs */
    bool inter;      /* intercommunicators */
    bool nonsense;   /* nonsense for ignored arguments */
    bool persistent; /* this Open MPI has persistent collectives */
    bool user_ops;   /* user-defined operations */
    int max_bytes;   /* of a block */
    bool
        beyond; /* what stock Open MPI does wrong and gpuring, in its own collectives, does right */
    const struct profile *profile;
};

void program_draw(struct program *p, uint64_t seed, int thread, const struct draw_options *options);

/*
 * The next program of the cases that the profile has in a fixed order, one after the other: `every`
 * type with every operation in each of the eight collectives, in place and not, or those with
 * 4 MiB, `big`. False: there are no more. *next is 0 for the first one.
 */
bool program_of_cases(struct program *p, uint64_t seed, long *next, int ranks,
                      const struct draw_options *options);

/* Leaves steps out, and those that need them; `given` has an entry for each step. */
void program_leave_out(struct program *p, const bool *given);

/* The call that made the communicator, or the one that it is a duplicate of; NUM_ORIGINS: the
 * program was given it. */
enum origin program_origin(const struct program *p, int comm);

/* One of the eight collectives that gpuring carries out itself, on a communicator where it does. */
bool step_is_of_eight(const struct program *p, const struct step *s);

/* What a step is, in words; returns the text given. */
const char *step_text(const struct program *p, int k, char *text, int room);

extern const char *const collective_names[NUM_COLLECTIVES];

#endif
