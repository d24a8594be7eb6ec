/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host backend of the stepper: links in shared memory, data in host memory.
 *
 * Single copy: in a direct plan, the receiver fetches a message from the sender's buffers, if it
 * lies there. The sender does not overwrite a message that may still be fetched: only an element's
 * final value is stored over an input, and it cannot exist before every contribution has been read.
 * The stepper is done when all messages of this rank have been read. Until then, and while it waits
 * for anything, the sender does what receivers ask of it: it copies what they offer, and what the
 * kernel does not let them fetch (fetch.h).
 *
 * Zero copy: a network sends a message from this rank's buffers (gr_fifo.data_at). The same rule
 * holds, except for algorithms that overwrite what they have sent (gr_algo_overwrites_sent()).
 */
#ifndef GR_EXEC_HOST_H
#define GR_EXEC_HOST_H

#include "exec/fetch.h"
#include "exec/label.h"
#include "exec/reduce.h"
#include "exec/stepper.h"

/*
 * Bytes of the buffer that messages of other ranks are fetched to before they are reduced; and the
 * least that works, more slowly.
 */
#define GR_BOUNCE_BYTES ((size_t) 192 << 10)
#define GR_BOUNCE_LEAST ((size_t) 3 << 10)

/* One call's data. Buffers belong to the caller, links to the team; both outlive the call. */
struct gr_host_op {
    struct gr_link *in, *out; /* [channel * p + rank]: the link from, to that rank */
    int p;
    unsigned char *space[3];   /* [enum gr_space]: address of element 0 */
    struct gr_reducer reducer; /* elem_bytes always; the functions only where steps reduce */
    /*
     * Smallest message, in bytes, that a network sends from this rank's buffers, if it lies there
     * contiguous; 0: none. If set, the end of the call waits for the network, after an error too.
     */
    size_t zero_copy;
    uint64_t label;        /* of the call, equal on all ranks */
    int direct;            /* 1: the plan is direct; only then the next four are read */
    const int32_t *pids;   /* [rank]: process ID */
    unsigned char *bounce; /* where steps reduce */
    size_t bounce_bytes;   /* of bounce, at least GR_BOUNCE_LEAST */
    /*
     * smallest message, in bytes, of which the receiver offers its sender a half; 0: none. Equal
     * on all ranks
     */
    size_t offered;

    /* Set where the kernel refuses this rank a message; 0 at the start. */
    struct {
        int error; /* errno of process_vm_readv; 0: nothing was refused */
        int rank;  /* the message's sender */
    } refused;

    struct gr_label_pair differs; /* set before GR_ERR_DIFFER and GR_ERR_TRUNCATE are returned */

    /* Private; all but later.dst and later.src are 0 at the start. */
    struct {
        void *dst;
        const void *src;
        size_t bytes;
    } later;            /* a copy that is done after the next commit */
    unsigned popped;    /* bit k: the slot of the step's from-link k has been given back */
    size_t valid_bytes; /* bytes in use of the step's outgoing slots */
    /* zero copy: address of the slots' content in this rank's buffers; or NULL */
    const void *data_at;
    uint64_t zero_copies; /* slots that a network was to send from this rank's buffers */
    /*
     * The links whose slots may not all be read, where the end of the call waits for that: a list
     * through next_unread, whose last link leads to itself.
     */
    struct gr_link *unread;
    /* The message that its sender copies through the slot, since it could not be fetched. */
    struct {
        enum { GR_HOST_NOT_ASKED, GR_HOST_ASKED, GR_HOST_FETCHED } state;
        uint32_t channel;
        int from;     /* number of the from-link of the step */
        int rank;     /* the sender */
        size_t begin; /* element of the piece where the step goes on */
        struct gr_fetch fetch;
    } asked;
};

/*
 * For struct gr_stepper; ctx is a struct gr_host_op. Errors: GR_ERR_SYS: a process whose message is
 * fetched has ended, or its call has failed. GR_ERR_DIFFER, GR_ERR_TRUNCATE: a message is of another
 * call, as op->differs says.
 */
extern const struct gr_backend gr_host_backend;

/*
 * The call ends with an error, and the application gets its buffers back. In a direct plan:
 * withdraw this rank's messages, so that no rank takes later contents of the buffers for a message.
 */
void gr_host_withdraw(struct gr_host_op *op);

/*
 * The ranks that a step waits for now: those whose from-link has no full slot, or whose to-link has
 * no free one. step NULL: the channel's steps are done; the ranks that have not read all messages.
 * Writes up to 2 * GR_FAN entries, each rank once; returns their number.
 */
int gr_host_waits_for(struct gr_host_op *op, uint32_t channel, const struct gr_step *step,
                      int *ranks);

#endif
