/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: Open MPI's point-to-point messages, for nonblocking calls that got no links. */
#ifndef GR_ENGINE_RUN_MESSAGES_H
#define GR_ENGINE_RUN_MESSAGES_H

#include "engine/executor.h"

extern const struct gr_executor mca_coll_gpuring_run_messages;

#endif
