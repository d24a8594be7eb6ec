/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An op: one call that gpuring does, from its buffers to its end. These are data, which all that
 * does something of a call shares.
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
 *
 * Files that include this header do not repeat what it includes.
 */
#ifndef GR_EXEC_OP_H
#define GR_EXEC_OP_H

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/params.h"
#include "exec/executor.h"
#include "exec/grouped.h"
#include "exec/host.h"
#include "exec/mailbox.h"
#include "exec/plan.h"
#include "exec/reduce.h"
#include "exec/staged.h"
#include "exec/stepper.h"

#include "cuda/stream.h"
#include "exec/gpu/leader.h"
#include "exec/gpu/op.h"
#include "link/ipc_cache.h"
#include "sched/protocol.h"
#include "tune/select.h"

struct gr_messages;
struct gr_network_probe;
struct gr_points;

/* ---- call records (engine/call_agreement.h) ---- */

/* What a rank tells all others about its call. All but device, freed and output must be equal. */
struct gr_call_record {
    uint64_t seq;                /* number of the call in the order of the communicator */
    uint64_t bytes;              /* as bandwidth is counted */
    int32_t root;                /* 0 where the call has none */
    int16_t kernel;              /* enum gr_kernel; -1: no kernel for the type and operation */
    uint8_t call;                /* enum gr_call_id */
    uint8_t device;              /* 1: some buffer of this rank is on a device */
    uint64_t freed;              /* names of memory that others unmap (link/ipc_cache.h) */
    struct gr_ipc_handle output; /* of the receive buffer; sent only with zero copy */
};
#define GR_CALL_RECORD_SHORT offsetof(struct gr_call_record, output)

/*
 * The records of all ranks without output, combined by bitwise or: between nodes no rank needs them
 * one by one. A bit set in both masks differs between ranks.
 */
#define GR_CALL_RECORD_WORDS (GR_CALL_RECORD_SHORT / sizeof(uint64_t))
struct gr_combined_records {
    uint64_t ones[GR_CALL_RECORD_WORDS], zeros[GR_CALL_RECORD_WORDS];
    uint64_t first[GR_CALL_RECORD_WORDS]; /* rank 0's record */
};

/* What an op does with an agreement. */
enum gr_agreement_use {
    GR_AGREEMENT_NONE,  /* nothing: its executor is picked at the call */
    GR_AGREEMENT_FIRST, /* begins with it: its executor is picked then */
    GR_AGREEMENT_ONLY   /* ends with it: it only asks whether some buffer is on a device */
};

/* Between nodes, the exchange in progress. */
enum gr_agreement_round {
    GR_ROUND_COMBINED, /* combined records */
    GR_ROUND_SINGLE    /* records one by one, for their IPC handles */
};

/* An op's agreement. All zero at first; records and what follows are kept for the next call. */
struct gr_call_agreement {
    enum gr_agreement_use use;            /* what the op does with it */
    enum gr_agreement_round round;        /* between nodes: the exchange in progress */
    int result;                           /* between nodes: 0, or -1 when calls differ */
    struct gr_call_record record;         /* this rank's */
    struct gr_combined_records combined;  /* between nodes: this rank's, then all ranks' */
    struct gr_mailbox_call exchange;      /* inside a node: the allgather of records on boards */
    struct gr_call_record *records;       /* [rank]; owned */
    const struct gr_ipc_handle **handles; /* [rank]: of receive buffers, in records */
    size_t *spots;                        /* [rank]: bytes from records to the rank's record */
    int nrecords;                         /* ranks for which there is room */
};

/* ---- states of executors ---- */

/*
 * How late the last rank came to a call, as far as this rank learns it from messages.
 *
 * Where calls are timed, each message between steps on the host says when the last of those ranks
 * began the call that its data come from, by the node's monotonic clock. So a rank knows at the end
 * when the last rank came on which its result depends. The word travels with the slots
 * (GR_SIDEBAND_LAG of link/fifo.h), where step timing does not use it. Links to other nodes, whose
 * clocks are others, are left out.
 */
struct gr_arrival {
    uint16_t call;  /* number of the call, the same on all ranks */
    uint64_t begun; /* when this rank began it, ns */
    int64_t late;   /* how much later the last rank came, ns, as far as is known */
};

