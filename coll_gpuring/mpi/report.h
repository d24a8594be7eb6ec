/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters for MPI_T, and the table that a job can end with. */
#ifndef GR_MPI_REPORT_H
#define GR_MPI_REPORT_H

#include "mpi/ompi.h"

#include "engine/collectives.h"

#include "timing/timer.h"

BEGIN_C_DECLS

int mca_coll_gpuring_stats_register(void);
void mca_coll_gpuring_stats_call(enum gr_call_id id, int way, bool device, int ranks, size_t bytes,
                                 double us);
void mca_coll_gpuring_stats_zero_copy(enum gr_call_id id);
void mca_coll_gpuring_stats_fallback(enum gr_fallback_reason reason);
bool mca_coll_gpuring_stats_timed(void); /* whether times are wanted */
void mca_coll_gpuring_stats_report(void);
const char *mca_coll_gpuring_fallback_name(int reason);

/* What a timer has seen on this rank, at its end. */
void mca_coll_gpuring_stats_timing(const struct gr_timing_report *report);

END_C_DECLS

#endif
