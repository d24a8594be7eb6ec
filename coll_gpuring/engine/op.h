/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An op: one call that gpuring does, from its buffers to its end.
 *
 *   MPI_Allreduce       the module's op       queue of the communicator's blocking calls
 *   MPI_Iallreduce      op of a request       queue of the communicator's nonblocking calls
 *   MPI_Allreduce_init  op of a request       queue of that request
 *
 * The ops of a queue run in call order, since they share the links and mailboxes of its team. Only
 * posts to mailboxes run ahead. A persistent request may be started in a different order on each
 * rank, so it has a queue, with links or mailboxes, of its own.
 *
 * Where some rank may have buffers on a device, an op begins with an agreement (call_agreement.h):
 * after it, all ranks know alike whether kernels or the host run the call.
 *
 * A queue is driven by one thread at a time: the blocking call that waits,
 * gr_runtime_progress(), or the progress thread. No thread holds a queue while it progresses Open
 * MPI.
 */
#ifndef GR_ENGINE_OP_H
#define GR_ENGINE_OP_H

#include "engine/call_agreement.h"
#include "engine/collectives.h"
#include "engine/comm.h"
#include "engine/executor.h"
#include "engine/host_steps.h"
#include "engine/op_data.h"
#include "engine/op_hooks.h"
#include "engine/run_device.h"
#include "engine/run_leader.h"

#include "exec/grouped.h"
#include "exec/mailbox.h"
#include "exec/stepper.h"
#include "sched/protocol.h"
#include "tune/select.h"

#include <stdbool.h>
#include <stdint.h>

struct gr_messages;
struct gr_op_queue;
struct gr_setup;

/* The phases of an op, in this order; op.c has what happens in each. */
enum gr_op_phase {
    GR_OP_QUEUED,       /* other ops are before it */
    GR_OP_NETWORK,      /* measures the network between nodes */
    GR_OP_RECORD_LINKS, /* waits for the set-up of the links that call records take */
    GR_OP_AGREEMENT,    /* waits for the call records of other ranks */
    GR_OP_CHOICE,       /* the algorithm is to be chosen: all that it depends on is known */
    GR_OP_SETUP,        /* waits for the set-ups of its links */
    GR_OP_START,        /* the executor is to be started */
    GR_OP_RUNNING,      /* the executor runs it */
    GR_OP_LEAVING,      /* failed; waits until no other rank uses its buffers */
    GR_OP_DONE
};

/*
 * The set-ups that an op may ask for in its turn: of links of the host, of devices, of a leader's
 * boards, and, between nodes, of the links that call records take.
 */
enum gr_op_setup {
    GR_SETUP_HOST,
    GR_SETUP_GPU,
    GR_SETUP_LEADER,
    GR_SETUP_RECORDS,
    GR_SETUPS_OF_OP
};

/* What all ranks know alike about the buffers of a call. */
struct gr_op_agreed {
    bool devices;   /* some rank's buffer is on a device */
    bool kernels;   /* kernels run the call: there is one, and their links were not refused */
    bool fetches;   /* no buffer is on a device: single copy is allowed */
    bool zero_copy; /* kernels may write results to other ranks' buffers */
};

/* A message to a board that an op posts before its turn. call NULL: there is none. Borrowed. */
struct gr_early_post {
    struct gr_mailbox_call *call;
    int way; /* GR_WAY_MAILBOX or GR_WAY_AGREEMENT: whose board */
};

/* Memory that an op keeps for its next call. */
struct gr_op_kept {
    struct gr_plan plan;   /* of host steps, or of the exchange of call records */
    bool planned;          /* plan is that of this call; a persistent request makes it once */
    unsigned char *bounce; /* for single copy with reductions; owned */
    size_t bounce_bytes;   /* of bounce */
};

struct gr_op {
    struct gr_op *next;              /* next op of the queue, in call order */
    struct gr_op_queue *queue;       /* NULL: a persistent request that has none yet */
    struct gr_comm *comm;            /* the communicator of the call; borrowed */
    const struct gr_op_hooks *hooks; /* of its owner */

