/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of the job say of themselves at MPI_Init. */
#ifndef GR_MPI_MODEX_H
#define GR_MPI_MODEX_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

/* Publish this process's parameters; before MPI_Init's exchange. */
int mca_coll_gpuring_modex_publish(void);
void mca_coll_gpuring_modex_close(void);

/*
 * Decide from what all ranks of the communicator published whether the team may be used, and with
 * which parameters: fills params, refused (an enum gr_fallback_reason, or -1 for yes), gpu, pids,
 * and what follows those. Local, and the same on all ranks but for remote and direct. OMPI error
 * code.
 */
int mca_coll_gpuring_modex_decide(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm);

END_C_DECLS

#endif
