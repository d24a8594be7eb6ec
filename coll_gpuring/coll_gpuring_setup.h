/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set-up from the inside: shared by setup.c (its phases), order.c (those on devices), net.c (links to other nodes) and
 * told.c (what it says).
 */
#ifndef MCA_COLL_GPURING_SETUP_H
#define MCA_COLL_GPURING_SETUP_H

#include "coll_gpuring_lane.h"

#include "net/net.h"

BEGIN_C_DECLS

enum gr_setup_state {
    GR_SETUP_NEW,
    GR_SETUP_DEVICES,
    GR_SETUP_ORDER,
    GR_SETUP_OFFERS,
    GR_SETUP_ANSWERS,
    GR_SETUP_VERDICT
};

/* What travels in the verdict's rounds. */
struct gr_setup_verdict {
    int32_t status, rank;       /* the worst of all, and the lowest rank with it, which says why */
    struct gr_verdict host;
    struct gr_gpu_verdict gpu;
    uint64_t nonce;             /* the largest of all: it tells this communicator from others that had its id */
};

/* What rank 0 hears of a rank, and tells all. */
struct gr_setup_device {
    struct gr_gpu_id id;
    int32_t order;              /* [position]: the rank there */
    int32_t path;               /* rank 0's, in what it tells: an enum gr_path for all */
};

struct gr_setup;

/* A message for each of n wires, in arrays of structures. */
struct gr_wires {
    unsigned char *base;
    size_t stride, rank_at, message_at, message_bytes;
    int n;
};

/* What a phase receives and sends: with ranks of this node, and then with others. */
struct gr_exchange {
    struct gr_wires in[2], out[2];
};

/* An end of a link to another node, on the frame of its wire, which is an executor's of the host or kernels'. */
struct gr_end {
    int rank;                   /* the other end's */
    int rail;                   /* that it lies on (rails.h) */
    struct gr_fifo fifo;
    int *used;                  /* the wire's: the network has it */
    struct gr_net_link *link;
    struct gr_net_offer mine, theirs;
};

/* What differs between links in host memory and on devices. */
struct gr_setup_kind {
    bool device;
    /* Lease what is to be offered; where the offers are. 0, or there is no memory. */
    int (*begin)(struct gr_setup *s, struct gr_exchange *x);
    /* Offers were received: answer them; where the answers are. NULL: of this kind only those of other nodes are. */
    void (*answer)(struct gr_setup *s, struct gr_exchange *x);
    /* Everything was received: this rank's part of the verdict; its status. */
    int (*map)(struct gr_setup *s);
    /* Take what was made, or give it back. */
    void (*end)(struct gr_setup *s);
};

struct gr_setup {
    struct gr_lane *lane;
    struct gr_pool *pool;
    const struct gr_op *op;     /* on devices: the call that asks first */
    const struct gr_setup_kind *kind;
    int way, root, tag;
    enum gr_setup_state state;
    struct gr_join join;        /* one of the two */
    struct gr_gpu_join gpu;
    struct gr_end *in, *out;    /* links to other nodes, */
    int nin, nout;
    struct gr_held *held;       /* and those that are open: to be the lane's */
    struct gr_gpu *mine;        /* this rank's device, */
    int mine_error;             /* or why there is none */
    struct gr_setup_device *devices; /* p, then this rank's own */
    ompi_request_t **requests;
    int nrequests, awaited;     /* the first `awaited` are receives */
    int distance;               /* VERDICT: 2^round */
    struct gr_setup_verdict sent, heard, verdict;
    char why[400];              /* the driver's words or the network's, where this rank's status is not 0 */
};

/* Post one message of the phase. OMPI error code. */
int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank, int tag);

/* Room for n messages under way. OMPI error code. */
int mca_coll_gpuring_setup_room(struct gr_setup *s, int n);

/* The phases of the first set-up on devices: this rank's device to rank 0; the order to all; the team. */
int mca_coll_gpuring_setup_devices(struct gr_setup *s);
int mca_coll_gpuring_setup_order(struct gr_setup *s);
int mca_coll_gpuring_setup_team(struct gr_setup *s);

/*
 * The network's part of it (net.c). Room for that many ends, which the caller fills in: rank, fifo, used. Then: open those of
 * incoming links; answer what was offered; take what was answered. *status: the join's, to which what goes wrong is added.
 * end: the lane gets the links, or they are closed.
 */
int mca_coll_gpuring_ends_room(struct gr_setup *s, int nin, int nout); /* OMPI error code */
void mca_coll_gpuring_ends_begin(struct gr_setup *s, int *status);
void mca_coll_gpuring_ends_answer(struct gr_setup *s, int *status);
void mca_coll_gpuring_ends_map(struct gr_setup *s, int *status);
void mca_coll_gpuring_ends_end(struct gr_setup *s);
void mca_coll_gpuring_ends_tell(const struct gr_setup *s);

/* Why slots of the lane's links to other nodes cannot lie in device memory, as far as the network goes; NULL: they can. */
const char *mca_coll_gpuring_net_indirect(const struct gr_lane *lane);

/* Say what is to be known of the verdict: why it is against us, or that links are slow; once per kind of reason. */
void mca_coll_gpuring_setup_tell(const struct gr_setup *s);

END_C_DECLS

#endif
