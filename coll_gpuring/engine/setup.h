/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set-up from the inside: shared by setup.c (its phases), gpu_order.c (those on devices),
 * net_links.c (links to other nodes) and setup_diagnose.c (what it says).
 */
#ifndef GR_ENGINE_SETUP_H
#define GR_ENGINE_SETUP_H

#include "mpi/ompi.h"

#include "cuda/device.h"
#include "exec/gpu/team.h"
#include "link/fifo.h"
#include "link/team.h"
#include "net/net.h"

BEGIN_C_DECLS

struct gr_gpu;
struct gr_net_links;
struct gr_op_queue;
struct gr_net_link;
struct gr_op;

/*
 * A set-up for what the way needs in host memory, or on devices (then op is the call that asks
 * first: its buffers say which). Marks it as asked for; nothing is sent yet. The number was taken
 * from the module at the time of the call, so that numbers are alike on all ranks. NULL: no memory.
 */
struct gr_setup *mca_coll_gpuring_setup_new(struct gr_op_queue *queue, int way, int root,
                                            uint32_t number);
struct gr_setup *mca_coll_gpuring_setup_new_gpu(struct gr_op_queue *queue, const struct gr_op *op,
                                                uint32_t number);

/* Go on; begins at the first poll. enum gr_status or negative. For mca_coll_gpuring_wait(). */
int mca_coll_gpuring_setup_poll(void *setup, uint64_t *moved);

/* After GR_DONE: the team has what it asked for, or not, on all ranks alike. Frees the set-up. */
void mca_coll_gpuring_setup_end(struct gr_setup *setup);

/* How far that is which its way needs: links, boards. */
enum gr_links mca_coll_gpuring_op_links(const struct gr_op *op);

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
    int32_t status, rank; /* the worst of all, and the lowest rank with it, which says why */
    struct gr_verdict host;
    struct gr_gpu_verdict gpu;
    /* the largest of all: it tells this communicator from others that had its id */
    uint64_t nonce;
};

/* What rank 0 hears of a rank, and tells all. */
struct gr_setup_device {
    struct gr_gpu_id id;
    int32_t order; /* [position]: the rank there */
    int32_t path;  /* rank 0's, in what it tells: an enum gr_path for all */
};

/* A message for each of n connections, in arrays of structures. */
struct gr_setup_messages {
    unsigned char *base;
    size_t stride, rank_at, message_at, message_bytes;
    int n;
};

/* What a phase receives and sends: with ranks of this node, and then with others. */
struct gr_exchange {
    struct gr_setup_messages in[2], out[2];
};

/*
 * An end of a link to another node, on the slab of its connection, which is an executor's of the
 * host or kernels'.
 */
struct gr_net_endpoint {
    int rank; /* the other end's */
    int rail; /* that it lies on (rails.h) */
    struct gr_fifo fifo;
    int *used; /* the connection's: the network has it */
    struct gr_net_link *link;
    struct gr_net_offer mine, theirs;
};

/* What differs between links in host memory and on devices. */
struct gr_setup_kind {
    bool device;
    /* Lease what is to be offered; where the offers are. 0, or there is no memory. */
    int (*begin)(struct gr_setup *s, struct gr_exchange *x);
    /*
     * Offers were received: answer them; where the answers are. NULL: of this kind only those of
     * other nodes are.
     */
    void (*answer)(struct gr_setup *s, struct gr_exchange *x);
    /* Everything was received: this rank's part of the verdict; its status. */
    int (*map)(struct gr_setup *s);
    /* Take what was made, or give it back. */
    void (*end)(struct gr_setup *s);
};

struct gr_setup {
    struct gr_op_queue *queue;
    struct gr_pool *pool;
    const struct gr_op *op; /* on devices: the call that asks first */
    const struct gr_setup_kind *kind;
    int way, root, tag;
    enum gr_setup_state state;
    struct gr_join join; /* one of the two */
    struct gr_gpu_join gpu;
    struct gr_net_endpoint *in, *out; /* links to other nodes, */
    int nin, nout;
    struct gr_net_links *held;       /* and those that are open: to be the queue's */
    struct gr_gpu *mine;             /* this rank's device, */
    int mine_error;                  /* or why there is none */
    struct gr_setup_device *devices; /* p, then this rank's own */
    ompi_request_t **requests;
    int nrequests, awaited; /* the first `awaited` are receives */
    int distance;           /* VERDICT: 2^round */
    struct gr_setup_verdict sent, heard, verdict;
    /* the driver's words or the network's, where this rank's status is not 0 */
    char why[400];
};

END_C_DECLS

#endif
