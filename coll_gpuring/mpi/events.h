/* SPDX-License-Identifier: BSD-3-Clause */
/* Events for MPI_T, which Open MPI has from 6.0 on. With earlier releases these do nothing. */
#ifndef GR_MPI_EVENTS_H
#define GR_MPI_EVENTS_H

#include "mpi/ompi.h"

#include "engine/collectives.h"

BEGIN_C_DECLS

#if GR_HAVE_EVENTS

/* Register the events; one that cannot be registered is never raised. reason: names a reason. */
void mca_coll_gpuring_events_register(const char *(*reason)(int) );

/* Whether a tool listens to the ends of calls, and wants their times. */
bool mca_coll_gpuring_events_wanted(void);

/* A call that gpuring has done, as in engine/stats.h. */
void mca_coll_gpuring_events_call(enum gr_call_id id, int way, bool device, int ranks, size_t bytes,
                                  double us);

/* A call that fell back. */
void mca_coll_gpuring_events_fallback(enum gr_fallback_reason reason);

#else

static inline void mca_coll_gpuring_events_register(const char *(*reason)(int) )
{
    (void) reason;
}

static inline bool mca_coll_gpuring_events_wanted(void)
{
    return false;
}

static inline void mca_coll_gpuring_events_call(enum gr_call_id id, int way, bool device, int ranks,
                                                size_t bytes, double us)
{
    (void) id, (void) way, (void) device, (void) ranks, (void) bytes, (void) us;
}

static inline void mca_coll_gpuring_events_fallback(enum gr_fallback_reason reason)
{
    (void) reason;
}

#endif

END_C_DECLS

#endif
