/* SPDX-License-Identifier: BSD-3-Clause */
/* Who drives ops: lanes, requests, and the progress thread; coll_gpuring_op.h draws them. */
#ifndef MCA_COLL_GPURING_LANE_H
#define MCA_COLL_GPURING_LANE_H

#include "coll_gpuring_op.h"

BEGIN_C_DECLS

/* ---- links to other nodes ---- */

struct gr_net_link;

/* What a set-up has opened. */
struct gr_held {
    struct gr_held *next;
    int n;
    struct gr_net_link *link[];
};

struct gr_lane;

/*
 * Move the network on, if lanes have links. It takes a while, so who may keep a lane from others does not have it. here:
 * in an MPI call or opal_progress.
 */
void mca_coll_gpuring_net_progress(bool here);

/* In an MPI call: only send what lanes have to say. Whether there was something. */
bool mca_coll_gpuring_net_send(void);

/*
 * In the blocking call that has the lane, behind what it does for its op: send; then look for what comes in for an op that is
 * not over, and give the core away where ranks share them. looks: that were in vain before.
 */
void mca_coll_gpuring_net_look(const struct gr_lane *lane, struct gr_op *op, unsigned looks);

/* How often to look at a lane, between two calls of opal_progress, where that is `looks` times without a network. */
unsigned mca_coll_gpuring_net_looks(const struct gr_lane *lane, unsigned looks);

/* The caller has the lane. A link that has failed poisons the team, and is told. */
void mca_coll_gpuring_net_check(struct gr_lane *lane);

/* Least bytes of a message that its links send from where it lies; 0: none is. */
size_t mca_coll_gpuring_net_zero_copy(const struct gr_lane *lane);

/*
 * The caller has the lane. A call ends before all that it has pushed was sent: whether its buffers are its own again; if not,
 * it is asked again after net_progress().
 */
bool mca_coll_gpuring_net_reclaim(const struct gr_lane *lane);

/* Leave the lane's links. */
void mca_coll_gpuring_net_leave(struct gr_lane *lane);

/* At the end of the component, before the pool's. */
void mca_coll_gpuring_net_close(void);

/* MPI_COMM_WORLD is about to go, and with it what links over Open MPI's messages need. */
void mca_coll_gpuring_net_world_ends(void);

/* Links over Open MPI's messages (net_pml.c), and whether this thread is in them: then it must not drive lanes. */
extern const struct gr_transport mca_coll_gpuring_pml;
bool mca_coll_gpuring_pml_inside(void);

/* ---- lanes ---- */

struct gr_lane {
    mca_coll_gpuring_module_t *module;
    struct ompi_communicator_t *comm;
    struct gr_team *team;
    enum gr_call_order order;     /* of its calls; */
    uint64_t seq;                 /* how many there were, */
    uint32_t setups;              /* set-ups that they have asked for, */
    uint32_t paired;              /* and calls that pairs.c has looked at */
    /* [0]: chosen at the time of the call; when lines have come, [1]: in host memory, [2]: on devices */
    struct gr_chosen last[3][GR_NCOLLS];
    bool lost;                    /* its set-up failed half-way: it is left as it is */
    struct gr_gpu_team *gpu;      /* NULL: no call on devices yet */
    struct gr_held *held;         /* links to other nodes; NULL: none */
    bool persistent;              /* of a persistent request */
    struct gr_timing *timing;     /* NULL: no call whose steps are timed yet */
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

/* Channels at most where ranks are on several nodes: each rail has the same number of them. */
static inline uint32_t gr_nodes_channels(const mca_coll_gpuring_module_t *module)
{
    uint32_t n = (uint32_t) module->params.value[GR_PARAM_NODES_CHANNELS], rails = (uint32_t) module->rails;
    uint32_t each = (n + rails - 1) / rails, most = GR_MAX_CHANNELS / rails;

    return rails * (each < most ? each : most);
}

/* Channels of links between devices, at most. */
static inline uint32_t gr_device_channels(const mca_coll_gpuring_module_t *module)
{
    return NULL != module->remote ? gr_nodes_channels(module) : (uint32_t) module->params.value[GR_PARAM_DEVICE_CHANNELS];
}

/* A lane for the communicator, which must outlive it. box_bytes: of the largest post to mailboxes. NULL: no memory. */
struct gr_lane *mca_coll_gpuring_lane_new(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                          uint32_t nsets, size_t box_bytes);

/*
 * The module's lane for calls of that order. make: the caller has module->making, OMPI error code; of: makes it at the
 * first of them, the module has decided, NULL: no memory.
 */
int mca_coll_gpuring_lane_make(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                               enum gr_call_order order);
struct gr_lane *mca_coll_gpuring_lane_of(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                         enum gr_call_order order);

/* The number of the next set-up of calls of the lane's order: no other order has it. */
static inline uint32_t gr_setup_number(struct gr_lane *lane)
{
    return GR_NORDERS * lane->setups++ + (uint32_t) lane->order;
}
void mca_coll_gpuring_lane_free(struct gr_lane *lane); /* NULL is fine; its queue must be empty */

/* A nonblocking op is called or started: it is to come after what is on default streams now (struct gr_points). */
static inline void mca_coll_gpuring_op_mark(struct gr_op *op, const struct gr_lane *lane)
{
    mca_coll_gpuring_points_set(&op->stage.after, &op->call, NULL == lane->gpu ? NULL : lane->gpu->gpu);
}

/* Do op, after all that is in the queue, and wait for it. OMPI error code, or OMPI_ERR_NOT_AVAILABLE: no links. */
int mca_coll_gpuring_lane_do(struct gr_lane *lane, struct gr_op *op);

/* Put ops of different lanes into their queues and leave them to whoever drives. */
void mca_coll_gpuring_lane_start(struct gr_op *const *ops, size_t n);

/* Let opal_progress drive lanes: before the first op that nobody waits for in a blocking call. OMPI error code. */
int mca_coll_gpuring_lanes_open(void);

/* Drive all listed lanes once; returns what was moved. */
uint64_t mca_coll_gpuring_lanes_drive(bool here);

/* Whether some lane is listed. */
bool mca_coll_gpuring_lanes_any(void);

/* At the end of the component. */
void mca_coll_gpuring_lanes_close(void);
void mca_coll_gpuring_order_close(void);

/* ---- step timing ---- */

struct gr_timing;

/* Whether the call, the first whose steps are timed, must ask for the notes' links: on all ranks alike. */
bool mca_coll_gpuring_timing_asks(const struct gr_lane *lane, const struct gr_op *op);

/* The op's machine was started: let its steps be timed, where they are. OMPI error code. */
int mca_coll_gpuring_timing_begin(struct gr_op *op);

/* What timing waits for, or "". */
void mca_coll_gpuring_timing_explain(const struct gr_lane *lane, char *text, size_t size);
void mca_coll_gpuring_timing_free(struct gr_lane *lane);

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
