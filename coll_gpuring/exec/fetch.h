/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fetching: how the reader of a direct slot (link/fifo.h) gets a message out of its writer's
 * memory, and what the writer does for that meanwhile.
 *
 * The reader copies the message by a system call (base/cma.h). Of a long one it may offer the
 * writer a part, so that two processors copy. Where the kernel refuses the call, the reader asks
 * the writer for a copy through the slot. It may be refused in the middle of a call, since rights
 * change and some memory is never readable for other processes. So no function here waits for the
 * writer: a pair of ranks that are both refused must each go on to answer the other.
 */
#ifndef GR_EXEC_FETCH_H
#define GR_EXEC_FETCH_H

#include "base/errors.h"
#include "link/fifo.h"

#include <stddef.h>
#include <stdint.h>

/* A message, or a part of it, that its reader was refused, and asks the writer to copy. */
struct gr_fetch {
    struct gr_link *link; /* its next slot announces the message. Borrowed */
    int pid;              /* the writer's process */
    unsigned char *to;    /* `bytes` bytes */
    uint64_t from;        /* address in the writer's memory */
    size_t bytes;         /* > 0 */
    size_t room_at;       /* offset in the slot from where on the writer may copy through it */
    size_t room;          /* bytes there, > 0 */
    size_t copied;        /* private: bytes that have come through the slot */
    unsigned looks;       /* private: looks at the slot since the writer was asked */
};

static inline struct gr_direct_head *gr_fetch_head(void *slot)
{
    return slot;
}

/*
 * Reader: copy `bytes` bytes of the message that the link's next slot announces, from address
 * `from` of the writer's process pid to `to`. offered: smallest message in bytes of which the writer
 * is offered a half; 0: none. Returns
 *      GR_DONE      all is there
 *      GR_AGAIN     the kernel refuses it: gr_fetch_ask(). Any part of `to` may have been written.
 *                   *error: errno of the call; 0: it was refused before, and not called again
 *      GR_ERR_SYS   the writer's process has ended, or its call has failed
 */
int gr_fetch_read(struct gr_link *l, int pid, void *to, uint64_t from, size_t bytes, size_t offered,
                  int *error);

/* Reader: ask the writer for the message. f->copied is 0; f must live until it has come. */
void gr_fetch_ask(struct gr_fetch *f);

/*
 * Reader, after it has asked: GR_DONE: the message has come; GR_AGAIN: not yet, to be called again;
 * GR_ERR_SYS, as above.
 */
int gr_fetch_poll(struct gr_fetch *f);

/*
 * Writer, while a slot of the link is unread, as often as it waits for anything: take what the
 * reader offers, or copy what the reader asks for. pid: the reader's process.
 */
void gr_fetch_answer(struct gr_link *l, int pid);

#endif
