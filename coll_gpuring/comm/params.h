/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters: those that must be equal on all ranks of a communicator, and those of one
 * process.
 */
#ifndef GR_COMM_PARAMS_H
#define GR_COMM_PARAMS_H

#include "sched/sched.h"
#include "topo/torus.h"

#include <stdint.h>

enum gr_compared_param {
    GR_PARAM_HOST,              /* whether buffers in host memory are taken */
    GR_PARAM_PRIORITY,          /* not merged: ranks that differ are left to the other components */
    GR_PARAM_CHANNELS,          /* most channels in host memory */
    GR_PARAM_SLOTS,             /* of a link in host memory */
    GR_PARAM_SLOT_BYTES,        /* of a slot in host memory */
    GR_PARAM_MAILBOX_BYTES,     /* largest post to a mailbox; 0: no mailboxes */
    GR_PARAM_SINGLE_COPY,       /* whether single copy is allowed */
    GR_PARAM_PACK_MIB,          /* MiB that calls which may pack move at most */
    GR_PARAM_SETUP_MIB,         /* MiB per rank that links of small calls need at most */
    GR_PARAM_DEVICE_CHANNELS,   /* most channels between devices of a node */
    GR_PARAM_DEVICE_SLOTS,      /* of a link between devices */
    GR_PARAM_DEVICE_SLOT_BYTES, /* of a slot between devices */
    GR_PARAM_PROTOCOL,          /* an enum gr_protocol, or -1 for auto */
    GR_PARAM_ZERO_COPY,         /* bytes from which on calls on devices use it, or -1 */
    GR_PARAM_STAGE_BYTES,       /* of a band or fragment of staged data; 0: copied as a whole */
    GR_PARAM_NODES,             /* whether communicators of several nodes are taken; there: */
    /*
     * least time of a call that begins with an agreement on whose buffers are on devices, in times
     * of that agreement
     */
    GR_PARAM_NODES_ASK,
    GR_PARAM_NODES_CHANNELS, /* most channels between nodes */
    GR_PARAM_NODES_RAILS,    /* 0: as many as there are */
    GR_PARAM_NODES_LATENCY,  /* us */
    GR_PARAM_NODES_MBIT,     /* of a node, per second */
    GR_PARAM_TORUS,          /* dims packed into 16 bits each */
    GR_PARAM_STEP_SYNC,      /* an enum gr_step_sync */
    /* what coll_gpuring_algorithm says; it is in those of the collectives already */
    GR_PARAM_COMMON,
    GR_PARAM_ALGORITHM, /* + enum gr_coll: an algorithm (sched/types.h), or -1 for auto */
    GR_NPARAMS = GR_PARAM_ALGORITHM + GR_NCOLLS
};

typedef struct {
    int64_t value[GR_NPARAMS];
} gr_params_t;

/* The torus that a value of GR_PARAM_TORUS stands for; ndims 0: none. */
static inline struct gr_torus gr_param_torus(int64_t value)
{
    struct gr_torus torus = {.ndims = 0};

    for (; value > 0; value >>= 16) {
        torus.dims[torus.ndims++] = (int) (value & 0xffff);
    }
    return torus;
}

/* The transports of links between nodes. */
enum gr_transport_kind { GR_TRANSPORT_UCX, GR_TRANSPORT_PML, GR_NTRANSPORTS };

/* Values of the parameters that may differ between ranks; checked. Where not stated: 0 or 1. */
struct gr_settings {
    gr_params_t params; /* this process's, of those that must be equal on all ranks */
    int priority;       /* of the component; 0: off */
    int timeout;        /* seconds of waiting without progress until a report; 0: never */
    int timeout_abort;  /* such a report aborts the job */
    int signal;         /* number of the signal at which waiting ranks print a table; 0: none */
    /* 0: never, 1: with every nonblocking call, -1: with those on devices */
    int progress_thread;
    int transport; /* of links between nodes: an enum gr_transport_kind; -1: any */
    /* slots of links between nodes may lie in device memory; -1: unless UCX would copy them */
    int gpu_rdma;
    int nodes_zero_copy; /* bytes from which on a message is sent from where it lies; -1: none */
    int cuda;            /* 0: off, 1: on, -1: where there is a GPU */
    int pool_mib;        /* most shared memory of links */
    int measure;         /* the job's first rank measures its machine */
    char *tune_file;     /* "none", a file's name, or "": searched for; owned by mpi/params.c */
    int device_pool_mib; /* most memory of a device for links */
    int verbose;         /* 0, 1 or 2: how much is printed */
    char *report;        /* "none", "line", "summary" or "json:FILE"; owned by mpi/params.c */
};
extern struct gr_settings gr_settings;

#endif
