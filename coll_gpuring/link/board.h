/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Boards: the memory of mailboxes. Every rank has a board in its own shared memory (a slab,
 * pool.h), which all others read. exec/mailbox.h says what is written there.
 *
 *      rank w's board   [left|consumed] of each reader   set 0                set 1 ... nsets-1
 *                                                        [epoch|label|data]   [epoch|label|data]
 */
#ifndef GR_LINK_BOARD_H
#define GR_LINK_BOARD_H

#include "link/lease.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a set before its data: epoch and label. The data are aligned for any element. */
#define GR_SET_HEAD 16
#define GR_SETS 8            /* sets of a communicator's boards */
#define GR_SETS_PERSISTENT 2 /* at least, of a persistent request's */

/* A rank's board, mapped. */
struct gr_board {
    struct gr_lease_user *users; /* [rank of the reader]; NULL: not connected */
    unsigned char *sets;         /* nsets * stride */
};

/* Epochs number the calls of a mailbox, in call order. */
struct gr_mailbox {
    int p;                   /* ranks */
    int rank;                /* this one */
    uint32_t nsets;          /* a power of two, from 2 to GR_MAX_SETS */
    size_t stride;           /* bytes from set to set, a multiple of the cache line */
    struct gr_board *boards; /* [rank]; owned */
    unsigned char *mine;     /* the sets of this rank's board; NULL: not connected */
    uint64_t begun;          /* epoch of the last call that began */
    uint64_t posted;         /* epoch of the last call that posted its message */
    uint64_t taken;          /* epoch of the last call that has read all messages */
    uint64_t full;           /* the first epoch whose set is not known to be free */
    bool prefetches;         /* of this processor: gr_mailbox_init() */
    size_t posted_bytes;     /* of the last post, if it prefetches; 0: that call posted nothing */
    uint64_t tell;  /* after this epoch this rank writes to others' boards what it has read */
    uint64_t moved; /* boards that this rank has read a post of */
};

/* Bytes from set to set, for messages of up to `bytes`. */
size_t gr_board_stride(size_t bytes);

/* Offset of set k in a board; of the set behind the last: the board's size. */
size_t gr_board_set_offset(int p, uint32_t k, size_t stride);

/* A mailbox without boards, whose first call has epoch first + 1. Returns 0 or GR_ERR_NOMEM. */
int gr_mailbox_init(struct gr_mailbox *box, int p, int rank, uint32_t nsets, size_t stride,
                    uint64_t first);
void gr_mailbox_free(struct gr_mailbox *box);

/* Let the next call be of epoch first + 1, where all ranks have completed all calls. */
void gr_mailbox_begin_at(struct gr_mailbox *box, uint64_t first);

/*
 * The first epoch whose set is not free, where all have completed `consumed`. That may be more than
 * this rank has: others that only post may be ahead.
 */
static inline uint64_t gr_mailbox_first_full(const struct gr_mailbox *box, uint64_t consumed)
{
    return consumed + box->nsets + 1;
}

#define GR_MAX_SETS 64
#define GR_ALL_SETS UINT64_MAX

/*
 * Set all epochs of this rank's board at `base` to `first`, before others get its handle. sets: bit
 * k: set k may have another epoch. Sets whose bits are 0 are not touched.
 */
void gr_board_clean(void *base, int p, uint32_t nsets, size_t stride, uint64_t first,
                    uint64_t sets);

/* Connect to a rank's board, which is mapped at `base`. */
void gr_board_attach(struct gr_mailbox *box, int rank, void *base);

/* The epoch of a set: its first word. */
static inline _Atomic uint64_t *gr_board_epoch(unsigned char *set)
{
    return (_Atomic uint64_t *) (void *) set;
}

/* The label of a set (exec/mailbox.h): its second word, written and read as the data are. */
static inline uint64_t *gr_board_label(unsigned char *set)
{
    return (uint64_t *) (void *) set + 1;
}

#endif
