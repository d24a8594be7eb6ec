/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call goes through once it is taken: an op in a queue.
 *
 *      MPI_Allreduce      --> the queue's own op --.                  queue of the communicator
 *      MPI_Iallreduce     --> op of a request ----+--> queue: [op] [op] [op]      one after the other,
 *                                                                                  in call order
 *      MPI_Allreduce_init --> op of a request ------> queue: [op]     queue of that request
 *
 * A queue has a team (links, mailboxes) and the ops that use it. Ops are done in call order, since
 * links and mailboxes are shared; only posts to mailboxes run ahead. A persistent request may be
 * started in another order on each rank, so it has a queue, with links or mailboxes, of its own.
 *
 * Where some rank may have buffers on a device, a call begins with a call record: what is called,
 * and whether this rank has such buffers. When all lines are there, all ranks know alike whether
 * kernels do it, or the host.
 *
 * Whoever has time drives a queue: the blocking call that waits, opal_progress, the progress
 * thread; one at a time. Nobody holds a queue while Open MPI is progressed.
 */
#ifndef GR_ENGINE_OP_H
#define GR_ENGINE_OP_H

#include "mpi/ompi.h"

#include "engine/call_agreement.h"
#include "engine/collectives.h"
#include "mpi/buffers.h"
#include "mpi/staging/copy_stream.h"
#include "mpi/staging/scratch.h"
#include "mpi/staging/stage.h"

#include "exec/gpu/op.h"
#include "exec/host.h"
#include "exec/mail.h"
#include "exec/staged.h"
#include "exec/stepper.h"
#include "sched/protocol.h"
#include "tune/select.h"

BEGIN_C_DECLS

struct gr_ipc_handle;
struct gr_op_queue;
struct gr_setup;

enum gr_op_state {
    GR_OP_QUEUED,    /* others are before it */
    GR_OP_AGREEMENT, /* waits for the others' lines */
    GR_OP_SETUP,     /* makes links */
    GR_OP_RUNNING,
    GR_OP_MESSAGES, /* got no links, and may not be left to the saved collective any more */
    GR_OP_LEAVING,  /* it failed, and kernels of other ranks may still write to its buffers */
    GR_OP_DONE
};

struct gr_op {
    struct gr_op *next; /* in its queue */
    struct gr_op_queue *queue;
    struct gr_call call;
    struct gr_data data;
    struct gr_choice choice;
    enum gr_path path; /* on devices: for which it was made */
    enum gr_op_state state;
    /* also persistent: it may not be left to the saved collective, and does a little at a time */
    bool nonblocking;
    bool agrees; /* it begins with a call record */
    /* and ends with it: whether some buffer is on a device is all that is wanted */
    bool asks;
    bool decided;    /* all lines were there: */
    bool device;     /* all agreed: kernels do it */
    bool zero;       /* results may go straight to the others' buffers; */
    bool writing;    /* and it is counted in module->writing */
    double leave_by; /* GR_OP_LEAVING: when it ends anyway */
    bool devices;    /* all know that some buffer is on a device */
    bool fetches;    /* all know that none is: others may fetch from its buffers */
    bool staged;     /* some of its buffers may be where whoever does it cannot use them */
    enum gr_fallback_reason fallback; /* why, of OMPI_ERR_NOT_AVAILABLE */
    int rc;                           /* OMPI error code, of GR_OP_DONE */
    uint64_t seq;
    double start;                /* where times are wanted */
    struct gr_setup *setup;      /* of this call, or NULL; */
    struct gr_setup *next_setup; /* and the one after it: of step timing */
    struct gr_messages *messages;
    ompi_request_t *request;      /* to be completed, or NULL */
    uint32_t number_gpu;          /* arrives: number of the set-up that may follow on devices, */
    uint32_t number_host;         /* and of that in host memory */
    struct gr_call_record record; /* this rank's; */
    struct gr_combined_records combined; /* between nodes, this rank's, then all ranks': */
    int agreed;                          /* 0, or -1: calls differ; */
    bool gathers;                        /* then lines come one by one */
    struct gr_mail arrival;
    /* host memory in the place of buffers that whoever does it cannot use */
    struct gr_stage stage;
    /* kept for the next call: */
    size_t *counts, *displs; /* p entries each, of v-calls */
    int ncounts;
    struct gr_scratch packed;             /* of data that do not lie as schedules want them, */
    struct gr_scratch kept;               /* and of what schedules put into GR_TMP */
    unsigned char *bounce;                /* direct plans that reduce */
    struct gr_call_record *records;       /* of the call's ranks; with it, in the same memory: */
    const struct gr_ipc_handle **outputs; /* theirs, */
    size_t *spots;                        /* and where each begins, in bytes */
    int nrecords;
    /* one of the three: */
    struct gr_gpu_op gpu;
    struct gr_mail mail;
    /* the plan is that of this call: a persistent request's is made once */
    bool planned;
    struct gr_plan plan;
    struct gr_stepper stepper;
    struct gr_host_op host;
    bool in_pieces; /* its staged buffers are copied while the machine runs */
    struct gr_staged staging;
    struct gr_copy_stream copiers[2]; /* in, out */
};

static inline void mca_coll_gpuring_op_init(struct gr_op *op)
{
    memset(op, 0, sizeof(*op));
}

void mca_coll_gpuring_op_free(struct gr_op *op);

/* When it is known who does it, before any link is used: buffers. OMPI error code. */
int mca_coll_gpuring_op_begin(struct gr_op *op);

/*
 * Its turn: go on as far as possible. True when it is GR_OP_DONE. here: in an MPI call or
 * opal_progress, where messages may be sent; otherwise only what is RUNNING goes on. *moved counts
 * progress.
 */
bool mca_coll_gpuring_op_advance(struct gr_op *op, bool here, uint64_t *moved);

END_C_DECLS

#endif
