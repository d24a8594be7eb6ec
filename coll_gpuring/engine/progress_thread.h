/* SPDX-License-Identifier: BSD-3-Clause */
/* The optional progress thread. */
#ifndef GR_ENGINE_PROGRESS_THREAD_H
#define GR_ENGINE_PROGRESS_THREAD_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

/*
 * Start it at the first nonblocking call (device: that may be on devices), where the parameter
 * wants it.
 */
void mca_coll_gpuring_thread_need(bool device);
void mca_coll_gpuring_thread_close(void);

END_C_DECLS

#endif
