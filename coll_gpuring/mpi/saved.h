/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that a module took the place of. */
#ifndef GR_MPI_SAVED_H
#define GR_MPI_SAVED_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_form;

/* Call the saved function of that form with the collective's own arguments. OMPI error code. */
int mca_coll_gpuring_saved_call(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                const struct gr_form *form);

END_C_DECLS

#endif