/* Of steps over links in host memory (exec/run_host.h). */
struct gr_host_run {
    struct gr_stepper stepper;       /* where it is */
    struct gr_host_op op;            /* links and buffers */
    struct gr_arrival arrival;       /* of a timed call whose steps are not */
    struct gr_copy_stream copies[2]; /* run_staged.c: into host memory, and out of it */
};

/* Of one kernel for all ranks that share a device. */
struct gr_leader_op {
    struct gr_leader_run run; /* its buffers, and where it is */
    bool ready;               /* the application's work on default streams is done */
    bool polled;              /* at the start, with the result `first` and this `moved` */
    int first;
    uint64_t moved;
};

/* ---- an op ---- */

/*
 * What run_staged.c copies: where on a device the data of in and out belong, for which these are
 * pinned memory on the host. NULL: that is not copied.
 */
struct gr_staged_data {
    unsigned char *in, *out;
    bool brought; /* set by the executor: it copies results to out; else that is still to be done */
};

/* What a call moves, in the terms of schedules and executors. */
struct gr_data {
    struct gr_plan_spec spec;  /* algorithm, channels and chunks follow from the choice */
    size_t bytes;              /* as bandwidth is counted */
    size_t post_bytes;         /* most that a rank posts to a mailbox */
    unsigned char *in;         /* GR_IN: the input, perhaps packed in scratch */
    unsigned char *out;        /* GR_OUT: the output, perhaps in scratch */
    unsigned char *tmp;        /* GR_TMP of the schedule, or NULL */
    struct gr_reducer reducer; /* type and operation */
    struct gr_staged_data staged;
};

/* The phases of an op, in this order; phases.c has what happens in each. */
enum gr_op_phase {
    GR_OP_QUEUED,       /* other ops are before it */
    GR_OP_NETWORK,      /* measures the network between nodes */
    GR_OP_RECORD_LINKS, /* waits for the set-up of the links that call records take */
    GR_OP_AGREEMENT,    /* waits for the call records of other ranks */
    GR_OP_CHOICE,       /* the algorithm is to be chosen: all that it depends on is known */
    GR_OP_SETUP,        /* waits for the set-ups of its links */
    GR_OP_START,        /* the executor is to be started */
    GR_OP_BUFFERS,      /* before that mpi/ is to prepare its buffers for the executor */
    GR_OP_RUNNING,      /* the executor runs it */
    GR_OP_LEAVING,      /* failed; waits until no other rank uses its buffers */
    GR_OP_OVER,         /* out of its queue; mpi/ is to unpack its output */
    GR_OP_DONE          /* mpi/ is to complete its request, where it has one */
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

/* How an op is counted when it has succeeded. */
enum gr_op_count {
    GR_COUNT_NONE,     /* it is not: no executor did it, or one that counts it as a fallback */
    GR_COUNT_COPIED,   /* as a call */
    GR_COUNT_ZERO_COPY /* the same; see gr_stats_zero_copy() */
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
    int use; /* GR_ALGO_MAILBOX or GR_USE_AGREEMENT: whose board */
};

/* Memory that an op keeps for its next call. */
struct gr_op_kept {
    struct gr_plan plan;    /* of host steps, or of the exchange of call records */
    bool planned;           /* plan is that of this call; a persistent request makes it once */
    struct gr_staged bands; /* of staged buffers */
    unsigned char *bounce;  /* for single copy with reductions; owned */
    size_t bounce_bytes;    /* of bounce */
};

struct gr_op {
    struct gr_op *next;        /* next op of the queue, in call order */
    struct gr_op_queue *queue; /* NULL: a persistent request that has none yet */
    struct gr_comm *comm;      /* the communicator of the call; borrowed */

