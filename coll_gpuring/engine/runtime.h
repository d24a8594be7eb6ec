/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine asks of Open MPI and of the system: locks, time, tags, requests, polling. */
#ifndef GR_ENGINE_RUNTIME_H
#define GR_ENGINE_RUNTIME_H

#include "mpi/ompi.h"

#include "engine/process.h"

BEGIN_C_DECLS

typedef atomic_int gr_lock_t;

static inline bool gr_threaded(void)
{
    return opal_using_threads() || gr_process.threaded;
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

/*
 * Tests a point-to-point request: 1 when it is complete (it is freed) or MPI_REQUEST_NULL, 0 when
 * not, negative on error. Does not progress Open MPI, unlike ompi_request_test(), so opal_progress
 * may call it.
 */
int mca_coll_gpuring_request_done(ompi_request_t **request);

/* Polls without progress before Open MPI is progressed. */
unsigned mca_coll_gpuring_spins(void);

/* Monotonic time in seconds. */
double mca_coll_gpuring_now(void);

/*
 * Tags of our messages on the application's communicators: one range, in the middle of the negative
 * tags that the PML has. That is below those of the blocking collectives and far from where libnbc
 * begins to count down; a lower one might be an application's where a tag has 24 bits (pml/ucx) or
 * 20 (mtl/ofi). Offsets into the range:
 */
#define GR_TAGS_NET 0     /* two, on MPI_COMM_WORLD */
#define GR_TAGS_FAILURE 2 /* on MPI_COMM_WORLD */
#define GR_TAGS_MESSAGES 3
#define GR_TAGS_SETUPS 4 /* GR_SETUP_TAGS for each of GR_TAGGED_SETUPS set-ups */
#define GR_SETUP_TAGS 4
#define GR_TAGGED_SETUPS 4096
#define GR_TAGS_PAIRS \
    (GR_TAGS_SETUPS + GR_SETUP_TAGS * GR_TAGGED_SETUPS) /* two for each of GR_TAGGED_PAIRS calls */
#define GR_TAGGED_PAIRS 8192

/* The tag at an offset; the following tags of a range are lower. */
int mca_coll_gpuring_tag(int offset);

END_C_DECLS

#endif
