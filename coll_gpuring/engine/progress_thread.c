/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The optional progress thread: moves what nonblocking and persistent calls have in flight while
 * the application computes. It neither sends messages nor completes requests, which are Open MPI's
 * and may not be thread-safe; the next MPI call of the application does that.
 */
#include "engine/progress_thread.h"

#include "engine/lock.h"
#include "engine/op_queue.h"
#include "engine/params.h"
#include "engine/process.h"
#include "engine/log.h"
#include "engine/runtime.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/*
 * Rounds without progress before it naps, and for how long: a core that the application does not
 * need.
 */
#define ROUNDS_BUSY 200
#define NAP_NS 20000
/* The same when nothing is in flight. */
#define NAP_IDLE_NS 200000

static void nap(long ns)
{
    struct timespec t = {0, ns};

    (void) nanosleep(&t, NULL);
}

static void *thread_main(void *arg)
{
    struct gr_process *process = arg;
    unsigned idle = 0;

    while (!atomic_load_explicit(&process->progress.stop, memory_order_acquire)) {
        if (!gr_process_has_queues(process)) {
            nap(NAP_IDLE_NS);
        } else if (0 < mca_coll_gpuring_queues_drive(process, false)) {
            idle = 0;
        } else if (++idle < ROUNDS_BUSY) {
            sched_yield();
        } else {
            nap(NAP_NS);
        }
    }
    return NULL;
}

/* Signals are the application's threads' business. */
static int start_thread(struct gr_process *process)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&process->progress.thread, NULL, thread_main, process);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

void mca_coll_gpuring_thread_need(struct gr_process *process, bool device)
{
    struct gr_progress_thread *progress = &process->progress;
    int wanted = gr_settings.progress_thread, rc = 0;

    if (progress->there || 0 == wanted || (0 > wanted && !device)) {
        return;
    }
    gr_progress_threads = true; /* locks are real ones from here on */
    gr_lock(&progress->lock);
    if (!progress->there) {
        atomic_store(&progress->stop, false);
        rc = start_thread(process);
        progress->runs = 0 == rc;
        progress->there = true; /* tried, at least */
    }
    gr_unlock(&progress->lock);
    if (0 != rc) {
        mca_coll_gpuring_print(
            "gpuring: no progress thread (coll_gpuring_progress_thread): pthread_create: "
            "error %d; only MPI calls progress nonblocking calls",
            rc);
    }
}

void mca_coll_gpuring_thread_close(struct gr_process *process)
{
    struct gr_progress_thread *progress = &process->progress;

    if (progress->runs) {
        atomic_store_explicit(&progress->stop, true, memory_order_release);
        pthread_join(progress->thread, NULL);
    }
    progress->there = progress->runs = false;
}
