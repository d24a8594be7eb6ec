/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine counts. mpi/report.c keeps the counters, mpi/constants.c the constants. */
#ifndef GR_ENGINE_STATS_H
#define GR_ENGINE_STATS_H

#include "engine/collectives.h"
#include "engine/comm.h"
#include "engine/params.h"

#include "sched/protocol.h"
#include "timing/timer.h"
#include "tune/constants.h"

#include <stdbool.h>
#include <stddef.h>

/* A call that has run to its end; us 0: it was not timed. */
void mca_coll_gpuring_stats_call(enum gr_call_id id, int way, bool device, int ranks, size_t bytes,
                                 double us);

/*
 * A call without a copy: on devices with other ranks' receive buffers mapped, or between nodes with
 * data sent from user buffers.
 */
void mca_coll_gpuring_stats_zero_copy(enum gr_call_id id);

/* A call that was left to Open MPI, and why. */
void mca_coll_gpuring_stats_fallback(enum gr_fallback_reason reason);

/* Whether the times of calls are wanted. */
static inline bool mca_coll_gpuring_stats_timed(void)
{
    const char *report = gr_settings.report;

    return NULL != report && 'n' != report[0]; /* "none" */
}

/*
 * By which constants calls on the process's first communicator with device links choose, once these
 * are there: those of comm->constants for that path, of sources from `least` on.
 */
void mca_coll_gpuring_stats_constants(const struct gr_comm *comm, enum gr_path path,
                                      enum gr_constant_source least);

/* What a timer has seen on this rank, at its end. */
void mca_coll_gpuring_stats_timing(const struct gr_timing_report *report);

#endif
