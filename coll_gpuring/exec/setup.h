/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: makes the links of an algorithm, the first time that a call needs them. setup.c has the
 * state machine; its phases call setup_messages.c, setup_diagnose.c, gpu_order.c, and
 * comm/net_links.c for the links to other nodes.
 */
#ifndef GR_EXEC_SETUP_H
#define GR_EXEC_SETUP_H

#include "comm/net_links.h"

#include "cuda/device.h"
#include "exec/gpu/team.h"
#include "net/net.h"

/* ---- dissemination (setup_messages.c) ---- */

/*
 * All ranks of a communicator combine a value, and all get the same: by nonblocking messages, in
 * ceil(log2 p) rounds. In round k rank r sends what it has heard to r + 2^k, and receives from
 * r - 2^k. Where p is no power of two a rank hears of some ranks twice, so combining a value twice
 * must change nothing, nor must the order.
 */

struct gr_dissemination {
    /* set by the caller, and kept until the end */
    const struct gr_comm *comm; /* borrowed */
    int tag;                    /* of all its messages */
    size_t bytes;               /* of a value; it is sent as bytes */
    void *mine;                 /* this rank's value; at the end, of all ranks */
    void *sent, *heard;         /* room for the values in flight */
    void (*combine)(void *mine, const void *heard);

    /* private */
    int distance;                   /* 2^round */
    struct gr_message *messages[2]; /* of the round: receive, send */
};

/* Begin. 0, or GR_ERR_FAILED. */
int gr_dissemination_begin(struct gr_dissemination *d);

/* Progress. Adds the number of completed rounds to *moved. An enum gr_status, or GR_ERR_FAILED. */
int gr_dissemination_poll(struct gr_dissemination *d, uint64_t *moved);

/* The rank whose message the round waits for. */
int gr_dissemination_awaits(const struct gr_dissemination *d);

/* ---- a set-up ---- */

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

struct gr_setup {
    struct gr_op_queue *queue; /* whose links it makes; borrowed */
    struct gr_pool *pool;      /* the process's shared memory; borrowed */
    const struct gr_op *op;    /* on devices: the call that needs the links first; borrowed */
    bool device;               /* links between devices */
    int use;                   /* what the links are for (link/team.h) */
    uint32_t nchannels;        /* host memory: the links of so many channels */
    int root;                  /* for algorithms whose links depend on it */
    int tag;                   /* the first, and highest, of its GR_SETUP_TAGS tags */
    enum gr_setup_state state;
    struct gr_join join;             /* the links */
    struct gr_net_ends net;          /* the inter-node links */
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

/*
 * Create a set-up; it sends nothing yet. In host memory: of what `use` needs for a call with
 * nchannels channels (link/team.h). On devices: of what op's algorithm needs; op's buffers
 * determine the device of the first set-up, and op must outlive it. number: from gr_setup_number()
 * at the time of the call, so that it is the same on all ranks. NULL: no memory.
 */
struct gr_setup *gr_setup_new(struct gr_op_queue *queue, int use, int root, uint32_t nchannels,
                              uint32_t number);
struct gr_setup *gr_setup_new_gpu(struct gr_op *op, uint32_t number);

/*
 * Progress a set-up; the first call begins the exchange. Adds the number of completed phases to
 * *moved. Returns an enum gr_status, or a negative error code. For gr_poll_to_end().
 */
int gr_setup_poll(void *setup, uint64_t *moved);

/* After GR_DONE: the team takes the links, or, on all ranks, none. Frees the set-up. */
void gr_setup_end(struct gr_setup *setup);

/* ---- messages (setup_messages.c) ---- */

/* The highest of the GR_SETUP_TAGS tags of the set-up with that number. */
int gr_setup_tag(uint32_t number);

/* The tag of the messages of the phase s->state. */
int gr_setup_phase_tag(const struct gr_setup *s);

/*
 * Post a message of the phase s->state: send bytes from buf to a rank, or receive them from it.
 * Uses one of the reserved messages. 0, or GR_ERR_...
 */
int gr_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank);

/* Reserve n messages, in place of those before. 0, or GR_ERR_NOMEM. */
int gr_setup_reserve(struct gr_setup *s, int n);

/* ---- words: what set-ups wait for, and why they failed (setup_diagnose.c) ---- */

/* Write to text[size] what a set-up waits for. For gr_poll_to_end(). */
void gr_setup_explain(void *setup, char *text, size_t size);

/* Log what a set-up of links in host memory is going to need, before it sends anything: rank 0. */
void gr_setup_announce(const struct gr_setup *s);

/*
 * Log the result of a set-up: why it failed, or that links are slow. Once per process and reason,
 * on one rank.
 */
void gr_setup_log(const struct gr_setup *s);

/*
 * ---- the phases of a communicator's first set-up on devices (gpu_order.c) ----
 *
 * Which device each rank uses, and the order in which they form rings. Each function returns 0 or
 * GR_ERR_...
 */

/* Pick this rank's device, and post the messages that tell rank 0 of it. */
int gr_setup_devices(struct gr_setup *s);

/* Rank 0 has all devices: it decides the order. Post the messages that tell it to all ranks. */
int gr_setup_order(struct gr_setup *s);

/* The order is known: create the team of the queue, without links. */
int gr_setup_team(struct gr_setup *s);

/* At the end of the component: forget the order that was found last. */
void gr_order_close(void);

/* ---- how kernels do a call: each rank's, one for all ranks, or none ---- */

enum gr_device_use {
    GR_KERNELS_OF_ALL, /* each rank's runs its steps, and waits for those of others */
    GR_KERNELS_LEADER, /* one does it (exec/gpu/leader.h) */
    GR_KERNELS_NONE    /* the host does it: each rank's would keep the others' from the device */
};

/*
 * The use that a call makes of devices, where kernels may do it: by what the first set-up on devices
 * has found, which is the same on all ranks. Before it nothing is known, and the answer is
 * GR_KERNELS_OF_ALL. An algorithm of schedules that is forced is not for a leader: kernels run it, or
 * the host.
 */
enum gr_device_use gr_device_use_of(const struct gr_comm *comm, const struct gr_op *op);

/* The algorithm that the call's collective is to take, by parameter; -1: by the model. */
int gr_forced_algo(const struct gr_comm *comm, const struct gr_op *op);

/* The same, of the algorithms that the model knows: not of a leader. */
int gr_forced_scheduled(const struct gr_comm *comm, const struct gr_op *op);

#endif
