/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes: small messages without schedule and stepper.
 *
 * Every rank has a board in its own shared memory (a slab, pool.h) that all others read. A call is
 * one epoch:
 *
 *      rank w's board     set 0          set 1          set nsets-1      for each reader
 *                         [epoch|data]   [epoch|data] ... [epoch|data]   [left|consumed]
 *
 *      post      a sender copies its data into set (epoch mod nsets) of its own board, then stores
 *                the epoch with release: up to 48 bytes are one cache line, one exchange
 *      take      a receiver waits for the epoch on the boards of the senders, in the order of their
 *                ranks, and copies or combines the data there
 *
 * A set is used again nsets calls later. By then all must have taken what was in it, but in a Bcast
 * or Reduce nobody answers; so each reader stores its consumed epoch, the last call that it is
 * through with, into its user of every board, every nsets/2 calls. A writer looks there only when
 * its last look does not cover the set.
 *
 * Nobody waits in a circle: a rank posts epoch e only after all have taken e - nsets, which needs
 * posts up to there only; and consumed epochs up to e - nsets are published by then.
 *
 * Epochs are 64 bits and may begin anywhere. A new lease of a board begins with all sets cleaned to
 * the epoch before the first, which no reader waits for.
 *
 * Reductions are ((x_0 op x_1) op x_2) op ... over ranks, at whoever computes them: an Allreduce
 * gives the same bits everywhere, and those of Reduce and Reduce_scatter.
 */
#ifndef GR_EXEC_MAIL_H
#define GR_EXEC_MAIL_H

#include "exec/reduce.h"
#include "link/board.h"
#include "sched/sched.h"

/* Most bytes of a set's data. */
static inline size_t gr_mailbox_room(const struct gr_mailbox *box)
{
    return box->stride - GR_SET_HEAD;
}

/* Bytes of the largest set that a call needs: what one rank posts. All ranks compute the same. */
size_t gr_mail_bytes(enum gr_coll coll, size_t total_bytes, size_t largest_block_bytes);

/*
 * One call. Buffers belong to the caller and stay until it is over; in is read until it is posted,
 * in and out may overlap in any way.
 */
struct gr_mail {
    enum gr_coll coll;
    int root; /* rank; bcast, reduce */
    /*
     * what this rank posts: the vector (for reduce_scatter all blocks, one after the other), or its
     * own block (allgather)
     */
    const unsigned char *in;
    /* the vector, all blocks (allgather), or the own block (reduce_scatter) */
    unsigned char *out;
    size_t count;         /* elements of the vector, or of each block where counts is NULL */
    const size_t *counts; /* elements of each rank's block, or NULL */
    /*
     * first element of each block in the posted vector (reduce_scatter; ascending) or in out
     * (allgather), or NULL: one after the other
     */
    const size_t *displs;
    struct gr_reducer reducer; /* elem_bytes always, the functions for reductions */
    /* private: */
    uint64_t epoch;
    int next; /* rank whose board is taken next */
};

/* Give the call its place in the order of calls. */
static inline void gr_mail_begin(struct gr_mailbox *box, struct gr_mail *mail)
{
    mail->epoch = ++box->begun;
    mail->next = 0;
}

/* Post it, when all calls before it are posted. 1, or 0 when its set is still in use: try again. */
int gr_mail_post(struct gr_mailbox *box, const struct gr_mail *mail);

/* Whether it was posted, at most nsets calls ago. */
static inline int gr_mail_is_posted(const struct gr_mailbox *box, const struct gr_mail *mail)
{
    return box->posted - mail->epoch < box->nsets;
}

/*
 * Take it as far as it goes, when it is posted and all calls before it are taken. 1 when it is
 * over, 0 when it waits for gr_mail_waits_for(). *moved is increased by the boards that were taken.
 */
int gr_mail_take(struct gr_mailbox *box, struct gr_mail *mail, uint64_t *moved);

/*
 * The ranks that the call waits for: who must take an older call before it can be posted, or the
 * one whose post comes next. Up to p entries; returns how many.
 */
int gr_mail_waits_for(const struct gr_mailbox *box, const struct gr_mail *mail, int *ranks);

#endif
