/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Boards: the memory of mailboxes. Every rank has a board in its own shared memory (a slab, pool.h)
 * that all others read; exec/mail.h says what is written there.
 *
 *      rank w's board     set 0          set 1          set nsets-1      for each reader
 *                         [epoch|data]   [epoch|data] ... [epoch|data]   [left|consumed]
 */
#ifndef GR_LINK_BOARD_H
#define GR_LINK_BOARD_H

#include "link/lease.h"

#include <stddef.h>

/* Bytes of a set before its data: the data keep the alignment of any element. */
#define GR_SET_HEAD 16
/*
 * Sets of a communicator's boards; of those of one persistent request, which has only calls of its
 * own.
 */
#define GR_SETS 8
#define GR_SETS_PERSISTENT 2

/* One rank's board, as mapped here. */
struct gr_board {
    struct gr_lease_user *users; /* by rank of the reader; NULL: not connected */
    unsigned char *sets;
};

struct gr_mailbox {
    int p, rank;
    uint32_t nsets;          /* a power of two, >= 2 */
    size_t stride;           /* bytes from set to set, a multiple of the cache line */
    struct gr_board *boards; /* by rank; owned */
    uint64_t begun;          /* epoch of the last call that began, */
    uint64_t posted;         /* was posted, */
    uint64_t taken;          /* was taken; all in call order */
    uint64_t freed;          /* all are known to have taken up to this epoch */
    uint64_t told;           /* what my users say */
};

/*
 * Bytes of data that a set holds, for boards made for messages of `bytes`; and bytes of such a
 * board.
 */
size_t gr_board_stride(size_t bytes);
size_t gr_board_bytes(int p, uint32_t nsets, size_t stride);

/* A mailbox without boards, whose first epoch is first + 1. 0, or GR_ERR_NOMEM. */
int gr_mailbox_init(struct gr_mailbox *box, int p, int rank, uint32_t nsets, size_t stride,
                    uint64_t first);
void gr_mailbox_free(struct gr_mailbox *box);

/* The owner, before it offers its board to anybody: every set and user says `first`. */
void gr_board_clean(void *base, int p, uint32_t nsets, size_t stride, uint64_t first);

/* Use rank's board, which lies at base in this process. */
void gr_board_attach(struct gr_mailbox *box, int rank, void *base);

/* Where a set has its epoch: the first word. */
static inline _Atomic uint64_t *gr_board_epoch(unsigned char *set)
{
    return (_Atomic uint64_t *) (void *) set;
}

#endif
