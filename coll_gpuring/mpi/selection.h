/* SPDX-License-Identifier: BSD-3-Clause */
/* What `mpirun --mca coll gpuring` says. */
#ifndef GR_MPI_SELECTION_H
#define GR_MPI_SELECTION_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

/* Whether the selection names gpuring, alone or with other components (^gpuring does not). */
bool mca_coll_gpuring_selection_names_it(void);

/* Make a selection of gpuring alone work; see selection.c. */
int mca_coll_gpuring_selection_complete(void);

END_C_DECLS

#endif
