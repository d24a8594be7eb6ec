/* SPDX-License-Identifier: BSD-3-Clause */
/* The module of one communicator. */
#ifndef GR_MPI_MODULE_H
#define GR_MPI_MODULE_H

#include "mpi/ompi.h"

#include "engine/collectives.h"
#include "mpi/params.h"

#include "topo/torus.h"
#include "tune/select.h"

BEGIN_C_DECLS

struct gr_op_queue;
struct gr_stage;

/* The neighbourhood collectives have no types of their own. */
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

/* Tells a communicator from all others that its ranks have, in failure_messages.c. */
struct gr_comm_key {
    uint64_t members; /* a hash of its ranks, in order */
    uint32_t id;
    uint32_t count; /* of those with the same id and members, from 1 on */
};

typedef struct mca_coll_gpuring_module {
    mca_coll_base_module_t super;
    GR_FOR_EACH_FUNCTION(GR_SAVED)
    struct gr_op_queue *queues[GR_NORDERS]; /* NULL until the first call of that order */
    atomic_int making;                      /* lock: some thread decides, or makes a queue */
    struct ompi_communicator_t *comm;       /* NULL until the first call */
    /* that all ranks have agreed on with the first set-up of an order; 0: none yet */
    _Atomic uint64_t nonce[GR_NORDERS];
    /* failure.c, failure_messages.c: */
    /* what all its calls return, an OMPI or MPI error code; 0: it has not failed */
    atomic_int failed;
    atomic_bool untold; /* the other ranks are still to be told */
    char why[140];      /* what failed on this rank, in words */
    atomic_int writing; /* ops whose kernels may write to other ranks' buffers; */
    atomic_bool out;    /* it has failed, and the others know that none does any more; */
    atomic_int outs;    /* ranks that have said so */
    struct gr_comm_key key;
    struct mca_coll_gpuring_module *next_module; /* in the list of those on which a call was made */
    gr_params_t params;                          /* the team's: equal on all ranks; */
    struct gr_torus torus;                       /* and the torus that they form, if it is known */
    bool gpu, all_gpu; /* some rank may have buffers on a device; or all may */
    /* of the last call before the driver was loaded: its send and receive buffer */
    const void *hosts[2];
    atomic_bool decided; /* whether the team may be used is known: */
    int refused;         /* an enum gr_fallback_reason, or -1 */
    /* of blocking calls that are left to the saved collective; NULL: none yet, or in use */
    _Atomic(struct gr_stage *) stage;
    int32_t *pids;         /* of the ranks; owned */
    unsigned char *remote; /* which of them are on other nodes; NULL: none is; owned; */
    int *order;            /* and then, their order node by node; owned; */
    /* and the torus of ranks of a node x nodes; ndims 0: they form none; */
    struct gr_torus cluster;
    int nodes, node_ranks; /* how many there are, and most ranks of one; */
    bool shared;           /* and whether ranks share cores; */
    /* and devices that links between them lie on (rails.h); 1: as the network chooses */
    int rails;
    struct gr_choice agreement_choice; /* and how call records go between them */
    bool direct;                       /* whether this process can read the memory of them all */
} mca_coll_gpuring_module_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_module_t);

/* At the component's beginning and end. */
void mca_coll_gpuring_modules_open(void);
void mca_coll_gpuring_modules_close(void);

mca_coll_base_module_t *mca_coll_gpuring_comm_query(struct ompi_communicator_t *comm,
                                                    int *priority);

END_C_DECLS

#endif
