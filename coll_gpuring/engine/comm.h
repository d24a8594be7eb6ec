/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator as the engine sees it: its ranks, and what all its calls share. */
#ifndef GR_ENGINE_COMM_H
#define GR_ENGINE_COMM_H

#include "engine/collectives.h"
#include "engine/failure_messages.h"
#include "engine/lock.h"
#include "engine/network_probe.h"
#include "engine/params.h"

#include "topo/torus.h"
#include "tune/constants.h"
#include "tune/machine.h"
#include "tune/select.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gr_op_queue;
struct gr_process;

struct gr_comm {
    int rank;         /* of this process */
    int size;         /* number of ranks */
    uint32_t id;      /* the runtime's; used again after the communicator is freed */
    void *mpi;        /* the runtime's communicator; NULL until the first call. Borrowed */
    const char *name; /* in the runtime's communicator, which may change it */
    struct gr_process *process; /* this process; borrowed */
    bool inter;                 /* an intercommunicator, on which the engine does no call */

    struct gr_op_queue *queues[GR_NORDERS]; /* NULL until the first call of that order; owned */
    atomic_int making;                      /* lock: one thread decides, or makes a queue */
    _Atomic uint64_t nonce[GR_NORDERS];     /* agreed in the first set-up of the order; 0: none */

    /* set once, before the first queue is made; equal on all ranks but for pids and direct */
    gr_params_t params;        /* the values that all ranks use */
    bool gpu;                  /* some rank may have buffers on a device */
    struct gr_torus torus;     /* that the ranks form; ndims 0: none is known */
    struct gr_machine machine; /* the node's; all zero: built-in constants are used */
    struct gr_machine fixed;   /* of it what was not measured in this job */
    /* those of the job's first rank, for devices; NULL: built-in ones are used. Borrowed */
    const struct gr_constants *constants;

    /* ranks and nodes */
    int32_t *pids;           /* [rank]; owned */
    bool direct;             /* this process may read the memory of all ranks, if it can */
    unsigned char *remote;   /* [rank]: on another node; NULL: no rank is. Owned */
    int *order;              /* [position]: ranks node by node; NULL: one node. Owned */
    struct gr_torus cluster; /* ranks of a node x nodes; ndims 0: nodes are uneven, or one */
    int nodes;               /* number of nodes; set where remote is */
    int node_ranks;          /* most ranks of a node; set where remote is */
    bool oversubscribed;     /* ranks share cores */
    int rails;               /* network devices that links lie on (net/rails.h); 1: UCX chooses */
    bool measures_network;   /* each order's first call measures the network between its nodes */
    struct gr_choice agreement_choice; /* between nodes: how call records are exchanged */

    /* between nodes: what was measured, which a call of the order sets once */
    struct gr_order_network network[GR_NORDERS];

    /* failures (engine/failure.h) */
    atomic_int failed;  /* GR_ERR_... that all calls return; 0: none */
    atomic_bool untold; /* the other ranks are still to be told */
    atomic_bool kept;   /* failed, and never to be freed: failure_messages.c */
    char why[140];      /* what failed on this rank, in words */
    atomic_int writing; /* ops whose kernels may write to other ranks' buffers */
    /* this rank has told the others that its kernels no longer write to their buffers */
    atomic_bool out;
    atomic_int outs;        /* other ranks that have told this one the same of their kernels */
    bool enlisted;          /* in the process's list of communicators */
    struct gr_comm_key key; /* identifies it in messages about failures */
    struct gr_comm *next;   /* next communicator of the process's list */
    /* what points to this one in the list: thousands may be freed, in any order. NULL: it is in none */
    struct gr_comm **linked;
};

/*
 * begin: kernels of an op may write to other ranks' buffers from here on. False if the communicator
 * has failed already: then the op must not begin. end: they no longer do.
 */
static inline bool gr_comm_begin_writing(struct gr_comm *comm)
{
    atomic_fetch_add(&comm->writing, 1);
    return 0 == comm->failed;
}

static inline void gr_comm_end_writing(struct gr_comm *comm)
{
    atomic_fetch_sub(&comm->writing, 1);
}

/* What to call a communicator in messages; MPI gives no name to some (MPI_Intercomm_merge). */
static inline const char *gr_comm_name(const struct gr_comm *comm)
{
    return '\0' == comm->name[0] ? "a communicator without name" : comm->name;
}

/* What it makes of the network that was measured between its nodes. */
static inline struct gr_network_use gr_comm_network_use(const struct gr_comm *comm)
{
    return (struct gr_network_use) {comm->rails, comm->oversubscribed};
}

/* init: no call yet. free: its queues, and what it owns. */
void mca_coll_gpuring_comm_init(struct gr_comm *comm, struct gr_process *process);
void mca_coll_gpuring_comm_free(struct gr_comm *comm);

#endif