    /* what is called; equal on all ranks but for buffers and output */
    enum gr_call_id id;     /* the collective */
    int root;               /* the call's argument; 0 where it has none */
    int kernel;             /* an enum gr_kernel for type and operation; -1: there is none */
    const void *buffers[2]; /* of the application: send, receive; NULL: none, or in place */
    const void *output;     /* first byte of the results, one run of bytes; NULL: they have gaps */
    struct gr_data data;    /* the buffers in the terms of schedules */
    const struct gr_points *after; /* of default streams: it comes after them; borrowed */
    bool elsewhere;                /* a buffer is on another device than kernels run on */
    bool plain;       /* no type has gaps: buffers are used as they are; where a rank has a GPU */
    bool has_buffers; /* data says where they are, for the executor; else GR_OP_BUFFERS comes */
    bool persistent;  /* the op of a persistent request */
    uint64_t seq;     /* number of the call in the order of its communicator */
    bool nonblocking; /* nonblocking or persistent: no fallback, and a few slots at a time */
    double start;     /* of the call, or of the persistent request; seconds; 0: no report */
    double wait_us;   /* as in struct gr_call_time, as far as it is known now */

    enum gr_op_phase phase; /* where it is */
    enum gr_op_count count; /* set by the executor's finish */
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

    bool writing; /* counted in comm->writing: its kernel may write to other ranks' buffers */
    /* after an error: time in seconds when it ends, whoever uses its buffers still; 0: not set */
    double leave_by;

    /* State of the executor; during an agreement between nodes, host is that of its exchange. */
    union {
        struct gr_grouped_call mailbox; /* run_mailbox.c */
        struct gr_host_run host;        /* run_host.c, run_staged.c */
        struct gr_gpu_op device;        /* run_device.c */
        struct gr_leader_op leader;     /* run_leader.c */
        struct gr_messages *messages;   /* run_messages.c; owned */
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

/* ---- channels of calls ---- */

/* Most channels between nodes: the same number on each rail. */
static inline uint32_t gr_nodes_channels(const struct gr_comm *comm)
{
    uint32_t n = (uint32_t) comm->params.value[GR_PARAM_NODES_CHANNELS],
             rails = (uint32_t) comm->rails;
    uint32_t each = (n + rails - 1) / rails, most = GR_MAX_CHANNELS / rails;

    return rails * (each < most ? each : most);
}

/* Most channels between devices. */
static inline uint32_t gr_device_channels(const struct gr_comm *comm)
{
    return NULL != comm->remote ? gr_nodes_channels(comm)
                                : (uint32_t) comm->params.value[GR_PARAM_DEVICE_CHANNELS];
}

/* ---- what is said of an op that fails (op.c) ---- */

/* An op fails on this rank: gr_report_failure() of its call, with GR_ERR_FAILED. */
void gr_op_report_failure(const struct gr_op *op, const char *what, const char *reason);

/* The same for an error of exec/, link/ or net/: reports rc in words. */
void gr_op_report_error(const struct gr_op *op, int rc);

/*
 * The same for the call `seq` of the communicator, where a message is of another call than this
 * rank's: names both. code: of gr_label_error(). pair->rank: of the communicator.
 */
void gr_report_difference(struct gr_comm *comm, enum gr_call_id id, uint64_t seq, int code,
                          const struct gr_label_pair *pair);

/* ---- writing to other ranks' buffers (op.c) ---- */

/* As gr_comm_begin_writing(); and its end, which may be called again. */
bool gr_op_begin_writing(struct gr_op *op);
void gr_op_end_writing(struct gr_op *op);

/*
 * For an executor's abort. Whether a failed op has waited for as long as it is to wait, from its
 * first call of this on; and whether it need not wait any more, as each rank has said that its
 * kernels have left: not for good, since a rank may not look for messages for long.
 */
bool gr_op_waited_long(struct gr_op *op);
bool gr_op_is_left(struct gr_op *op, bool here);

/* ---- the end (op.c) ---- */

/* The executor has done the op, or it has failed with rc: release it. Sets GR_OP_OVER. */
void gr_op_over(struct gr_op *op, int rc);

/*
 * For mpi/, of an op that is over: its output is where it belongs, and it is counted, or op->rc or rc
 * says what went wrong. Sets GR_OP_DONE.
 */
void gr_op_end(struct gr_op *op, int rc);

/*
 * The op fails with rc: abort its executor. The op is finished when no other rank uses its buffers
 * any more: at once, or in a later call of this function. here: in an MPI call or
 * gr_runtime_progress().
 */
void gr_op_abort(struct gr_op *op, bool here, int rc);

#endif
