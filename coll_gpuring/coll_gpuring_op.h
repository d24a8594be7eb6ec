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
#include "coll_gpuring_datatype.h"
#include "coll_gpuring_gpu.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "opal/runtime/opal_progress.h"

#include <stdatomic.h>
#include <string.h>

BEGIN_C_DECLS

/* ---- locks: only where several threads are about ---- */

typedef atomic_int gr_lock_t;

static inline bool gr_threaded(void)
{
    return opal_using_threads() || gr_process.threaded;
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

/* ---- waiting (wait.c; runtime.c) ---- */

/* Whether somebody who waits has seen progress lately. All zero at first. */
struct gr_watch {
    uint64_t moved;     /* counts progress: increased by who drives */
    uint64_t before;    /* its value at the last look */
    unsigned idle;      /* looks since then, */
    unsigned looked;    /* and how many there were at the last look at the clock */
    double since, last; /* of waiting, and of the last look at the clock; 0: not looked yet */
    double next;        /* seconds of waiting at which to report */
};

/* What is waited for, for reports. */
struct gr_waiting {
    struct mca_coll_gpuring_module *module; /* of the communicator, on which other ranks may fail */
    const char *what;   /* "allreduce" */
    uint64_t seq;
    void (*explain)(void *ctx, char *text, size_t size); /* where it stands and which ranks it waits for */
    void *ctx;
};

/*
 * Another look, after a poll. vain: it saw no progress; every `each` such looks see whether the communicator has failed
 * meanwhile, and look at the clock, and report when it is time. Returns the code with which it has failed, or 0.
 */
bool mca_coll_gpuring_watch_idle(struct gr_watch *watch);
int mca_coll_gpuring_watch_vain(struct gr_watch *watch, unsigned each, const struct gr_waiting *waiting);

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

/*
 * Tags of our messages on the application's communicators: one range, in the middle of the negative tags that the PML
 * has. That is below those of the blocking collectives and far from where libnbc begins to count down; a lower one might
 * be an application's where a tag has 24 bits (pml/ucx) or 20 (mtl/ofi). Offsets into the range:
 */
#define GR_TAGS_NET 0      /* two, on MPI_COMM_WORLD */
#define GR_TAGS_FAILURE 2  /* on MPI_COMM_WORLD */
#define GR_TAGS_MESSAGES 3
#define GR_TAGS_SETUPS 4   /* GR_SETUP_TAGS for each of GR_TAGGED_SETUPS set-ups */
#define GR_SETUP_TAGS 4
#define GR_TAGGED_SETUPS 4096
#define GR_TAGS_PAIRS (GR_TAGS_SETUPS + GR_SETUP_TAGS * GR_TAGGED_SETUPS) /* two for each of GR_TAGGED_PAIRS calls */
#define GR_TAGGED_PAIRS 8192

/* The tag at that offset; the next ones of a range are lower. */
int mca_coll_gpuring_tag(int offset);

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

/* After GR_DONE: the team has what it asked for, or not, on all ranks alike. Frees the set-up. */
void mca_coll_gpuring_setup_end(struct gr_setup *setup);

/* The first of the tags of that number; the next lower ones are its, too. */
int mca_coll_gpuring_setup_tag(uint32_t number);

/* ---- ops ---- */

/* What a call moves, in the core's terms. */
struct gr_data {
    struct gr_request request;  /* algo, channels, chunks are filled later */
    size_t bytes;               /* S as bandwidth is counted */
    size_t post_bytes;          /* the most that a rank contributes, for mailboxes */
    unsigned char *in, *out, *tmp;  /* by enum gr_space */
    struct gr_reducer reducer;
    /* afterwards: */
    enum { GR_FINISH_NONE, GR_FINISH_COPY, GR_FINISH_UNPACK } finish;
    size_t out_bytes;           /* to be copied or unpacked */
};

/*
 * What a rank says of its call to all others, where arrivals are exchanged. All but device and what is below must be
 * equal. Only calls that may use zero copy say whose memory their results go to.
 */
struct gr_arrival {
    uint64_t seq, bytes;
    int32_t root;
    int16_t kernel; /* enum gr_kernel, or -1: there is none for its type and operation */
    uint8_t call;   /* enum gr_call_id */
    uint8_t device; /* whether some buffer of this rank is on a device */
    struct gr_gpu_ticket output;
};
#define GR_ARRIVAL_SHORT offsetof(struct gr_arrival, output)

/*
 * All ranks' lines (their short part), combined by bitwise or: between nodes nobody needs them one by one. A bit of both ones
 * and zeros differs between ranks.
 */
#define GR_ARRIVAL_WORDS (GR_ARRIVAL_SHORT / sizeof(uint64_t))
struct gr_combined {
    uint64_t ones[GR_ARRIVAL_WORDS], zeros[GR_ARRIVAL_WORDS];
    uint64_t first[GR_ARRIVAL_WORDS]; /* rank 0's line */
};

/* The call's line; device: whether a buffer of this rank is on one. Sets op->zero. */
struct gr_arrival mca_coll_gpuring_arrival(struct gr_op *op, const gr_params_t *params, bool device);

/*
 * What lines go through: boards in memory that all share; between nodes, host links of an Allreduce (machine.c): combined,
 * and, where all agree on a call that may use zero copy on devices, once more as they are. Begin when it is the op's turn
 * (OMPI error code); GR_DONE: they are there; else GR_AGAIN, or negative.
 */
int mca_coll_gpuring_arrivals_way(const struct gr_lane *lane);
int mca_coll_gpuring_arrivals_begin(struct gr_op *op);
int mca_coll_gpuring_arrivals_poll(struct gr_op *op, uint64_t *moved);

/*
 * They are there. Sets the op's device (all have a kernel for it, and some buffer is on a device), devices and fetches.
 * -1, and said, when the calls differ.
 */
int mca_coll_gpuring_arrivals_end(struct gr_op *op);

/* Room for the lines of p ranks. OMPI error code. */
int mca_coll_gpuring_arrivals_room(struct gr_op *op, int p);

/* The same for a persistent request's init, by messages, waiting for all. OMPI error code. */
int mca_coll_gpuring_arrivals_exchange(mca_coll_gpuring_module_t *module, struct gr_op *op, uint32_t number);

enum gr_op_state {
    GR_OP_QUEUED,   /* others are before it */
    GR_OP_ARRIVAL,  /* waits for the others' lines */
    GR_OP_SETUP,    /* makes links */
    GR_OP_RUNNING,
    GR_OP_MESSAGES, /* got no links, and may not be handed on any more */
    GR_OP_LEAVING,  /* it failed, and kernels of other ranks may still write to its buffers */
    GR_OP_DONE
};

struct gr_messages;

/* Memory of the host that an op keeps from call to call: base, or, where devices use it too, the room. */
struct gr_scratch {
    unsigned char *base;
    size_t bytes;
    struct gr_room room;
};

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
    bool asks;                /* and ends with it: whether some buffer is on a device is all that is wanted */
    bool decided;             /* all lines were there: */
    bool device;              /* all agreed: kernels do it */
    bool zero;                /* results may go straight to the others' buffers; */
    bool writing;             /* and it is counted in module->writing */
    double leave_by;          /* GR_OP_LEAVING: when it ends anyway */
    bool devices;             /* all know that some buffer is on a device */
    bool fetches;             /* all know that none is: others may fetch from its buffers */
    bool staged;              /* some of its buffers may be where whoever does it cannot use them */
    enum gr_handover handover; /* why, of OMPI_ERR_NOT_AVAILABLE */
    int rc;                   /* OMPI error code, of GR_OP_DONE */
    uint64_t seq;
    double start;             /* where times are wanted */
    struct gr_setup *setup;   /* of this call, or NULL; */
    struct gr_setup *next_setup; /* and the one after it: of step timing */
    struct gr_messages *messages;
    ompi_request_t *request;  /* to be completed, or NULL */
    uint32_t number_gpu;      /* arrives: number of the set-up that may follow on devices, */
    uint32_t number_host;     /* and of that in host memory */
    struct gr_arrival line;   /* this rank's; */
    struct gr_combined combined; /* between nodes, this rank's, then all ranks': */
    int agreed;               /* 0, or -1: calls differ; */
    bool gathers;             /* then lines come one by one */
    struct gr_mail arrival;
    struct gr_stage stage;    /* host memory in the place of buffers that whoever does it cannot use */
    /* kept for the next call: */
    size_t *counts, *displs;  /* p entries each, of v-calls */
    int ncounts;
    struct gr_scratch packed; /* of data that do not lie as schedules want them, */
    struct gr_scratch kept;   /* and of what schedules put into GR_TMP */
    unsigned char *bounce;    /* direct plans that reduce */
    struct gr_arrival *lines; /* of the call's ranks; with it, in the same memory: */
    const struct gr_gpu_ticket **outputs; /* theirs, */
    size_t *spots;            /* and where each begins, in bytes */
    int nlines;
    /* one of the three: */
    struct gr_gpu_op gpu;
    struct gr_mail mail;
    bool planned;             /* the plan is that of this call: a persistent request's is made once */
    struct gr_plan plan;
    struct gr_machine machine;
    struct gr_host_op host;
    bool in_pieces;           /* its staged buffers are copied while the machine runs */
    struct gr_staged staging;
    struct gr_copier copiers[2]; /* in, out */
};

