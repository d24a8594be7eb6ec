/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a communicator combine a value, and all get the same: by nonblocking messages, in
 * ceil(log2 p) rounds. In round k rank r sends what it has heard to r + 2^k, and receives from
 * r - 2^k. Where p is no power of two a rank hears of some ranks twice, so combining a value twice
 * must change nothing, nor must the order.
 */
#ifndef GR_ENGINE_DISSEMINATION_H
#define GR_ENGINE_DISSEMINATION_H

#include <stddef.h>
#include <stdint.h>

struct gr_comm;
struct gr_message;

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
int mca_coll_gpuring_dissemination_begin(struct gr_dissemination *d);

/* Progress. Adds the number of completed rounds to *moved. An enum gr_status, or GR_ERR_FAILED. */
int mca_coll_gpuring_dissemination_poll(struct gr_dissemination *d, uint64_t *moved);

/* The rank whose message the round waits for. */
int mca_coll_gpuring_dissemination_awaits(const struct gr_dissemination *d);

#endif
