/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An op: one call that gpuring does, from its buffers to its end.
 *
 *   MPI_Allreduce       the queue's own op    queue of the communicator's blocking calls
 *   MPI_Iallreduce      op of a request       queue of the communicator's nonblocking calls
 *   MPI_Allreduce_init  op of a request       queue of that request
 *
 * The ops of a queue run in call order, since they share the links and mailboxes of its team. Only
 * posts to mailboxes run ahead. A persistent request may be started in a different order on each
 * rank, so it has a queue, with links or mailboxes, of its own.
 *
 * Where some rank may have buffers on a device, an op begins with an agreement: each rank writes a
 * call record, which says what it calls and whether it has such buffers. When all records are
 * there, all ranks know alike whether kernels or the host run the call.
 *
 * Whoever has time drives a queue, one thread at a time: the blocking call that waits,
 * opal_progress, or the progress thread. No thread holds a queue while it progresses Open MPI.
 */
#ifndef GR_ENGINE_OP_H
#define GR_ENGINE_OP_H

#include "mpi/ompi.h"

#include "engine/call_agreement.h"
#include "engine/collectives.h"
#include "mpi/call.h"
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
    GR_OP_QUEUED,    /* other ops are before it */
    GR_OP_AGREEMENT, /* waits for the call records of other ranks */
    GR_OP_SETUP,     /* links are being made */
    GR_OP_RUNNING,   /* an executor runs its steps */
    GR_OP_MESSAGES,  /* nonblocking, and no links: point-to-point messages */
    GR_OP_LEAVING,   /* failed, while kernels of other ranks may still write to its buffers */
    GR_OP_DONE
};

struct gr_op {
    struct gr_op *next;        /* next op of the queue, in call order */
    struct gr_op_queue *queue; /* NULL: a persistent request that has none yet */
    struct gr_call call;       /* MPI arguments; buffers are replaced while they are staged */
    struct gr_data data;       /* the same in the terms of schedules */
    struct gr_choice choice;   /* algorithm, protocol, channels, chunks */
    enum gr_path path;         /* devices: the path for which the choice was made */
    enum gr_op_state state;
    int rc;       /* OMPI error code; valid in GR_OP_DONE */
    uint64_t seq; /* number of the call in the order of its communicator */
    double start; /* seconds; 0 where the report wants no times */
    /* reason for OMPI_ERR_NOT_AVAILABLE: the call is left to the saved collective */
    enum gr_fallback_reason fallback;

    bool nonblocking; /* nonblocking or persistent: no fallback, and a few slots at a time */
    bool staged;      /* some buffer may lie where the executor cannot use it */
    bool overlaps;    /* staged buffers are copied piece by piece while steps run */
    bool planned;     /* the plan is that of this call; a persistent request makes it once */
    bool device;      /* kernels run it; agreed among all ranks */
    bool zero;        /* kernels may write results to other ranks' buffers */
    bool writing;     /* counted in module->writing */
    bool devices;     /* some rank's buffer is on a device; agreed among all ranks */
    bool fetches;     /* no buffer is on a device: single copy is allowed; agreed */
    double leave_by;  /* GR_OP_LEAVING: seconds at which the op ends anyway */

    /* agreement */
    bool agrees;  /* the op begins with a call record */
    bool asks;    /* and ends with it: it only asks whether some buffer is on a device */
    bool decided; /* all records were there */
    bool gathers; /* between nodes: the second round, in which records come one by one */
    int agreed;   /* between nodes: 0, or -1 when calls differ */
    struct gr_call_record record;         /* this rank's */
    struct gr_combined_records combined;  /* between nodes: this rank's, then all ranks' */
    struct gr_mail agreement;             /* inside a node: the allgather of records on boards */
    struct gr_call_record *records;       /* [rank]; owned, kept for the next call */
    const struct gr_ipc_handle **outputs; /* [rank]: in the memory of records */
    size_t *spots;                        /* [rank]: bytes from records; in the same memory */
    int nrecords;                         /* ranks for which there is room */

    /* set-up */
    struct gr_setup *setup;      /* under way; NULL: none. Owned */
    struct gr_setup *next_setup; /* comes after it: the links of step timing. Owned */
    uint32_t number_gpu;         /* of the set-up on devices that may follow an agreement */
    uint32_t number_host;        /* of the set-up in host memory that may follow it */

    /* executors; an op uses one of them */
    struct gr_gpu_op gpu;                  /* kernels */
    struct gr_mail mail;                   /* mailboxes */
    struct gr_messages *messages;          /* point-to-point messages; owned */
    struct gr_plan plan;                   /* host steps: what the stepper runs, */
    struct gr_stepper stepper;             /* where it is, */
    struct gr_host_op host;                /* and the call's data */
    struct gr_staged staging;              /* host steps over buffers that are copied meanwhile */
    struct gr_copy_stream copy_streams[2]; /* for staging: in, out */

    /* memory, kept for the next call */
    struct gr_stage stage;    /* host memory in the place of device buffers */
    struct gr_scratch packed; /* data with gaps, packed */
    struct gr_scratch kept;   /* GR_TMP of the schedule */
    unsigned char *bounce;    /* GR_BOUNCE_BYTES, for single copy with reductions; owned */
    size_t *counts, *displs;  /* [rank]: of v-collectives, in elements; one allocation, owned */
    int ncounts;              /* ranks for which there is room */

    ompi_request_t *request; /* to be completed when the op is done; NULL: none. Borrowed */
};

static inline void mca_coll_gpuring_op_init(struct gr_op *op)
{
    memset(op, 0, sizeof(*op));
}

/* Free what the op owns; it must be done. */
void mca_coll_gpuring_op_free(struct gr_op *op);

/*
 * Prepare the buffers: stage, pack, find scratch. The choice has been made, and no link has been
 * used yet. OMPI error code.
 */
int mca_coll_gpuring_op_begin(struct gr_op *op);

/*
 * Progress the first op of a queue as far as possible. Returns whether it is GR_OP_DONE. here: in
 * an MPI call or opal_progress, where messages may be sent; otherwise only a GR_OP_RUNNING op
 * progresses. *moved is increased by what was moved.
 */
bool mca_coll_gpuring_op_advance(struct gr_op *op, bool here, uint64_t *moved);

END_C_DECLS

#endif
