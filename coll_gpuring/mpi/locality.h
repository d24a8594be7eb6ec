/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks of a communicator are on other nodes, and their order. */
#ifndef GR_MPI_LOCALITY_H
#define GR_MPI_LOCALITY_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

/* Find the module's remote ranks, as the runtime says. OMPI error code. */
int mca_coll_gpuring_locality_find(mca_coll_gpuring_module_t *module,
                                   struct ompi_communicator_t *comm);

/* A number of this process's node, the same for all processes there. */
uint64_t mca_coll_gpuring_locality_number(void);

/*
 * What the module knows of p ranks on several nodes, from the number that each has given of its
 * own. OMPI error code.
 */
int mca_coll_gpuring_locality_order(mca_coll_gpuring_module_t *module, int p,
                                    const uint64_t *nodes);

END_C_DECLS

#endif
