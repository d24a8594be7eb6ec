/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The glue between Open MPI and gpuring's core: shared declarations of the coll_gpuring_*.c files, which are
 * the only ones that include Open MPI headers.
 *
 *      component   loading, selection, one-time resources
 *      params      MCA parameters: the table, their checks, and which must be equal on all ranks
 *      bring       makes `--mca coll gpuring` alone work
 *      module      per communicator: enable, disable, the saved collectives
 *      calls       the entry points of all collectives in three forms, and how to hand each on: one table
 *      enter       the one path that every call goes, until it has an op and a lane
 *      op          one call that is taken: from its buffers to its end, a state machine; machine: its steps on the host
 *      explain     what an op that waits says of itself
 *      lane        ops in call order, and who drives them: waiting calls, opal_progress, a thread; lanes: a communicator's
 *      request     MPI requests of nonblocking and persistent calls
 *      data        what a call's buffers hold: sizes, packing, scratch
 *      arrival     where GPUs are about: what every call begins with, so that all know whose buffers lie where
 *      gpu         this process's devices: buffers on them, their pools, what runs a call there
 *      copier      streams for copies; copy: between host and device memory
 *      sides       what the buffers of a call consist of, and what of them it reads and writes
 *      apart       blocks that lie too far apart to be copied as they lie
 *      stage       host memory in the place of device memory, for what the host does
 *      room        that host memory, pinned; scratch: what an op keeps of it and of plain memory
 *      handed      calls on device memory that the saved collective does
 *      pairs       their large messages, which go in pieces; parcel: one such message
 *      torus       the torus that a communicator's ranks form
 *      types       MPI types and operations -> the core's
 *      nodes       which ranks are on other nodes, and their order
 *      peers       what the other processes of the job said at MPI_Init
 *      setup       the exchange that makes links, a state machine; order: its phases on devices; told: what it says;
 *                  setup_messages: its requests and tags
 *      messages    how a nonblocking call ends that got no links
 *      failure     how all ranks learn that one of them cannot go on; notes: by which messages
 *      net         links to other nodes: this process's network, and a lane's ends on it
 *      timing      when steps begin, where that is asked for
 *      thread      the optional progress thread
 *      wait        waiting, time-outs, and what they report; runtime: what is asked of Open MPI for it
 *      stats       counters for MPI_T, the table at the end of a job
 *
 * coll_gpuring_op.h has the declarations of what a call goes through once it is taken.
 */
#ifndef MCA_COLL_GPURING_H
#define MCA_COLL_GPURING_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/mca.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "opal/util/output.h"

#include GR_COMPAT_HEADER

#include <stdatomic.h>

#include "exec/gpu_team.h"
#include "exec/plan.h"
#include "tune/select.h"

BEGIN_C_DECLS

#include "coll_gpuring_calls.h"

/* ---- parameters ---- */

/* Parameters that must be equal on all ranks of a communicator. */
enum gr_shared_param {
    GR_PARAM_HOST,      /* whether buffers in host memory are taken */
    GR_PARAM_PRIORITY,  /* not merged: ranks that differ are left to the other components */
    GR_PARAM_CHANNELS,
    GR_PARAM_SLOTS,
    GR_PARAM_SLOT_BYTES,
    GR_PARAM_MAILBOX_BYTES,
    GR_PARAM_SINGLE_COPY,
    GR_PARAM_PACK_MIB,  /* MiB that calls which may pack move at most */
    GR_PARAM_DEVICE_CHANNELS,
    GR_PARAM_DEVICE_SLOTS,
    GR_PARAM_DEVICE_SLOT_BYTES,
    GR_PARAM_PROTOCOL,  /* an enum gr_protocol, or -1 for auto */
    GR_PARAM_ZERO_COPY, /* bytes from which on calls on devices use it, or -1 */
    GR_PARAM_STAGE_BYTES, /* of a piece of device memory that the host copies; 0: the whole */
    GR_PARAM_NODES,     /* whether communicators of several nodes are taken; there: */
    GR_PARAM_NODES_ASK, /* a call takes at least so many times as long as to ask whose buffers are on devices, or it is not asked */
    GR_PARAM_NODES_CHANNELS,
    GR_PARAM_NODES_RAILS,   /* 0: as many as there are */
    GR_PARAM_NODES_LATENCY, /* us */
    GR_PARAM_NODES_MBIT,    /* of a node, per second */
    GR_PARAM_TORUS,     /* dims packed into 16 bits each */
    GR_PARAM_STEP_SYNC, /* an enum gr_step_sync */
    GR_PARAM_COMMON,    /* what coll_gpuring_algorithm says; it is in those of the collectives already */
    GR_PARAM_ALGORITHM, /* + enum gr_coll: a way (sched.h), or -1 for auto */
    GR_NPARAMS = GR_PARAM_ALGORITHM + GR_NCOLLS
};

typedef struct {
    int64_t value[GR_NPARAMS];
} gr_params_t;

/* Register all parameters. OMPI error code. */
int mca_coll_gpuring_params_register(void);

/* Check what the user gave; a bad value is reported once and replaced by the default. */
void mca_coll_gpuring_params_check(void);

