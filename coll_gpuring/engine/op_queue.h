/* SPDX-License-Identifier: BSD-3-Clause */
/* Who drives ops: queues, requests, and the progress thread; engine/op.h draws them. */
#ifndef GR_ENGINE_OP_QUEUE_H
#define GR_ENGINE_OP_QUEUE_H

#include "mpi/ompi.h"

#include "engine/choose.h"
#include "engine/op.h"
#include "engine/runtime.h"
#include "engine/watchdog.h"
#include "mpi/module.h"
#include "mpi/staging/copy_stream.h"
#include "mpi/staging/stage.h"

#include "exec/gpu/team.h"
#include "sched/sched.h"

BEGIN_C_DECLS

struct gr_net_links;
struct gr_team;

struct gr_op_queue {
    mca_coll_gpuring_module_t *module;
    struct ompi_communicator_t *comm;
    struct gr_team *team;
    enum gr_call_order order; /* of its calls; */
    uint64_t seq;             /* how many there were, */
    uint32_t setups;          /* set-ups that they have asked for, */
    uint32_t paired;          /* and calls that p2p_split.c has looked at */
    /*
     * [0]: chosen at the time of the call; when lines have come, [1]: in host memory, [2]: on
     * devices
     */
    struct gr_chosen last[3][GR_NCOLLS];
    bool lost;                 /* its set-up failed half-way: it is left as it is */
    struct gr_gpu_team *gpu;   /* NULL: no call on devices yet */
    struct gr_net_links *held; /* links to other nodes; NULL: none */
    bool persistent;           /* of a persistent request */
    struct gr_timing *timing;  /* NULL: no call whose steps are timed yet */
    struct gr_op own;          /* of the blocking call */
    /*
     * The queue has a lock of its own: Open MPI makes communicators with nonblocking calls out of
     * opal_progress, maybe below somebody who has the queue.
     */
    gr_lock_t gate;
    struct gr_op *head, **tail; /* in call order */
    struct gr_op *unposted;     /* the first of them that has not been looked at for posting */
    gr_lock_t busy;             /* who has it drives the queue; this is theirs: */
    struct gr_op *finished;     /* whose requests are to be completed in an MPI call */
    struct gr_watch watch;
    /* under the list's lock: */
    /* link NULL: not in the list of those that opal_progress drives */
    struct gr_op_queue *next, **link;
};

/* The number of the next set-up of calls of the queue's order: no other order has it. */
static inline uint32_t gr_setup_number(struct gr_op_queue *queue)
{
    return GR_NORDERS * queue->setups++ + (uint32_t) queue->order;
}
/* NULL is fine; its queue must be empty */
void mca_coll_gpuring_queue_free(struct gr_op_queue *queue);

/*
 * A nonblocking op is called or started: it is to come after what is on default streams now (struct
 * gr_points).
 */
static inline void mca_coll_gpuring_op_mark(struct gr_op *op, const struct gr_op_queue *queue)
{
    mca_coll_gpuring_points_set(&op->stage.after, &op->call,
                                NULL == queue->gpu ? NULL : queue->gpu->gpu);
}

/*
 * Do op, after all that is in the queue, and wait for it. OMPI error code, or
 * OMPI_ERR_NOT_AVAILABLE: no links.
 */
int mca_coll_gpuring_queue_do(struct gr_op_queue *queue, struct gr_op *op);

/* Put ops of different queues into their queues and leave them to whoever drives. */
void mca_coll_gpuring_queue_start(struct gr_op *const *ops, size_t n);

/*
 * Let opal_progress drive queues: before the first op that nobody waits for in a blocking call.
 * OMPI error code.
 */
int mca_coll_gpuring_queues_open(void);

/* Drive all listed queues once; returns what was moved. */
uint64_t mca_coll_gpuring_queues_drive(bool here);

/* Whether some queue is listed. */
bool mca_coll_gpuring_queues_any(void);

/* At the end of the component. */
void mca_coll_gpuring_queues_close(void);

END_C_DECLS

#endif
