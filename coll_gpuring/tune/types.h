/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of the cost model: its constants, what it is asked, and what it chooses. */
#ifndef GR_TUNE_TYPES_H
#define GR_TUNE_TYPES_H

#include "sched/cost.h"
#include "sched/types.h"

/*
 * How messages move inside a node: the rows of gr_copy_methods[] (tune/terms.h). The last
 * two are protocols of kernels.
 */
enum gr_copy_method {
    GR_BY_SLOTS,    /* the sender writes them into slots, the receiver reads them there */
    GR_BY_FETCHING, /* the receiver reads its peer's buffers: direct plans (exec/host.h) */
    GR_BY_LL,
    GR_BY_LL128,
    GR_NCOPY_METHODS
};

/* Constants of the model, in microseconds. */
struct gr_costs {
    /* By the method: constants of links. */
    struct gr_copy_costs {
        double step; /* one step: wait for a message, and pass it on; 0: only where it is forced */
        double byte; /* move a byte through a link: one side writes it, the other reads it */
        size_t channel_bytes; /* bytes of S for each further channel */
        size_t from;          /* bytes of S from which on */
        size_t most;          /* bytes of a message that need not fit a slot */
    } by[GR_NCOPY_METHODS];
    double combine; /* added to `byte` if the byte is combined with another */
    double own;     /* a step that waits for no other rank */
    /* mailboxes */
    double mailbox;      /* post and take of one rank's board */
    double mailbox_byte; /* copied to a board, or from one */
    int mailbox_ranks;   /* most ranks */
};

/* Links in host shared memory; in device memory, by path. */
extern const struct gr_costs gr_costs_host, gr_costs_device[GR_NPATHS];

struct gr_choice {
    int algo;                  /* an enum gr_algo, or GR_ALGO_MAILBOX */
    uint32_t nchannels;        /* how many channels */
    int small;                 /* over links for small messages: the caller's choice */
    size_t chunk_bytes;        /* for gr_plan_spec.chunk_bytes */
    int direct;                /* a direct plan, where the team turns out to be capable of it */
    size_t direct_chunk_bytes; /* with a direct plan, for gr_plan_spec.chunk_bytes */
    size_t direct_bytes;       /* with a direct plan, for gr_plan_spec.direct_bytes */
    int protocol;              /* an enum gr_protocol, for gr_plan_spec.protocol */
    uint32_t threads;          /* threads of a block that move data */
    double us;                 /* what the model expects */
};

/* What that needs links for: the algorithm, or the same for small messages. */
static inline int gr_choice_use(const struct gr_choice *choice)
{
    return choice->small ? GR_USE_SMALL + choice->algo : choice->algo;
}

/* What is to be chosen for. */
struct gr_select_args {
    enum gr_coll coll;     /* the collective */
    int p;                 /* ranks */
    struct gr_torus torus; /* that the ranks form; ndims 0: none is known */
    /* S as bandwidth is counted: the vector; all blocks for allgather, reduce_scatter, alltoall */
    size_t bytes;
    /* an algorithm that can do coll, or -1; passed over where the call or the ranks do not fit */
    int forced;
    uint32_t denied;    /* algorithms that may not be chosen, as bits: 1 << enum gr_algo */
    uint32_t nchannels; /* at most */
    size_t slot_bytes;
    uint32_t nslots;      /* of a link */
    size_t post_bytes;    /* most that a rank would post to its mailbox board */
    size_t mailbox_bytes; /* most that fits there; 0: no mailboxes */
    int direct;           /* whether direct plans may be chosen */
    int offers;           /* whether senders may help to copy: no rank shares its core */
    /* forced, or -1; passed over where line_bytes says that it is not possible */
    int protocol;
    /* most that a message takes in lines; 0: not possible. Simple: not read */
    size_t line_bytes[GR_NPROTOCOLS];
    uint32_t threads; /* of a block, for data, at most; 0: no devices */
    struct gr_internode
        internode; /* where it is, neither mailboxes, direct plans nor lines may be */
};

#endif
