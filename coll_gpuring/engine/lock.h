/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks for short sections, which cost nothing where no other thread runs. */
#ifndef GR_ENGINE_LOCK_H
#define GR_ENGINE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

typedef atomic_int gr_lock_t;

/* Whether MPI may be called by several threads: the runtime's variable (engine/runtime.h). */
extern const bool *const gr_runtime_threads;

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
void mca_coll_gpuring_lock_slowly(gr_lock_t *lock);

static inline void gr_lock(gr_lock_t *lock)
{
    if (!gr_try(lock)) {
        mca_coll_gpuring_lock_slowly(lock);
    }
}

static inline void gr_unlock(gr_lock_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

#endif
