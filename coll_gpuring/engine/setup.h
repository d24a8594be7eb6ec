/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: makes the links of an algorithm, the first time that a call needs them. setup.c has the
 * state machine, gpu_order.h its first phases on devices, net_links.h the links to other nodes.
 */
#ifndef GR_ENGINE_SETUP_H
#define GR_ENGINE_SETUP_H

#include "engine/dissemination.h"

#include "cuda/device.h"
#include "exec/gpu/team.h"
#include "link/fifo.h"
#include "link/team.h"
#include "net/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_gpu;
struct gr_net_links;
struct gr_op_queue;
struct gr_net_link;
struct gr_op;

/*
 * Create a set-up; it sends nothing yet. In host memory: of what `way` needs for a call with
 * nchannels channels (link/team.h). On devices: of what op's algorithm needs; op's buffers
 * determine the device of the first set-up, and op must outlive it. number: from gr_setup_number()
 * at the time of the call, so that it is the same on all ranks. NULL: no memory.
 */
struct gr_setup *mca_coll_gpuring_setup_new(struct gr_op_queue *queue, int way, int root,
                                            uint32_t nchannels, uint32_t number);
struct gr_setup *mca_coll_gpuring_setup_new_gpu(struct gr_op_queue *queue, const struct gr_op *op,
                                                uint32_t number);

/*
 * Progress a set-up; the first call begins the exchange. Adds the number of completed phases to
 * *moved. Returns an enum gr_status, or a negative error code. For mca_coll_gpuring_wait().
 */
int mca_coll_gpuring_setup_poll(void *setup, uint64_t *moved);

/* After GR_DONE: the team takes the links, or, on all ranks, none. Frees the set-up. */
void mca_coll_gpuring_setup_end(struct gr_setup *setup);

/* The phase whose messages are in flight, see setup.c. */
enum gr_setup_state {
    GR_SETUP_NEW,     /* none */
    GR_SETUP_DEVICES, /* rank 0 receives the devices of all ranks */
    GR_SETUP_ORDER,   /* rank 0 sends the order of the rings */
    GR_SETUP_HANDLES, /* readers send handles to writers */
    GR_SETUP_REPLIES, /* writers reply */
    GR_SETUP_AGREE    /* all ranks agree on the worst status */
};

/* A message of the last phase: what the sender has heard so far, of itself and others. */
struct gr_setup_result {
    int32_t status;                  /* 0, or the lowest error */
    int32_t rank;                    /* the lowest rank that has this status */
    struct gr_join_agreement agreed; /* of the links */
    uint64_t nonce; /* the largest; tells the communicator from others with its id */
};

/* A rank's device, and what rank 0 decides. */
struct gr_setup_device {
    struct gr_gpu_id id;
    int32_t order; /* from rank 0: the rank at this position of the rings */
    int32_t path;  /* from rank 0, for all ranks: an enum gr_path */
    /*
     * To rank 0: whether it is of the model of which the tuning file has constants. From rank 0, for
     * all ranks: whether all are.
     */
    int32_t tuned;
    /*
     * To rank 0: whether processes that share it run together (MPS). From rank 0, for all ranks:
     * whether some ranks share a device on which they do not.
     */
    int32_t contends;
};

/* What a set-up and the network tell each other of one link to another node. */
struct gr_net_endpoint {
    int rank;                    /* at the other end */
    int rail;                    /* of the link (engine/rails.h) */
    struct gr_fifo fifo;         /* in the slab of the connection */
    struct gr_doorbell **bell;   /* of the connection; set when the link is opened */
    struct gr_net_link *link;    /* NULL: not opened */
    struct gr_net_handle mine;   /* sent to the other end */
    struct gr_net_handle theirs; /* received from it */
};

/* A set-up in progress. */
struct gr_setup {
    struct gr_op_queue *queue; /* whose links it makes; borrowed */
    struct gr_pool *pool;      /* the process's shared memory; borrowed */
    const struct gr_op *op;    /* on devices: the call that needs the links first; borrowed */
    bool device;               /* links between devices */
    int way;                   /* what the links are for (link/team.h) */
    uint32_t nchannels;        /* host memory: the links of so many channels */
    int root;                  /* for algorithms whose links depend on it */
    int tag;                   /* the first, and highest, of its GR_SETUP_TAGS tags */
    enum gr_setup_state state;
    struct gr_join join;             /* the links */
    struct gr_net_endpoint *in;      /* [nin]: incoming inter-node links; owned */
    struct gr_net_endpoint *out;     /* [nout]: outgoing inter-node links; owned */
    int nin, nout;                   /* their numbers */
    struct gr_net_links *held;       /* inter-node links that are open; owned */
    struct gr_gpu *mine;             /* this rank's device; NULL: see mine_error */
    int mine_error;                  /* 0, or why this rank has no device: GR_ERR_... */
    struct gr_setup_device *devices; /* [p + 1]: of all ranks, and this rank's own; owned */
    struct gr_message **messages;    /* of the phase; owned */
    int nmessages;                   /* messages in flight */
    int awaited;                     /* the first `awaited` messages are receives */
    struct gr_dissemination rounds;  /* of the agreement */
    struct gr_setup_result sent;     /* agreement: sent in this round */
    struct gr_setup_result heard;    /* agreement: received in this round */
    struct gr_setup_result result;   /* of all ranks heard so far; at the end, of all ranks */
    char why[400];                   /* this rank's error, as driver or network describe it */
};

#endif
