/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on device memory that the saved collective does. */
#ifndef GR_MPI_FALLBACK_H
#define GR_MPI_FALLBACK_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_form;

/* Call the saved function, with host memory in the place of device memory. */
int mca_coll_gpuring_fall_back(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               const struct gr_form *form);

/* Go on with what is in flight; returns how many ended. opal_progress calls it. */
int mca_coll_gpuring_fallback_progress(void);
void mca_coll_gpuring_fallback_close(void);

END_C_DECLS

#endif
