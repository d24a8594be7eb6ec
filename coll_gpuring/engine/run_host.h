/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: steps on host memory. */
#ifndef GR_ENGINE_RUN_HOST_H
#define GR_ENGINE_RUN_HOST_H

#include "mpi/ompi.h"

#include "engine/executor.h"

BEGIN_C_DECLS

extern const struct gr_executor mca_coll_gpuring_run_host;

END_C_DECLS

#endif