/* Name, value and allowed values of a shared parameter as text, for messages. Value into buf. */
const char *mca_coll_gpuring_param_name(int param);
const char *mca_coll_gpuring_param_text(int param, int64_t value, char *buf, size_t size);
int64_t mca_coll_gpuring_param_default(int param);

/* The first parameter that was bad on this process, for the other ranks: a card's fields of peers.c. */
typedef struct {
    char name[32], value[32], allowed[192]; /* name "" when all were good */
} gr_bad_param_t;
extern gr_bad_param_t mca_coll_gpuring_bad_param;

/* Print one message of help-coll-gpuring.txt, as one line, from this process. */
void mca_coll_gpuring_warn(const char *topic, ...);

/* Whether this rank prints what all ranks of comm know alike, at that level of coll_gpuring_verbose: rank 0 does. */
bool mca_coll_gpuring_should_log(struct ompi_communicator_t *comm, int level);

/*
 * The communicator's Cartesian topology; NULL: it has none. Open MPI leaves the mark of one on some communicators that were made
 * from a Cartesian one: of fewer ranks, and, in 5.0, on graphs.
 */
const struct mca_topo_base_comm_cart_2_2_0_t *mca_coll_gpuring_grid(const struct ompi_communicator_t *comm);

/* The torus that GR_PARAM_TORUS stands for; that of a communicator; ndims 0: none. */
struct gr_torus mca_coll_gpuring_param_torus(int64_t value);
struct gr_torus mca_coll_gpuring_torus(struct ompi_communicator_t *comm, const gr_params_t *params,
                                       const struct gr_torus *cluster);

/* ---- component ---- */

GR_COMPONENT_EXPORT extern gr_coll_component_t mca_coll_gpuring_component;

/* What a process has once; params to report are set when the component is opened. */
struct gr_process {
    mca_base_component_t *component; /* what Open MPI's registries of parameters and addresses know us by */
    gr_params_t params; /* this process's, checked */
    int priority;
    int timeout;        /* seconds, 0: never report */
    int timeout_abort;
    int progress_thread;      /* 0: never, 1: with every nonblocking call, -1: with those on devices */
    bool threaded;            /* there is such a thread, or will be */
    int transport;            /* of links between nodes: an enum gr_transport_kind, or -1: as can be had */
    int direct;               /* their slots may lie in device memory */
    int nodes_zero_copy;      /* bytes of a message from which on UCX sends it from where it lies; -1: none */
    int cuda;                 /* 0: off, 1: on, -1: where there is a GPU */
    int pool_mib, device_pool_mib;
    int verbose;
    char *report;       /* "none", "summary" or "json:FILE"; owned */
    struct gr_pool *pool; /* opened at first use */
    opal_mutex_t lock;    /* pool opening, peers table */
    bool world;           /* MPI_COMM_WORLD is there, and has a module */
};
extern struct gr_process gr_process;

#define GR_SHM_DIR "/dev/shm" /* where links between ranks of a node lie */

/* Whether libmpi is of another series than this was built for, or says another size of a structure that is used here. */
bool mca_coll_gpuring_abi_differs(char *why, size_t size);

/* The process's pool; NULL when there is no memory for it. */
struct gr_pool *mca_coll_gpuring_pool(void);

/* This process. */
struct gr_peer_id mca_coll_gpuring_self(void);

/* Make a selection of gpuring alone work; see bring.c. */
int mca_coll_gpuring_bring_along(void);

/* ---- module ---- */

