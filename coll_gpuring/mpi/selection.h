/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes `mpirun --mca coll gpuring` alone work. */
#ifndef GR_MPI_SELECTION_H
#define GR_MPI_SELECTION_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

/* Make a selection of gpuring alone work; see selection.c. */
int mca_coll_gpuring_selection_complete(void);

END_C_DECLS

#endif
