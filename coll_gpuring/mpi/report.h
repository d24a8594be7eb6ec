/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters for MPI_T, and the table that a job can end with. */
#ifndef GR_MPI_REPORT_H
#define GR_MPI_REPORT_H

#include "mpi/ompi.h"

#include "engine/stats.h"

BEGIN_C_DECLS

int mca_coll_gpuring_stats_register(void);
void mca_coll_gpuring_stats_report(void);
const char *mca_coll_gpuring_fallback_name(int reason);

END_C_DECLS

#endif
