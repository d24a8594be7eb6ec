/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module of one communicator: the saved collectives, and what all its calls share.
 */
#ifndef GR_MPI_MODULE_H
#define GR_MPI_MODULE_H

#include "mpi/ompi.h"

#include "mpi/call.h"
#include "mpi/params.h"

#include "topo/torus.h"
#include "tune/select.h"

BEGIN_C_DECLS

struct gr_op_queue;
struct gr_stage;

/* By __typeof__, since the neighbourhood collectives have no function types of their own. */
#define GR_SAVED(name)                                                          \
    __typeof__(((mca_coll_base_comm_coll_t *) NULL)->coll_##name) saved_##name; \
    mca_coll_base_module_t *saved_##name##_module;

/*
 * The orders in which a communicator's calls come. Open MPI starts nonblocking collectives on the
 * application's communicators by itself, out of opal_progress (MPI_Comm_idup), at another moment on
 * each rank. So nothing that a blocking call uses may depend on which nonblocking calls came before
 * it: each order has a queue and numbers of its own. The init of a persistent call counts as a
 * blocking one.
 */
enum gr_call_order { GR_ORDER_BLOCKING, GR_ORDER_NONBLOCKING, GR_NORDERS };

/* Identifies a communicator in messages about failures (engine/failure_messages.c). */
struct gr_comm_key {
    uint64_t members; /* hash of its ranks in MPI_COMM_WORLD, in order */
    uint32_t id;      /* Open MPI's; used again after the communicator is freed */
    uint32_t count;   /* 1 for the first communicator of that id and members, then 2, ... */
};

typedef struct mca_coll_gpuring_module {
    mca_coll_base_module_t super;
    GR_FOR_EACH_FUNCTION(GR_SAVED)
    struct ompi_communicator_t *comm;       /* NULL until the first call */
    struct gr_op_queue *queues[GR_NORDERS]; /* NULL until the first call of that order; owned */
    atomic_int making;                      /* lock: one thread decides, or makes a queue */
    _Atomic uint64_t nonce[GR_NORDERS];     /* agreed in the first set-up of the order; 0: none */

    /* whether gpuring does calls of this communicator; equal on all ranks */
    atomic_bool decided;   /* the fields below are set */
    int refused;           /* an enum gr_fallback_reason; -1: it does */
    gr_params_t params;    /* the values that all ranks use */
    bool gpu;              /* some rank may have buffers on a device */
    bool all_gpu;          /* every rank may */
    struct gr_torus torus; /* that the ranks form; ndims 0: none is known */

    /* ranks and nodes */
    int32_t *pids;           /* [rank]; owned */
    bool direct;             /* this process can read the memory of all ranks */
    unsigned char *remote;   /* [rank]: on another node; NULL: no rank is. Owned */
    int *order;              /* [position]: ranks node by node; NULL: one node. Owned */
    struct gr_torus cluster; /* ranks of a node x nodes; ndims 0: nodes are uneven, or one */
    int nodes;               /* number of nodes; set where remote is */
    int node_ranks;          /* most ranks of a node; set where remote is */
    bool shared;             /* ranks share cores */
    int rails;               /* network devices that links lie on (rails.h); 1: UCX chooses */
    struct gr_choice agreement_choice; /* between nodes: how call records are exchanged */

    /* failures (engine/failure.h) */
    atomic_int failed;  /* OMPI or MPI error code that all calls return; 0: none */
    atomic_bool untold; /* the other ranks are still to be told */
    char why[140];      /* what failed on this rank, in words */
    atomic_int writing; /* ops whose kernels may write to other ranks' buffers */
    atomic_bool out;    /* failed, and the others were told that no such kernel runs here */
    atomic_int outs;    /* ranks that have said the same */
    struct gr_comm_key key;
    struct mca_coll_gpuring_module *next_module; /* list of communicators with calls */

    const void *hosts[2]; /* send and receive buffer of the last call without a CUDA driver */
    _Atomic(struct gr_stage *) stage; /* kept for blocking fallbacks; NULL: none, or in use */
} mca_coll_gpuring_module_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_module_t);

/* When the component is opened, and closed: a module in reserve, for when memory is short. */
void mca_coll_gpuring_modules_open(void);
void mca_coll_gpuring_modules_close(void);

/* Open MPI asks: a module for the communicator, and its priority. NULL: none. */
mca_coll_base_module_t *mca_coll_gpuring_comm_query(struct ompi_communicator_t *comm,
                                                    int *priority);

END_C_DECLS

#endif
