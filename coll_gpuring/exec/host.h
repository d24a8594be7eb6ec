/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor: the stepper's functions over links in shared memory, with data in host memory.
 *
 * In a direct plan a message that lies in the sender's buffers is not copied into the slot, but
 * fetched from there by the receiver. Nobody overwrites what another may still fetch: an element's
 * final value, the only one that is stored over an input, cannot exist before every contribution to
 * it was read; and a machine is done only when all that it sent has been read.
 *
 * The same goes for what a network sends from this rank's buffers: zero copy (gr_fifo.from), for
 * algorithms that are not hasty (sched.h).
 */
#ifndef GR_EXEC_HOST_H
#define GR_EXEC_HOST_H

#include "exec/reduce.h"
#include "exec/stepper.h"
#include "link/fifo.h"

/*
 * What is combined out of other ranks' memory may be fetched to a buffer of that many bytes first.
 */
#define GR_BOUNCE_BYTES ((size_t) 3 << 16)

/* One call's data. Buffers belong to the caller, links to the team; both outlive the call. */
struct gr_host_op {
    struct gr_link *in, *out; /* [channel * p + rank]: the link from, to that rank */
    int p;
    uint32_t nchannels;
    unsigned char *space[3];   /* by enum gr_space: where its element 0 lies */
    struct gr_reducer reducer; /* elem_bytes is needed always, the functions where steps reduce */
    /*
     * some links lead through a network, and have their fill: the machine is done when that has
     * taken all, since nobody may care for it afterwards
     */
    int remote;
    /*
     * least bytes of a slot that a network sends from this rank's buffers, where they lie there in
     * one piece; 0: none. Then the call's end, be it an error, waits for the network
     */
    size_t zero_copy;
    /* Direct plans only: */
    int direct;
    const int32_t *pids;   /* [rank]: processes */
    unsigned char *bounce; /* GR_BOUNCE_BYTES, where steps reduce */
    struct {
        void *dst;
        const void *src;
        size_t bytes; /* 0 at first */
    } later;          /* private */
    /* private, 0 at first: from-links of the step whose slot was given back already */
    unsigned popped;
    size_t filled; /* private, 0 at first: bytes of its slots, */
    /* and where they lie in this rank's buffers; NULL at first: nowhere */
    const void *from;
    uint64_t borrowed; /* slots that a network was to send from there; 0 at first */
};

/*
 * For struct gr_stepper; ctx is a struct gr_host_op. Only fetching another process's memory can
 * fail (GR_ERR_SYS), and does so, too, where that process has withdrawn it.
 */
extern const struct gr_executor_ops gr_host_executor;

/*
 * The call ends with an error, and its buffers are the application's again: in a direct plan others
 * must not take what they find there from now on for what was sent.
 */
void gr_host_withdraw(struct gr_host_op *op);

/*
 * The ranks that the step waits for at this moment: the from-links without a full slot and the
 * to-links without a free one; for step NULL, a channel that is through, those that have not read
 * all of it. Up to 2 * GR_FAN entries, each rank once; returns how many.
 */
int gr_host_waits_for(struct gr_host_op *op, uint32_t channel, const struct gr_step *step,
                      int *ranks);

#endif
