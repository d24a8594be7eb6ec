/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: steps on host memory. */
#ifndef GR_ENGINE_RUN_HOST_H
#define GR_ENGINE_RUN_HOST_H

#include "engine/executor.h"

extern const struct gr_executor mca_coll_gpuring_run_host;

#endif
