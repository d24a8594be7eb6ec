/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator as the engine sees it: its ranks, and what all its calls share. A queue: the calls
 * of one order (comm/collectives.h), or of a persistent request, with their links. Both are data;
 * engine/comm_queues.c makes and frees them.
 */
#ifndef GR_COMM_COMM_H
#define GR_COMM_COMM_H

#include "comm/collectives.h"
#include "comm/params.h"
#include "comm/process.h"

#include "link/public.h"
#include "sched/protocol.h"
#include "topo/torus.h"
#include "tune/constants.h"
#include "tune/machine.h"
#include "tune/network.h"
#include "tune/select.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_gpu_team;
struct gr_net_links;
struct gr_op;
struct gr_team;
struct gr_timing;

/* ---- a communicator ---- */

/*
 * What a communicator's calls of one order know of the network. GR_NETWORK_KNOWN comes first: on
 * one node, or where parameters say it all, nothing is to be measured.
 */
enum gr_network_state {
    GR_NETWORK_KNOWN, /* `network` is set, and stays as it is */
    GR_NETWORK_NEW,   /* the next call is to measure */
    GR_NETWORK_ASKED  /* a call that has not had its turn yet measures */
};

struct gr_order_network {
    _Atomic(enum gr_network_state) state;
    struct gr_network network; /* equal on all ranks; all zero: nothing was measured */
};

/* Whether a call that is submitted now cannot choose before its turn. */
static inline bool gr_network_is_open(const struct gr_order_network *n)
{
    return GR_NETWORK_KNOWN != atomic_load_explicit(&n->state, memory_order_acquire);
}

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

    /* failures (comm/failure.h) */
    atomic_int failed;  /* GR_ERR_... that all calls return; 0: none */
    atomic_bool untold; /* the other ranks are still to be told */
    atomic_bool kept;   /* failed, and never to be freed: comm/failure.c */
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
    return NULL == comm->name || '\0' == comm->name[0] ? "a communicator without name" : comm->name;
}

/* ---- a queue ---- */

/* Progress seen by a waiting rank. All zero at first. */
struct gr_watch {
    uint64_t moved;   /* progress; increased by who drives the queue */
    uint64_t before;  /* value of moved at the last poll */
    unsigned idle;    /* polls without progress since then */
    unsigned checked; /* value of idle at the last check */
    unsigned most;    /* polls between two checks, where polls are slow; 0: as many as usual */
    double since;     /* begin of waiting, in seconds; 0: the clock was not read yet */
    double last;      /* when the clock was read last */
    double next;      /* seconds of waiting after which to report */
    double showed;    /* when the wait was written to `shown` last */
    struct gr_public_queue *shown; /* has the wait, for others to read; NULL: nothing has */
    const struct gr_comm *told;    /* a wait in it was reported; NULL: none was */
};

/*
 * Calls of one size follow each other, so a queue keeps its last choices. That made at the call is
 * kept by the thread that makes the calls; those after an agreement by the thread that drives the
 * queue, which may be the progress thread.
 */
enum gr_chosen_when {
    GR_CHOSEN_AT_CALL,
    GR_CHOSEN_TO_ASK,         /* at the call: whether it is worth an agreement */
    GR_CHOSEN_IN_TURN,        /* after the network between nodes was measured */
    GR_CHOSEN_AGREED_HOST,    /* after an agreement: the host runs the call */
    GR_CHOSEN_AGREED_KERNELS, /* after an agreement: kernels do */
    GR_NCHOSEN
};

/* The last choice, for the next call with the same arguments of the model. */
struct gr_chosen {
    size_t bytes;            /* of the call; 0: there is no choice yet */
    size_t post_bytes;       /* most that a rank posts to a mailbox */
    enum gr_path path;       /* devices only */
    bool tuned;              /* devices only: it follows the tuning file's constants of them */
    bool fetches;            /* host memory only: single copy is allowed */
    struct gr_choice choice; /* what was chosen */
    bool bounded;            /* its links may be made, whatever the root (engine/setup_bound.c) */
};

struct gr_op_queue {
    struct gr_comm *comm;    /* outlives the queue */
    struct gr_team *team;    /* links and mailboxes in host memory; owned */
    struct gr_gpu_team *gpu; /* links of devices; NULL: no call on devices yet. Owned */
    bool tuned; /* all devices of gpu are of the model of which the tuning file has constants */
    struct gr_net_links *held;     /* links to other nodes; NULL: none. Owned */
    atomic_bool link_failed;       /* one of them may have failed: they are to be looked at */
    struct gr_timing *timing;      /* NULL: no call whose steps are timed yet. Owned */
    enum gr_call_order order;      /* of its calls */
    struct gr_public_queue *shown; /* calls so far, and what others may read. Owned */
    uint32_t setups;               /* set-ups that its calls have asked for */
    uint64_t told;                 /* state of gr_ipc_record() */
    uint32_t paired;               /* calls that mpi/staging/p2p_split.c has looked at */
    bool lost;                     /* its set-up failed half-way: it is never freed */
    bool persistent;               /* of a persistent request */
    /* [collective]: the choices for its last calls; NULL: no memory, or none yet. Owned */
    struct gr_chosen *last[GR_NCHOSEN];

    /*
     * order_lock guards head, tail and unposted. It is apart from busy, since Open MPI makes
     * communicators with nonblocking calls out of gr_runtime_progress(), below a caller that may
     * hold busy.
     */
    gr_lock_t order_lock;
    struct gr_op *head, **tail; /* in call order */
    struct gr_op *unposted;     /* the first op whose mailbox post was not tried yet */

    /* Who holds busy drives the queue. It guards finished, watch and the ops' states. */
    gr_lock_t busy;
    struct gr_op *finished; /* requests to be completed in the next MPI call */
    struct gr_watch watch;  /* for how long nothing has moved */

    /*
     * The list of queues that gr_runtime_progress() drives, under its lock. link NULL: not in the
     * list.
     */
    struct gr_op_queue *next, **link;
};

/* The number of the next set-up of calls of the queue's order: no other order has it. */
static inline uint32_t gr_setup_number(struct gr_op_queue *queue)
{
    return GR_NORDERS * queue->setups++ + (uint32_t) queue->order;
}

#endif