static inline void mca_coll_gpuring_op_init(struct gr_op *op)
{
    memset(op, 0, sizeof(*op));
}

void mca_coll_gpuring_op_free(struct gr_op *op);

/* When it is known who does it, before any link is used: buffers. OMPI error code. */
int mca_coll_gpuring_op_begin(struct gr_op *op);

/*
 * Where ranks look for buffers on devices: whether the call begins with lines. Between nodes these take a round trip, which
 * short calls would feel: without them the host does it, and each rank stages what it has on devices.
 */
bool mca_coll_gpuring_op_arrives(mca_coll_gpuring_module_t *module, struct gr_op *op);

/*
 * Why a call whose buffers are all in host memory, as far as is known, is left to others: an enum gr_handover, or -1. By
 * what all ranks know alike, so not by whether this rank packs.
 */
#define GR_PACK_LEAST ((size_t) 1 << 20) /* a call of no more bytes is never too large */
int mca_coll_gpuring_op_unwanted(const mca_coll_gpuring_module_t *module, const struct gr_op *op);

/*
 * Choose the way; that of lines between nodes; and, once the links of a way between devices are there and it is known what
 * they are like, what else there is to choose.
 */
void mca_coll_gpuring_op_choose(mca_coll_gpuring_module_t *module, struct gr_op *op);
struct gr_choice mca_coll_gpuring_choose_lines(const mca_coll_gpuring_module_t *module);
void mca_coll_gpuring_op_choose_again(mca_coll_gpuring_module_t *module, struct gr_op *op);

