/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the Open MPI that loads the component is the one that it was built for. */
#ifndef GR_MPI_ABI_H
#define GR_MPI_ABI_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

/*
 * Whether libmpi is of another series than this was built for, or says another size of a structure
 * that is used here.
 */
bool mca_coll_gpuring_abi_differs(char *why, size_t size);

END_C_DECLS

#endif
