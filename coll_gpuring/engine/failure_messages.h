/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages by which ranks tell each other of failures. */
#ifndef GR_ENGINE_FAILURE_MESSAGES_H
#define GR_ENGINE_FAILURE_MESSAGES_H

#include "engine/collectives.h"
#include "engine/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gr_comm;
struct gr_process;

/* Identifies a communicator in messages. */
struct gr_comm_key {
    uint64_t members; /* hash of the numbers of its ranks' processes, in order */
    uint32_t id;      /* the runtime's; used again after the communicator is freed */
    uint32_t count;   /* 1 for the first communicator of that id and members, then 2, ... */
};

/* What a rank tells the others. */
struct gr_failure_message {
    struct gr_failure_message *next; /* of those that were sent, or received */
    uint64_t nonce[GR_NORDERS];      /* the sender's: 0 where it had none yet */
    struct gr_comm_key key;          /* the communicator that has failed */
    int32_t kind;                    /* an enum message_kind */
    int32_t code;                    /* what the communicator's calls return */
    int32_t rank;                    /* in that communicator */
    char why[140];                   /* what failed on the sender, in words */
};

/* Messages that are there without memory: failures may come of the lack of it. */
#define GR_SPARE_MESSAGES 4

/* Keys that are remembered, at most. */
#define GR_KEYS 1024

/* What a process knows of failures. All zero at first. */
struct gr_failures {
    gr_lock_t lock;                  /* of the lists */
    struct gr_comm *comms;           /* list: communicators that hear of failures */
    struct gr_failure_message *sent; /* messages may be in flight from there until the end */
    /* of communicators on which this rank has not made a call yet */
    struct gr_failure_message *heard;
    struct gr_failure_message spare[GR_SPARE_MESSAGES];
    int spared; /* of those in use */
    /* the last one of each id and members, where these lead; count 0: none */
    struct gr_comm_key keys[GR_KEYS];
    /* kernels may write to the buffers of ranks that wait for an answer */
    atomic_bool listens;
    atomic_uint calls; /* of gr_runtime_progress() while `listens` is set */
    gr_lock_t looking; /* some thread looks for messages */
};

/*
 * The communicator fails: its calls return `code` (GR_ERR_...) from here
 * on. The first failure counts. why: what failed on this rank, in words, which the next
 * mca_coll_gpuring_failure_tell() sends to the other ranks; NULL: all of them find out by
 * themselves. Any thread; nothing is printed or sent here.
 */
void mca_coll_gpuring_fail(struct gr_comm *comm, int code, const char *why);

/* In an MPI call or gr_runtime_progress(): look for messages of other ranks. */
void mca_coll_gpuring_failure_poll(struct gr_process *process);

/*
 * gr_runtime_progress() calls it: the same now and then, where others may wait for an answer, as
 * failures.listens says.
 */
void mca_coll_gpuring_failure_listen(struct gr_process *process);

/*
 * The communicator has failed: whether no kernel of another rank writes to this one's buffers any
 * more. In an MPI call or gr_runtime_progress(), which looks for messages. Kernels that may write
 * there count in comm->writing from before their begin, after which comm->failed is looked at once
 * more.
 */
bool mca_coll_gpuring_failure_out(struct gr_comm *comm);

/*
 * In an MPI call or gr_runtime_progress(): send what mca_coll_gpuring_fail() has left to be sent,
 * and what others wait for.
 */
void mca_coll_gpuring_failure_tell(struct gr_comm *comm);

/*
 * From here on the communicator hears of failures. To be called before anything in its first call
 * can fail; later calls do nothing.
 */
void mca_coll_gpuring_failure_enlist(struct gr_comm *comm);

/*
 * It is known that gpuring takes the communicator. Returns whether gr_runtime_progress() must call
 * mca_coll_gpuring_failure_listen() from now on.
 */
bool mca_coll_gpuring_failure_decided(const struct gr_comm *comm);

/* At the communicator's end: it hears of no more failures. */
void mca_coll_gpuring_failure_delist(struct gr_comm *comm);

/* At the end of the component: free the messages. */
void mca_coll_gpuring_failures_close(struct gr_process *process);

#endif
