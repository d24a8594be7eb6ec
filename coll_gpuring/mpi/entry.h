/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points of all collectives. */
#ifndef GR_MPI_ENTRY_H
#define GR_MPI_ENTRY_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

/* Set the entry points of a module; staged: of all collectives. */
void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool staged);

END_C_DECLS

#endif