    /* what is called; equal on all ranks but for buffers and output */
    enum gr_call_id id;     /* the collective */
    int root;               /* the call's argument; 0 where it has none */
    int kernel;             /* an enum gr_kernel for type and operation; -1: there is none */
    const void *buffers[2]; /* of the application: send, receive; NULL: none, or in place */
    const void *output;     /* first byte of the results, one run of bytes; NULL: they have gaps */
    struct gr_data data;    /* the buffers in the terms of schedules */
    bool persistent;        /* the op of a persistent request */
    uint64_t seq;           /* number of the call in the order of its communicator */
    bool nonblocking;       /* nonblocking or persistent: no fallback, and a few slots at a time */
    double start;           /* of the call, or of the persistent request; seconds; 0: no report */

    enum gr_op_phase phase; /* where it is */
    int rc;                 /* 0, or GR_ERR_...; valid in GR_OP_DONE */
    /* reason for GR_ERR_FALLBACK: the call is left to the saved collective */
    enum gr_fallback_reason fallback;
    bool without_links; /* none may be made for it, and it may not fall back: messages run it */

    struct gr_call_agreement agreement; /* the exchange of call records */
    struct gr_op_agreed agreed;         /* what all ranks know alike about the buffers */

    enum gr_path path;              /* of the choice; GR_PATH_NONE: the host does the call */
    bool tuned;                     /* the choice follows the tuning file's constants of devices */
    struct gr_choice choice;        /* algorithm, protocol, channels, chunks */
    const struct gr_executor *exec; /* runs the op; NULL: not picked yet */
    bool chosen_in_turn; /* the choice waits for its turn: for an agreement, or the network */

    struct gr_network_probe *probe; /* to be done before all else; NULL: none. Owned */
    struct gr_setup *setup;         /* in progress; NULL: none. Owned */
    struct gr_setup *next_setup;    /* comes after it: the links of step timing. Owned */
    /*
     * Numbers of the set-ups that the op may ask for in its turn. Reserved at the call, so that all
     * ranks count alike.
     */
    uint32_t setup_number[GR_SETUPS_OF_OP];

    struct gr_early_post early; /* what it posts before its turn */
    /*
     * After a poll of the executor that moved nothing: until the word has that value, another poll
     * would not either. Where applications call MPI_Test or MPI_Iprobe in a loop, a look at it
     * saves the poll (op_queue.c).
     */
    struct gr_awaited awaited;

    /* State of the executor; during an agreement between nodes, host is that of its exchange. */
    union {
        struct gr_grouped mailbox;    /* run_mailbox.c */
        struct gr_host_run host;      /* host_steps.c */
        struct gr_device_run device;  /* run_device.c */
        struct gr_leader_op leader;   /* run_leader.c */
        struct gr_messages *messages; /* run_messages.c; owned */
    } run;

    struct gr_op_kept kept; /* memory for the next call */
};

/* Whether the op begins with an agreement: then its executor is not known at the call. */
static inline bool gr_op_has_agreement(const struct gr_op *op)
{
    return GR_AGREEMENT_NONE != op->agreement.use;
}

/*
 * Whether an op without agreement asks for its links, and posts, in its turn only. Which links and
 * boards the ops before it use is not known at the call where these begin with an agreement, or
 * where they, or this one, may have to wait for what is measured of the network. A persistent
 * request has links and boards of its own.
 */
static inline bool gr_op_asks_in_turn(const struct gr_op *op)
{
    return !gr_op_has_agreement(op) && !op->persistent &&
           (op->comm->gpu || op->comm->measures_network);
}

/* Free what the op owns; it must be done. */
void mca_coll_gpuring_op_free(struct gr_op *op);

/*
 * The algorithm has been chosen: pick the executor for the links as they are now, and let it
 * prepare the buffers. 0, or GR_ERR_...
 */
int mca_coll_gpuring_op_begin(struct gr_op *op);

/*
 * Progress the first op of a queue as far as possible. Returns whether it is GR_OP_DONE. here: in
 * an MPI call or gr_runtime_progress(), where messages may be sent. *moved is increased by what was
 * moved.
 */
bool mca_coll_gpuring_op_advance(struct gr_op *op, bool here, uint64_t *moved);

#endif
