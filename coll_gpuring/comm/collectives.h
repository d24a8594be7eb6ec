/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's collectives: their table, and the reasons for which a call is left to Open MPI. */
#ifndef GR_COMM_COLLECTIVES_H
#define GR_COMM_COLLECTIVES_H

#include "sched/sched.h"

#include <stdbool.h>

/*
 * Rows of the table in collectives.c: first those that gpuring does itself, Barrier and "the eight
 * collectives", which have buffers.
 */
enum gr_call_id {
    GR_CALL_ALLREDUCE,
    GR_CALL_ALLGATHER,
    GR_CALL_ALLGATHERV,
    GR_CALL_REDUCE_SCATTER,
    GR_CALL_REDUCE_SCATTER_BLOCK,
    GR_CALL_BCAST,
    GR_CALL_REDUCE,
    GR_CALL_ALLTOALL,
    GR_CALL_BARRIER, /* no buffers */
    GR_NSUPPORTED,
    /* those whose buffers it stages, where they are on devices: */
    GR_CALL_GATHER = GR_NSUPPORTED,
    GR_CALL_GATHERV,
    GR_CALL_SCATTER,
    GR_CALL_SCATTERV,
    GR_CALL_ALLTOALLV,
    GR_CALL_ALLTOALLW,
    GR_CALL_SCAN,
    GR_CALL_EXSCAN,
    GR_CALL_NEIGHBOR_ALLGATHER,
    GR_CALL_NEIGHBOR_ALLGATHERV,
    GR_CALL_NEIGHBOR_ALLTOALL,
    GR_CALL_NEIGHBOR_ALLTOALLV,
    GR_CALL_NEIGHBOR_ALLTOALLW,
    GR_CALL_REDUCE_LOCAL, /* blocking only, on no communicator */
    GR_NCALLS
};

/*
 * The orders in which a communicator's calls come. Open MPI starts nonblocking collectives on the
 * application's communicators by itself, while it progresses (MPI_Comm_idup), at another moment on
 * each rank. So nothing that a blocking call uses may depend on which nonblocking calls came before
 * it: each order has a queue and numbers of its own. The init of a persistent call counts as a
 * blocking one.
 */
enum gr_call_order { GR_ORDER_BLOCKING, GR_ORDER_NONBLOCKING, GR_NORDERS };

/* Why a call falls back; names in mpi/report.c. */
enum gr_fallback_reason {
    GR_FALLBACK_OP,     /* a user-defined operation, or one that is not commutative */
    GR_FALLBACK_JOBS,   /* ranks of several jobs (spawn, connect) */
    GR_FALLBACK_PEERS,  /* gpuring is off, absent or different on some rank */
    GR_FALLBACK_NODES,  /* ranks on several nodes, where coll_gpuring_nodes does not want them */
    GR_FALLBACK_SETUP,  /* no links: shared memory was not to be had, or no network */
    GR_FALLBACK_HOST,   /* all buffers are in host memory, and coll_gpuring_host is 0 */
    GR_FALLBACK_ALONE,  /* a communicator of one rank */
    GR_FALLBACK_INTER,  /* an intercommunicator */
    GR_FALLBACK_STAGED, /* a collective without kernels, on buffers on devices */
    /* between nodes, too short to ask where its buffers are, and coll_gpuring_host is 0 */
    GR_FALLBACK_SHORT,
    GR_FALLBACK_LARGE,  /* more than coll_gpuring_pack_mib, in host memory */
    GR_FALLBACK_MEMORY, /* links would need more than coll_gpuring_setup_mib */
    GR_NFALLBACKS
};

/* How the elements of a buffer lie. */
enum gr_parts {
    GR_PARTS_NONE, /* there is no such buffer */
    GR_PARTS_ONE,  /* one run */
    GR_PARTS_SUM,  /* one run, of all ranks' counts */
    GR_PARTS_OWN,  /* one run, of this rank's count */
    GR_PARTS_EACH, /* a block for each rank or neighbour: all of one size, one after the other, */
    GR_PARTS_V,    /* counts and displacements in elements, */
    GR_PARTS_W     /* counts, displacements in bytes, and types */
};

/* Which ranks have it; between groups, root is the only one of its group that has any. */
enum gr_holders { GR_HELD_BY_ALL, GR_HELD_BY_ROOT };

/* One collective. */
struct gr_call_row {
    const char *name;  /* in reports and messages: "allreduce" */
    enum gr_coll coll; /* what it computes; only for those that gpuring does itself */
    struct {
        enum gr_parts parts;     /* how the elements lie */
        enum gr_holders holders; /* which ranks have such a buffer */
    } send, receive;             /* the two buffers */
    bool has_root;               /* it has an argument root */
    bool reduces;                /* it has an argument op */
    bool neighbors;              /* it is a neighborhood collective */
    bool elementwise;            /* any run of elements may be a call of its own */
};
extern const struct gr_call_row gr_calls[GR_NCALLS];

/* Whether the collective has buffers; a barrier has none. */
static inline bool gr_call_has_buffers(enum gr_call_id id)
{
    return GR_PARTS_NONE != gr_calls[id].receive.parts;
}

#endif
