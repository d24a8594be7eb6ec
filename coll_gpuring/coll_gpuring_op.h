/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call goes through once it is taken: an op in a lane.
 *
 *      MPI_Allreduce      --> the lane's own op --.                  lane of the communicator
 *      MPI_Iallreduce     --> op of a request ----+--> queue: [op] [op] [op]      one after the other,
 *                                                                                  in call order
 *      MPI_Allreduce_init --> op of a request ------> queue: [op]     lane of that request
 *
 * A lane is a team (links, mailboxes) and the ops that use it. Ops are done in call order, since links and
 * mailboxes are shared; only posts to mailboxes run ahead. A persistent request may be started in another order
 * on each rank, so it has a lane, with links or mailboxes, of its own.
 *
 * Where some rank may have buffers on a device, a call begins with an arrival line: what is called, and whether this
 * rank has such buffers. When all lines are there, all ranks know alike whether kernels do it, or the host.
 *
 * Whoever has time drives a lane: the blocking call that waits, opal_progress, the progress thread; one at a
 * time. Nobody holds a lane while Open MPI is progressed.
 */
#ifndef MCA_COLL_GPURING_OP_H
#define MCA_COLL_GPURING_OP_H

#include "coll_gpuring.h"
#include "coll_gpuring_gpu.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "opal/runtime/opal_progress.h"

#include <stdatomic.h>

BEGIN_C_DECLS

/* ---- locks: only where several threads are about ---- */

typedef atomic_int gr_lock_t;

static inline bool gr_threaded(void)
{
    return opal_using_threads() || mca_coll_gpuring_component.threaded;
}

