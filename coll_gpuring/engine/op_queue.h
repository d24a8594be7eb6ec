/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of ops (engine/op.h). A communicator has one for each order of calls
 * (engine/collectives.h), and each persistent request has one of its own.
 */
#ifndef GR_ENGINE_OP_QUEUE_H
#define GR_ENGINE_OP_QUEUE_H

#include "engine/choose.h"
#include "engine/op.h"
#include "engine/runtime.h"
#include "engine/watchdog.h"
#include "engine/comm.h"

#include "exec/gpu/team.h"
#include "sched/sched.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_net_links;
struct gr_team;

struct gr_op_queue {
    struct gr_comm *comm;    /* outlives the queue */
    struct gr_team *team;    /* links and mailboxes in host memory; owned */
    struct gr_gpu_team *gpu; /* links of devices; NULL: no call on devices yet. Owned */
    bool tuned; /* all devices of gpu are of the model of which the tuning file has constants */
    struct gr_net_links *held; /* links to other nodes; NULL: none. Owned */
    atomic_bool link_failed;   /* one of them may have failed: they are to be looked at */
    struct gr_timing *timing;  /* NULL: no call whose steps are timed yet. Owned */
    enum gr_call_order order;  /* of its calls */
    uint64_t seq;              /* calls so far */
    uint32_t setups;           /* set-ups that its calls have asked for */
    uint64_t told;             /* state of mca_coll_gpuring_ipc_record() */
    uint32_t paired;           /* calls that mpi/staging/p2p_split.c has looked at */
    bool lost;                 /* its set-up failed half-way: it is never freed */
    bool persistent;           /* of a persistent request */
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

/* Free the queue with its links; NULL is fine. It must have no ops. */
void mca_coll_gpuring_queue_free(struct gr_op_queue *queue);

/*
 * Append op, drive the queue until op is done, and return its result: 0, or GR_ERR_...;
 * GR_ERR_FALLBACK: no links, the call is to be left to the saved collective.
 */
int mca_coll_gpuring_queue_do(struct gr_op_queue *queue, struct gr_op *op);

/* Append n ops, each to its own queue, and return; whoever drives the queues completes them. */
void mca_coll_gpuring_queue_start(struct gr_op *const *ops, size_t n);

/*
 * Start an op that only posts to a mailbox, which is there, and takes from it: op->early is set, and
 * its buffers are the application's. It is completed at once if the other ranks have posted, or
 * goes on in its queue. False: it cannot be started so, since others are before it.
 */
bool mca_coll_gpuring_queue_start_mail(struct gr_op *op);

/*
 * Register with gr_runtime_progress(), which drives queues with nonblocking ops from then on.
 * Repeated calls are fine. 0, or GR_ERR_...
 */
int mca_coll_gpuring_queues_open(struct gr_process *process);

/*
 * Drive all queues of the list once. here: in an MPI call or gr_runtime_progress(), where messages
 * may be sent. Returns how much was moved.
 */
uint64_t mca_coll_gpuring_queues_drive(struct gr_process *process, bool here);

/* At the end of the component: undo mca_coll_gpuring_queues_open(). */
void mca_coll_gpuring_queues_close(struct gr_process *process);

#endif
