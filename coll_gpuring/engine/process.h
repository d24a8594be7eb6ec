/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once, whatever its communicators. Where ranks are threads, each has one. */
#ifndef GR_ENGINE_PROCESS_H
#define GR_ENGINE_PROCESS_H

#include "engine/failure_messages.h"
#include "engine/lock.h"
#include "engine/network_probe.h"

#include "link/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct gr_op_queue;

/* The queues that gr_runtime_progress() drives. */
struct gr_queue_list {
    gr_lock_t lock;            /* of the list */
    struct gr_op_queue *first; /* NULL: the list is empty */
    atomic_int queues;         /* in the list */
    gr_lock_t opening;         /* guards registered */
    atomic_bool registered;    /* with gr_runtime_progress() */
};

/* The optional progress thread (engine/progress_thread.h). */
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
    pthread_mutex_t lock;               /* guards the opening of the pool */
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

/* The process's pool; NULL when there is no memory for it. */
struct gr_pool *mca_coll_gpuring_pool(struct gr_process *process);

#endif
