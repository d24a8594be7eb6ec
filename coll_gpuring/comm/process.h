/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once, whatever its communicators. Where ranks are threads, each has one. */
#ifndef GR_COMM_PROCESS_H
#define GR_COMM_PROCESS_H

#include "comm/collectives.h"
#include "comm/runtime.h"

#include "link/pool.h"
#include "tune/network.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gr_comm;
struct gr_op_queue;
struct gr_public_page;

/* ---- locks for short sections, which cost nothing where no other thread runs ---- */

typedef atomic_int gr_lock_t;

/* There is a progress thread, or will be. */
extern bool gr_progress_threads;

static inline bool gr_threaded(void)
{
    return *gr_runtime_threads || gr_progress_threads;
}

/* Returns false when the lock is held, perhaps by this thread in a caller. */
static inline bool gr_try(gr_lock_t *lock)
{
    if (gr_threaded()) {
        return 0 == atomic_load_explicit(lock, memory_order_relaxed) &&
               0 == atomic_exchange_explicit(lock, 1, memory_order_acquire);
    }
    if (0 != atomic_load_explicit(lock, memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(lock, 1, memory_order_relaxed);
    return true;
}

/* Yields until the lock is free. For short sections in which the holder waits for nothing. */
void gr_lock_slowly(gr_lock_t *lock);

static inline void gr_lock(gr_lock_t *lock)
{
    if (!gr_try(lock)) {
        gr_lock_slowly(lock);
    }
}

static inline void gr_unlock(gr_lock_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

/* ---- failures (comm/failure.h) ---- */

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

/* ---- the process ---- */

/* What a process keeps for its further communicators: a job measures once. */
struct gr_process_network {
    gr_lock_t lock;            /* guards network */
    struct gr_network network; /* all zero: not measured yet */
};

/* The queues that gr_runtime_progress() drives. */
struct gr_queue_list {
    gr_lock_t lock;            /* of the list */
    struct gr_op_queue *first; /* NULL: the list is empty */
    atomic_int queues;         /* in the list */
    gr_lock_t opening;         /* guards registered */
    atomic_bool registered;    /* with gr_runtime_progress() */
};

/* The optional progress thread (mpi/drive.c). */
struct gr_progress_thread {
    gr_lock_t lock;   /* guards the start */
    bool there;       /* it was started, or could not be */
    bool runs;        /* it was started */
    atomic_bool stop; /* it is to end */
    pthread_t thread; /* valid where runs is set */
};

/* All zero at first, but for the lock. */
struct gr_process {
    struct gr_pool *pool;               /* shared memory of links; opened at first use */
    pthread_mutex_t lock;               /* guards the opening of the pool and the page */
    struct gr_public_page *page;        /* what others may read; opened at first use */
    double answered;                    /* page->asked of the last table */
    bool can_message;                   /* gr_runtime_job_send() and receive() may be called */
    struct gr_failures failures;        /* what it knows of failures */
    struct gr_queue_list queues;        /* that gr_runtime_progress() drives */
    struct gr_process_network network;  /* as one of its communicators measured it */
    struct gr_progress_thread progress; /* the optional progress thread */
    atomic_bool copy_refused;           /* the user was told that single copy was refused */
};
#define GR_PROCESS_INIT                   \
    {                                     \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

/* Whether a queue of the process has ops that are not complete. */
static inline bool gr_process_has_queues(const struct gr_process *process)
{
    return 0 != atomic_load_explicit(&process->queues.queues, memory_order_relaxed);
}

/* The process's pool, and its page (link/public.h); NULL when there is no memory for it. */
struct gr_pool *gr_process_pool(struct gr_process *process);
struct gr_public_page *gr_process_page(struct gr_process *process);

#endif