/* The neighbourhood collectives have no types of their own. */
#define GR_SAVED(name)                                                       \
    __typeof__(((mca_coll_base_comm_coll_t *) NULL)->coll_##name) saved_##name; \
    mca_coll_base_module_t *saved_##name##_module;

/* What was chosen last: calls of one size follow each other. */
struct gr_chosen {
    size_t bytes, post_bytes; /* on which it depends; 0: none yet; */
    enum gr_path path;        /* and, on devices, on this; */
    bool fetches;             /* in host memory, on this */
    struct gr_choice choice;
};

/*
 * The orders in which a communicator's calls come. Open MPI starts nonblocking collectives on the application's
 * communicators by itself, out of opal_progress (MPI_Comm_idup), at another moment on each rank. So nothing that a blocking
 * call uses may depend on which nonblocking calls came before it: each order has a lane and numbers of its own. The init of
 * a persistent call counts as a blocking one.
 */
enum gr_call_order { GR_ORDER_BLOCKING, GR_ORDER_NONBLOCKING, GR_NORDERS };

/* Tells a communicator from all others that its ranks have, in notes.c. */
struct gr_comm_key {
    uint64_t members; /* a hash of its ranks, in order */
    uint32_t id;
    uint32_t count;   /* of those with the same id and members, from 1 on */
};

typedef struct mca_coll_gpuring_module {
    mca_coll_base_module_t super;
    GR_FOR_EACH_FUNCTION(GR_SAVED)
    struct gr_lane *lanes[GR_NORDERS]; /* NULL until the first call of that order */
    atomic_int making;        /* lock: some thread decides, or makes a lane */
    struct ompi_communicator_t *comm; /* NULL until the first call */
    _Atomic uint64_t nonce[GR_NORDERS]; /* that all ranks have agreed on with the first set-up of an order; 0: none yet */
    /* failure.c, notes.c: */
    atomic_int failed;        /* what all its calls return, an OMPI or MPI error code; 0: it has not failed */
    atomic_bool untold;       /* the other ranks are still to be told */
    char why[140];            /* what failed on this rank, in words */
    atomic_int writing;       /* ops whose kernels may write to other ranks' buffers; */
    atomic_bool out;          /* it has failed, and the others know that none does any more; */
    atomic_int outs;          /* ranks that have said so */
    struct gr_comm_key key;
    struct mca_coll_gpuring_module *next_module; /* in the list of those on which a call was made */
    gr_params_t params;       /* the team's: equal on all ranks; */
    struct gr_torus torus;    /* and the torus that they form, if it is known */
    bool gpu, all_gpu;        /* some rank may have buffers on a device; or all may */
    const void *hosts[2];     /* of the last call before the driver was loaded: its send and receive buffer */
    atomic_bool decided;      /* whether the team may be used is known: */
    int refused;              /* an enum gr_handover, or -1 */
    _Atomic(struct gr_stage *) stage; /* of blocking calls that are handed on; NULL: none yet, or in use */
    int32_t *pids;            /* of the ranks; owned */
    unsigned char *remote;    /* which of them are on other nodes; NULL: none is; owned; */
    int *order;               /* and then, their order node by node; owned; */
    struct gr_torus cluster;  /* and the torus of ranks of a node x nodes; ndims 0: they form none; */
    int nodes, node_ranks;    /* how many there are, and most ranks of one; */
    bool shared;              /* and whether ranks share cores; */
    int rails;                /* and devices that links between them lie on (rails.h); 1: as the network chooses */
    struct gr_choice lines;   /* and how arrival lines go between them */
    bool direct;              /* whether this process can read the memory of them all */
} mca_coll_gpuring_module_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_module_t);

/* At the component's beginning and end. */
void mca_coll_gpuring_modules_open(void);
void mca_coll_gpuring_modules_close(void);

mca_coll_base_module_t *mca_coll_gpuring_comm_query(struct ompi_communicator_t *comm, int *priority);

/* Set the entry points of a module (entry.c) - staged: of all collectives -, and call the saved function (fallback.c). */
void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool staged);
int mca_coll_gpuring_call_saved(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                const struct gr_form *form);

/* The path of every call. OMPI error code. */
int mca_coll_gpuring_enter(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form);

/* The core's type and operation for MPI's, *_OTHER where it has none. */
enum gr_type mca_coll_gpuring_type(struct ompi_datatype_t *type);
enum gr_redop mca_coll_gpuring_op(struct ompi_op_t *op);

/* ---- peers ---- */

/* Publish this process's parameters; before MPI_Init's exchange. */
int mca_coll_gpuring_peers_publish(void);
void mca_coll_gpuring_peers_close(void);

/*
 * Decide from what all ranks of the communicator published whether the team may be used, and with which
 * parameters: fills params, refused (an enum gr_handover, or -1 for yes), gpu, pids, and what follows those. Local, and
 * the same on all ranks but for remote and direct. OMPI error code.
 */
int mca_coll_gpuring_peers_decide(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm);

/* ---- nodes ---- */

/* Find the module's remote ranks, as the runtime says. OMPI error code. */
int mca_coll_gpuring_nodes_find(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm);

/* A number of this process's node, the same for all processes there. */
uint64_t mca_coll_gpuring_nodes_number(void);

/* What the module knows of p ranks on several nodes, from the number that each has given of its own. OMPI error code. */
int mca_coll_gpuring_nodes_order(mca_coll_gpuring_module_t *module, int p, const uint64_t *nodes);

/* What links between nodes may go over; its name. */
enum gr_transport_kind { GR_TRANSPORT_UCX, GR_TRANSPORT_PML, GR_NTRANSPORTS };
const char *mca_coll_gpuring_transport_name(int kind);

/* What to call a communicator in messages; Open MPI gives no name to some (MPI_Intercomm_merge). */
static inline const char *gr_comm_name(const struct ompi_communicator_t *comm)
{
    return '\0' == comm->c_name[0] ? "a communicator without name" : comm->c_name;
}

/* ---- statistics ---- */

int mca_coll_gpuring_stats_register(void);
void mca_coll_gpuring_stats_call(enum gr_call_id id, int way, bool device, int ranks, size_t bytes, double us);
void mca_coll_gpuring_stats_zero_copy(enum gr_call_id id);
void mca_coll_gpuring_stats_handover(enum gr_handover reason);
bool mca_coll_gpuring_stats_timed(void); /* whether times are wanted */
void mca_coll_gpuring_stats_report(void);
const char *mca_coll_gpuring_handover_name(int reason);

/* What a timer has seen on this rank, at its end. */
struct gr_timing_report;
void mca_coll_gpuring_stats_timing(const struct gr_timing_report *report);

END_C_DECLS

#endif
