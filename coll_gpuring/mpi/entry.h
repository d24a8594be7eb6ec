/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points of all collectives. */
#ifndef GR_MPI_ENTRY_H
#define GR_MPI_ENTRY_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

/*
 * Set the entry points of a module. host: also of collectives without buffers. staged: also of
 * those that gpuring only stages.
 */
void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool host, bool staged);

END_C_DECLS

#endif
