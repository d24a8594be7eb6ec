/* SPDX-License-Identifier: BSD-3-Clause */
/* The path of every call: taken or not, blocking, nonblocking or persistent. */
#ifndef GR_MPI_DISPATCH_H
#define GR_MPI_DISPATCH_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_form;

/* The path of every call. OMPI error code. */
int mca_coll_gpuring_dispatch(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form);

END_C_DECLS

#endif
