/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: the exchange that makes links, the first time that an algorithm needs them. setup.c has
 * the phases, gpu_order.c those on devices, net_links.c the links to other nodes, and
 * setup_diagnose.c the messages.
 */
#ifndef GR_ENGINE_SETUP_H
#define GR_ENGINE_SETUP_H

#include "cuda/device.h"
#include "exec/gpu/team.h"
#include "link/fifo.h"
#include "link/team.h"
#include "net/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_gpu;
struct gr_net_links;
struct gr_op_queue;
struct gr_net_link;
struct gr_op;

/*
 * A set-up of what the way (sched.h) needs in host memory, or on devices; there op is the call that
 * asks first, whose buffers say which device. Marks the links as asked for; sends nothing yet.
 * number: from gr_setup_number() at the time of the call, so that all ranks have the same. NULL: no
 * memory.
 */
struct gr_setup *mca_coll_gpuring_setup_new(struct gr_op_queue *queue, int way, int root,
                                            uint32_t number);
struct gr_setup *mca_coll_gpuring_setup_new_gpu(struct gr_op_queue *queue, const struct gr_op *op,
                                                uint32_t number);

/*
 * Progress; the first poll begins the exchange. Returns enum gr_status, or GR_ERR_...
 * For mca_coll_gpuring_wait().
 */
int mca_coll_gpuring_setup_poll(void *setup, uint64_t *moved);

/* After GR_DONE: the team takes the links, or none, on all ranks alike. Frees the set-up. */
void mca_coll_gpuring_setup_end(struct gr_setup *setup);

/* The phase whose messages are under way. */
enum gr_setup_state {
    GR_SETUP_NEW,     /* none yet */
    GR_SETUP_DEVICES, /* all ranks tell rank 0 their devices */
    GR_SETUP_ORDER,   /* rank 0 tells all the order of rings */
    GR_SETUP_HANDLES, /* readers send handles to writers */
    GR_SETUP_REPLIES, /* writers answer */
    GR_SETUP_AGREE    /* all ranks agree on the worst status, by dissemination */
};

/* A message of the last phase: what the sender has heard so far, of itself and others. */
struct gr_setup_result {
    int32_t status;             /* 0, or the lowest error */
    int32_t rank;               /* the lowest rank that has this status */
    struct gr_agreement agreed; /* of the links */
    uint64_t nonce;             /* the largest; tells the communicator from others with its id */
};

/* A rank's device as rank 0 hears of it, and what rank 0 tells all ranks. */
struct gr_setup_device {
    struct gr_gpu_id id;
    int32_t order; /* from rank 0: [position] = rank */
    int32_t path;  /* from rank 0: an enum gr_path for all */
};

/* One message for each of n connections, which lie in an array of structures. */
struct gr_setup_messages {
    unsigned char *base;  /* the array */
    size_t stride;        /* bytes of an element */
    size_t rank_at;       /* offset of the rank at the other end, an int */
    size_t message_at;    /* offset of the message */
    size_t message_bytes; /* of each message */
    int n;                /* elements */
};

/* What a phase receives and sends. [0]: ranks of this node; [1]: ranks of other nodes. */
struct gr_exchange {
    struct gr_setup_messages in[2], out[2];
};

/* This rank's end of a link to another node. */
struct gr_net_endpoint {
    int rank;                          /* at the other end */
    int rail;                          /* that the link lies on (rails.h) */
    struct gr_fifo fifo;               /* on the slab of the connection */
    int *used;                         /* the connection's: the network has got the slab */
    struct gr_net_link *link;          /* NULL: could not be opened */
    struct gr_net_handle mine, theirs; /* exchanged in the phases */
};

struct gr_setup {
    struct gr_op_queue *queue;
    struct gr_pool *pool;   /* the process's shared memory; borrowed */
    const struct gr_op *op; /* devices: the call that asks first */
    bool device;            /* links between devices */
    int way, root;          /* what the links are for */
    int tag;                /* the first of its GR_SETUP_TAGS tags */
    enum gr_setup_state state;
    struct gr_join join;              /* the links that are being made */
    struct gr_net_endpoint *in, *out; /* [nin], [nout]: ends of links to other nodes; owned */
    int nin, nout;
    struct gr_net_links *held;       /* links to other nodes that were opened; owned */
    struct gr_gpu *mine;             /* this rank's device; NULL: mine_error says why not */
    int mine_error;                  /* 0, or a GR_ERR_... */
    struct gr_setup_device *devices; /* [p]: all ranks'; then this rank's own. Owned */
    struct gr_message **requests;    /* of the phase; owned */
    int nrequests;                   /* messages under way */
    int awaited;                     /* the first `awaited` requests are receives */
    int distance;                    /* GR_SETUP_AGREE: 2^round */
    struct gr_setup_result sent;     /* of the round */
    struct gr_setup_result heard;    /* of the round */
    struct gr_setup_result result;   /* of the ranks heard so far; at the end, of all */
    char why[400];                   /* this rank's error in the words of driver or network */
};

#endif
