/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call on one rank: its buffers, what should come out, and the verdict.
 *
 *     task_plan(&t, ...)    buffers, once
 *     task_fill(&t, round)  inputs, before each start
 *     ...                   MPI
 *     task_check(&t)        after completion
 *     task_free(&t)
 */
#ifndef RANDOM_TASK_H
#define RANDOM_TASK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "program.h"

/* A communicator as this rank sees it. */
struct comm {
    MPI_Comm mpi; /* MPI_COMM_NULL: this rank is not in it, or it has been freed */
    int rank, size;
    int *world;  /* of each rank, its rank in MPI_COMM_WORLD; lives until the program's end */
    bool inter;  /* an intercommunicator; rank, size and world are of this rank's group */
    bool second; /* of the two groups this rank's is the second, in an order that all know */
    int *remote; /* the same as world of the group that data come from: the other group of an
                          intercommunicator, else world itself */
    int remote_size;
    enum origin topology;        /* O_CART, O_GRAPH, or anything else: none */
    int *sources, *destinations; /* the neighbors, with a topology; MPI_PROC_NULL: no rank there */
    int indegree, outdegree;
    MPI_Request idup; /* while MPI_Comm_idup is pending */
};

/* What a block of the output holds: input elements from `start` on, of these ranks, combined in
 * their order. */
struct want {
    int first, last; /* ranks of the communicator, or its other group; last < first: anything;
                        MPI_PROC_NULL: nothing is written there */
    int block;       /* of the inputs of these ranks */
    int start;       /* element of that */
};

struct task {
    const struct step *step;
    const struct comm *comm;
    int number;   /* of the step in the program */
    int root;     /* what MPI gets */
    MPI_Comm mpi; /* as it was when the call was made */
    struct side send, recv;
    struct want *want; /* of each block of recv */
    bool in_place;     /* on this rank */
    int *names;        /* of each block of send, what `want` calls it; NULL: its number */
    int input;    /* the block of recv that is this rank's input, too; ALL_BLOCKS; or NO_BLOCK */
    int checked;  /* leading elements of a single block of recv; INT_MAX: all */
    uint64_t rng; /* this rank's draws for this call */
    int round;    /* of the last start */
    char *before; /* recv's memory as it was before the call */
    /* what MPI is asked */
    const void *send_at;
    void *recv_at;
    int send_count, recv_count;
    MPI_Datatype send_type, recv_type;
    int *send_counts, *send_displs, *recv_counts, *recv_displs;
    MPI_Datatype *send_types, *recv_types;
    MPI_Aint *send_offsets, *recv_offsets; /* displs of neighbor_alltoallw */
    int *shares;                           /* of reduce_scatter: the counts of all ranks */
    /* the same for MPI_..._c, or NULL */
    MPI_Count *send_counts_c, *recv_counts_c, *shares_c;
    MPI_Aint *send_displs_c, *recv_displs_c;
    MPI_Op op; /* a user's: this call's own, until it is MPI_OP_NULL */
    /* requests */
    int outstanding;
    MPI_Request persistent; /* MPI_REQUEST_NULL: none */
    bool active;
};

/* The kind of memory of collectives' buffers. (Open MPI is not asked to send messages from
 * devices.) */
extern enum devmem_kind task_memory;

/* Whether blocking messages between two ranks are sent by MPI_Sendrecv: see main.c. */
extern bool task_sendrecv;

#define NO_BLOCK (-1)
#define ALL_BLOCKS (-2)

/* The collectives' buffers and arguments; messages.c has those of messages, neighbors.c those of
 * neighbourhood collectives. */
void task_collective(struct task *t);
void task_neighbors(struct task *t);

/*
 * Addresses of nothing, neither aligned nor MPI's constants. They are two since MPI_..._init of
 * Open MPI 4.1 refuses one address for both buffers.
 */
#define TASK_WILD_SEND ((void *) 25)
#define TASK_WILD_RECV ((void *) 51)

/* For a call that does not use this side: nonsense where the step says so, else valid arguments. */
void task_ignore_send(struct task *t);
void task_ignore_recv(struct task *t);

/* Makes the sides and the arguments that follow from them; counts are elements. */
void task_send(struct task *t, int n, const int *counts, enum placement placement);
void task_recv(struct task *t, int n, const int *counts, enum placement placement);

/* Elements that block (i, j) of this step has; with `alike` those of (j, i). */
int task_elements(const struct task *t, int i, int j, bool alike);

void task_fill(struct task *t);

/* NULL, or what is wrong. */
const char *task_check(struct task *t);
void task_free(struct task *t);

/* messages.c: the same for point-to-point. Starts them; requests, at most size + 1; the first are
 * those of receives. */
void task_messages(struct task *t);
int task_post(struct task *t, MPI_Request *requests);
/* In one blocking call, or several. */
const char *task_exchange(struct task *t);
/* Notes what a receive says of its message; NULL, or what is wrong. */
const char *task_received(struct task *t, int part, const MPI_Status *status);

/*
 * calls.c: the MPI call; the request is that of a form that has one. Half of the calls are
 * MPI_..._c where there are those. The arrays that a persistent request is made with are gone
 * afterwards.
 */
int task_call(struct task *t, enum call_form form, MPI_Request *request);

/* Frees the user-defined operation, which MPI allows as soon as the call is started. */
void task_forget_op(struct task *t);

#endif