/* All links are there: make the plan, if it goes by one; start the machine on it; on that of its line. OMPI error code. */
void mca_coll_gpuring_op_plan(struct gr_op *op);
int mca_coll_gpuring_machine_start(struct gr_op *op);
int mca_coll_gpuring_machine_lines(struct gr_op *op);

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

/* It fails: what it runs is given up. Over, with rc, when its buffers are its own again: now, or in a later call of this. */
void mca_coll_gpuring_op_fail(struct gr_op *op, bool here, int rc);

void mca_coll_gpuring_op_explain(void *op, char *text, size_t size);

/* Begin and poll the exchange of op by messages; GR_DONE frees it. OMPI error code; enum gr_status or negative. */
int mca_coll_gpuring_messages_begin(struct gr_op *op);
int mca_coll_gpuring_messages_poll(struct gr_op *op, uint64_t *moved);
void mca_coll_gpuring_messages_explain(const struct gr_op *op, char *text, size_t size);

/* ---- staged calls whose buffers are copied while steps run (pieces.c) ---- */

/*
 * Stage the op's buffers for who does it. in_pieces: what they hold comes while the machine runs, which is to be started
 * here once more when its plan and host op are ready. unstage: the call is over with rc, which is returned unless what
 * remains to be copied fails; nothing is under way then. OMPI error codes.
 */
int mca_coll_gpuring_pieces_stage(struct gr_op *op);
int mca_coll_gpuring_pieces_begin(struct gr_op *op);
int mca_coll_gpuring_pieces_unstage(struct gr_op *op, int rc);

/* ---- data: of an op whose call is filled in ---- */

/* Sizes only, nothing of the buffers: equal on all ranks. OMPI error code. */
int mca_coll_gpuring_data_size(struct gr_op *op);

/* Buffers: pack what has gaps, find scratch. OMPI error code. */
int mca_coll_gpuring_data_begin(struct gr_op *op);

/* After the last step: unpack, copy. */
int mca_coll_gpuring_data_end(struct gr_op *op);

/* At least that many bytes, valid until the call ends; NULL: no memory. request: it is not a blocking call's. */
unsigned char *mca_coll_gpuring_scratch_get(struct gr_scratch *s, size_t bytes, bool device);
void mca_coll_gpuring_scratch_shrink(struct gr_scratch *s, bool request);
void mca_coll_gpuring_scratch_free(struct gr_scratch *s);

END_C_DECLS

#endif