/* False: somebody else has it, maybe this thread itself further up. */
static inline bool gr_try(gr_lock_t *lock)
{
    if (gr_threaded()) {
        return 0 == atomic_load_explicit(lock, memory_order_relaxed) &&
               0 == atomic_exchange_explicit(lock, 1, memory_order_acquire);
    }
    if (0 != atomic_load_explicit(lock, memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(lock, 1, memory_order_relaxed);
    return true;
}

/* For the short sections behind which nobody waits for anything else. */
void mca_coll_gpuring_lock_slowly(gr_lock_t *lock);

static inline void gr_lock(gr_lock_t *lock)
{
    if (!gr_try(lock)) {
        mca_coll_gpuring_lock_slowly(lock);
    }
}

static inline void gr_unlock(gr_lock_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

/* ---- waiting (wait.c) ---- */

/* Whether somebody who waits has seen progress lately. All zero at first. */
struct gr_watch {
    uint64_t moved;     /* counts progress: increased by who drives */
    uint64_t before;    /* its value at the last look */
    unsigned idle;      /* looks since then */
    double since, last; /* of waiting, and of the last look at the clock; 0: not looked yet */
    double next;        /* seconds of waiting at which to report */
};

/* What is waited for, for reports. */
struct gr_waiting {
    struct ompi_communicator_t *comm;
    const char *what;   /* "allreduce" */
    uint64_t seq;
    void (*explain)(void *ctx, char *text, size_t size); /* where it stands and which ranks it waits for */
    void *ctx;
};

/* Another look, after a poll; every `each` looks without progress at the clock, and report when it is time. */
bool mca_coll_gpuring_watch_idle(struct gr_watch *watch);
void mca_coll_gpuring_watch_clock(struct gr_watch *watch, unsigned each, const struct gr_waiting *waiting);

/* Poll (enum gr_status, or negative) until done, progressing Open MPI. OMPI error code. */
int mca_coll_gpuring_wait(int (*poll)(void *ctx, uint64_t *moved), const struct gr_waiting *waiting);

/* A point-to-point request: 1 when complete (and freed) or MPI_REQUEST_NULL, 0 when not, negative on error. Unlike
 * ompi_request_test() it does not progress Open MPI, so it can be called from there. */
int mca_coll_gpuring_request_done(ompi_request_t **request);

/* Looks of a blocking wait between two at the clock. */
#define GR_LOOKS_BLOCKING 1024

/* Polls without progress before Open MPI is progressed. */
unsigned mca_coll_gpuring_spins(void);

/* Seconds since some moment, monotonic. */
double mca_coll_gpuring_now(void);

/* ---- set-up ---- */

struct gr_setup;
struct gr_lane;
struct gr_op;

/*
 * A set-up for what the way needs in host memory, or on devices (then op is the call that asks first: its buffers
 * say which). Marks it as asked for; nothing is sent yet. The number was taken from the module at the time of the call,
 * so that numbers are alike on all ranks. NULL: no memory.
 */
struct gr_setup *mca_coll_gpuring_setup_new(struct gr_lane *lane, int way, int root, uint32_t number);
struct gr_setup *mca_coll_gpuring_setup_new_gpu(struct gr_lane *lane, const struct gr_op *op, uint32_t number);

/* Go on; begins at the first poll. enum gr_status or negative. For mca_coll_gpuring_wait(). */
int mca_coll_gpuring_setup_poll(void *setup, uint64_t *moved);
void mca_coll_gpuring_setup_explain(void *setup, char *text, size_t size);

/*
 * After GR_DONE: the team has what it asked for, or not, on all ranks alike. Frees the set-up. OMPI error code: a
 * device that failed at the last moment breaks the team.
 */
int mca_coll_gpuring_setup_end(struct gr_setup *setup);

/* The first of the tags of that number; the next lower ones are its, too. */
int mca_coll_gpuring_setup_tag(uint32_t number);

/* What calls of a broken team return. */
static inline int mca_coll_gpuring_poison_code(const struct gr_team *team)
{
    return GR_ERR_REVOKED == team->poisoned ? GR_ERR_REVOKED : OMPI_ERROR;
}

/* ---- ops ---- */

/* What a call moves, in the core's terms. */
struct gr_data {
    struct gr_request request;  /* algo, channels, chunks are filled later */
    size_t bytes;               /* S as bandwidth is counted */
    size_t post_bytes;          /* the most that a rank contributes, for mailboxes */
    unsigned char *in, *out;
    struct gr_reducer reducer;
    /* afterwards: */
    enum { GR_FINISH_NONE, GR_FINISH_COPY, GR_FINISH_UNPACK } finish;
    size_t out_bytes;           /* to be copied or unpacked */
};

/* What a rank says of its call to all others, where arrivals are exchanged. All but device must be equal. */
struct gr_arrival {
    uint64_t seq, bytes;
    int32_t root;
    int16_t kernel; /* enum gr_kernel, or -1: there is none for its type and operation */
    uint8_t call;   /* enum gr_call_id */
    uint8_t device; /* whether some buffer of this rank is on a device */
};

/* The call's line; device: whether a buffer of this rank is on one. */
struct gr_arrival mca_coll_gpuring_arrival(const struct gr_op *op, bool device);

/*
 * All lines are there. Whether the call is done by kernels: all have one for it, and some buffer is on a device. -1,
 * and said once, when the calls differ.
 */
int mca_coll_gpuring_arrivals_agree(const struct gr_op *op, const struct gr_arrival *lines);

/* The same for a persistent request's init, by messages, waiting for all. OMPI error code. */
int mca_coll_gpuring_arrivals_exchange(struct gr_op *op, uint32_t number, bool *device);

enum gr_op_state {
    GR_OP_QUEUED,   /* others are before it */
    GR_OP_ARRIVAL,  /* waits for the others' lines */
    GR_OP_SETUP,    /* makes links */
    GR_OP_RUNNING,
    GR_OP_MESSAGES, /* got no links, and may not be handed on any more */
    GR_OP_DONE
};

struct gr_messages;

struct gr_op {
    struct gr_op *next; /* in the lane's queue */
    struct gr_lane *lane;
    struct gr_call call;
    struct gr_data data;
    struct gr_choice choice;
    enum gr_path path;        /* on devices: for which it was made */
    enum gr_op_state state;
    bool nonblocking;         /* also persistent: it may not be handed on, and does a little at a time */
    bool arrives;             /* it begins with an arrival line */
    bool decided;             /* all lines were there: */
    bool device;              /* all agreed: kernels do it */
    bool staged;              /* some of its buffers may be where whoever does it cannot use them */
    enum gr_handover handover; /* why, of OMPI_ERR_NOT_AVAILABLE */
    int rc;                   /* OMPI error code, of GR_OP_DONE */
    uint64_t seq;
    double start;             /* where times are wanted */
    struct gr_setup *setup;   /* of this call, or NULL */
    struct gr_messages *messages;
    ompi_request_t *request;  /* to be completed, or NULL */
    uint32_t number;          /* arrives: two numbers for the set-ups that may follow, from here on */
    struct gr_arrival line;   /* this rank's */
    struct gr_mail arrival;
    struct gr_stage stage;    /* host memory in the place of buffers that whoever does it cannot use */
    /* kept for the next call: */
    size_t *counts, *displs;  /* p entries each, of v-calls */
    int ncounts;
    unsigned char *scratch;   /* packing */
    size_t scratch_bytes;
    unsigned char *bounce;    /* direct plans that reduce */
    struct gr_arrival *lines; /* of the call's ranks */
    int nlines;
    struct gr_room room;      /* scratch that devices use too */
    /* one of the three: */
    struct gr_gpu_op gpu;
    struct gr_mail mail;
    bool planned;             /* the plan is that of this call: a persistent request's is made once */
    struct gr_plan plan;
    struct gr_machine machine;
    struct gr_host_op host;
};

void mca_coll_gpuring_op_init(struct gr_op *op);
void mca_coll_gpuring_op_free(struct gr_op *op);

/* When it is known who does it, before any link is used: buffers. OMPI error code. */
int mca_coll_gpuring_op_begin(struct gr_op *op);

/* Whether this rank says what all know alike, at that level of the parameter verbose: rank 0 does. */
bool mca_coll_gpuring_speaks(struct ompi_communicator_t *comm, int level);

/*
 * Choose the way; and, once the links of a way between devices are there and it is known what they are like, what else
 * there is to choose.
 */
void mca_coll_gpuring_op_choose(mca_coll_gpuring_module_t *module, struct gr_op *op);
void mca_coll_gpuring_op_choose_again(mca_coll_gpuring_module_t *module, struct gr_op *op);

/* All links are there: make the plan, if it goes by one. */
void mca_coll_gpuring_op_plan(struct gr_op *op);

/* It is through: unpack, count. */
void mca_coll_gpuring_op_end(struct gr_op *op);

/*
 * Its turn: go on as far as possible. True when it is GR_OP_DONE. here: in an MPI call or opal_progress, where
 * messages may be sent; otherwise only what is RUNNING goes on. *moved counts progress.
 */
bool mca_coll_gpuring_op_advance(struct gr_op *op, bool here, uint64_t *moved);

/* How far that is which its way needs: links, boards. */
enum gr_links mca_coll_gpuring_op_links(const struct gr_op *op);

/* It is over, well or not. */
void mca_coll_gpuring_op_over(struct gr_op *op, int rc);

void mca_coll_gpuring_op_explain(void *op, char *text, size_t size);

/* Begin and poll the exchange of op by messages; GR_DONE frees it. OMPI error code; enum gr_status or negative. */
int mca_coll_gpuring_messages_begin(struct gr_op *op);
int mca_coll_gpuring_messages_poll(struct gr_op *op, uint64_t *moved);
void mca_coll_gpuring_messages_explain(const struct gr_op *op, char *text, size_t size);

/* ---- data: of an op whose call is filled in ---- */

/* Sizes only, nothing of the buffers: equal on all ranks. OMPI error code. */
int mca_coll_gpuring_data_size(struct gr_op *op);

/* Buffers: pack what has gaps, find scratch. OMPI error code. */
int mca_coll_gpuring_data_begin(struct gr_op *op);

/* After the last step: unpack, copy. */
int mca_coll_gpuring_data_end(struct gr_op *op);

/* Whether `count` of them are one run of bytes. */
bool mca_coll_gpuring_is_solid(struct ompi_datatype_t *type, size_t count);

/* ---- lanes ---- */

struct gr_lane {
    mca_coll_gpuring_module_t *module;
    struct ompi_communicator_t *comm;
    struct gr_team *team;
    bool lost;                    /* its set-up failed half-way: it is left as it is */
    struct gr_gpu_team *gpu;      /* NULL: no call on devices yet */
    struct gr_op own;             /* of the blocking call */
    /* The queue has a lock of its own: Open MPI makes communicators with nonblocking calls out of opal_progress,
     * maybe below somebody who has the lane. */
    gr_lock_t gate;
    struct gr_op *head, **tail;   /* in call order */
    struct gr_op *unposted;       /* the first of them that has not been looked at for posting */
    gr_lock_t busy;               /* who has it drives the lane; this is theirs: */
    struct gr_op *finished;       /* whose requests are to be completed in an MPI call */
    struct gr_watch watch;
    /* under the list's lock: */
    struct gr_lane *next, **link; /* link NULL: not in the list of those that opal_progress drives */
};

/* A lane for the communicator, which must outlive it. box_bytes: of the largest post to mailboxes. NULL: no memory. */
struct gr_lane *mca_coll_gpuring_lane_new(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                          uint32_t nsets, size_t box_bytes);
void mca_coll_gpuring_lane_free(struct gr_lane *lane); /* NULL is fine; its queue must be empty */

/* Do op, after all that is in the queue, and wait for it. OMPI error code, or OMPI_ERR_NOT_AVAILABLE: no links. */
int mca_coll_gpuring_lane_do(struct gr_lane *lane, struct gr_op *op);

/* Put ops of different lanes into their queues and leave them to whoever drives. */
void mca_coll_gpuring_lane_start(struct gr_op *const *ops, size_t n);

/* Drive all listed lanes once; returns what was moved. */
uint64_t mca_coll_gpuring_lanes_drive(bool here);

/* Whether some lane is listed. */
bool mca_coll_gpuring_lanes_any(void);

/* At the end of the component. */
void mca_coll_gpuring_lanes_close(void);

/* ---- requests ---- */

typedef struct mca_coll_gpuring_request {
    ompi_coll_base_nbc_request_t super; /* MPI_I... functions keep what they retained there */
    struct gr_op op;
    struct gr_lane *lane;               /* a persistent request's own */
    struct mca_coll_gpuring_request *next_unused;
    ompi_datatype_t *types[2];          /* that a persistent request retains, or NULL; */
    void *kept;                         /* and copies of its call's arrays */
} mca_coll_gpuring_request_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_request_t);

/* A request for a call on comm, not active. NULL: no memory. */
mca_coll_gpuring_request_t *mca_coll_gpuring_request_get(struct ompi_communicator_t *comm, bool persistent);
void mca_coll_gpuring_request_put(mca_coll_gpuring_request_t *request);

/*
 * Put copies in the place of the call's arrays, which the application may free when the call has returned. What is to
 * be freed at the end; NULL: no memory.
 */
void *mca_coll_gpuring_keep(struct gr_call *call);

/* A persistent request whose op is ready to be started. */
void mca_coll_gpuring_request_persist(mca_coll_gpuring_request_t *request, struct gr_lane *lane);
void mca_coll_gpuring_requests_close(void);

/* ---- progress thread ---- */

/* Start it at the first nonblocking call (device: that may be on devices), where the parameter wants it. */
void mca_coll_gpuring_thread_need(bool device);
void mca_coll_gpuring_thread_close(void);

END_C_DECLS

#endif
