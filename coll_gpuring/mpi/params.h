/* SPDX-License-Identifier: BSD-3-Clause */
/* MCA parameters: registered, checked, and which of them must be equal on all ranks. */
#ifndef GR_MPI_PARAMS_H
#define GR_MPI_PARAMS_H

#include "mpi/ompi.h"

#include "sched/sched.h"

BEGIN_C_DECLS

/* Parameters that must be equal on all ranks of a communicator. */
enum gr_shared_param {
    GR_PARAM_HOST,     /* whether buffers in host memory are taken */
    GR_PARAM_PRIORITY, /* not merged: ranks that differ are left to the other components */
    GR_PARAM_CHANNELS,
    GR_PARAM_SLOTS,
    GR_PARAM_SLOT_BYTES,
    GR_PARAM_MAILBOX_BYTES,
    GR_PARAM_SINGLE_COPY,
    GR_PARAM_PACK_MIB, /* MiB that calls which may pack move at most */
    GR_PARAM_DEVICE_CHANNELS,
    GR_PARAM_DEVICE_SLOTS,
    GR_PARAM_DEVICE_SLOT_BYTES,
    GR_PARAM_PROTOCOL,    /* an enum gr_protocol, or -1 for auto */
    GR_PARAM_ZERO_COPY,   /* bytes from which on calls on devices use it, or -1 */
    GR_PARAM_STAGE_BYTES, /* of a piece of device memory that the host copies; 0: the whole */
    GR_PARAM_NODES,       /* whether communicators of several nodes are taken; there: */
    /*
     * a call takes at least so many times as long as to ask whose buffers are on devices, or it is
     * not asked
     */
    GR_PARAM_NODES_ASK,
    GR_PARAM_NODES_CHANNELS,
    GR_PARAM_NODES_RAILS,   /* 0: as many as there are */
    GR_PARAM_NODES_LATENCY, /* us */
    GR_PARAM_NODES_MBIT,    /* of a node, per second */
    GR_PARAM_TORUS,         /* dims packed into 16 bits each */
    GR_PARAM_STEP_SYNC,     /* an enum gr_step_sync */
    /* what coll_gpuring_algorithm says; it is in those of the collectives already */
    GR_PARAM_COMMON,
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

/*
 * The first parameter that was bad on this process, for the other ranks: a card's fields of
 * modex.c.
 */
typedef struct {
    char name[32], value[32], allowed[192]; /* name "" when all were good */
} gr_bad_param_t;
extern gr_bad_param_t mca_coll_gpuring_bad_param;

/* Whether checked parameters can be these: those of another process come from outside. */
bool mca_coll_gpuring_params_good(const gr_params_t *params, const gr_bad_param_t *bad);

END_C_DECLS

#endif
