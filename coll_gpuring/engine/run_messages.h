/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: Open MPI's point-to-point messages, for nonblocking calls that got no links. */
#ifndef GR_ENGINE_RUN_MESSAGES_H
#define GR_ENGINE_RUN_MESSAGES_H

#include "mpi/ompi.h"

#include "engine/executor.h"

BEGIN_C_DECLS

extern const struct gr_executor mca_coll_gpuring_run_messages;

END_C_DECLS

#endif
