/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points (entry.c), and the path of every call: taken or not, of each form. */
#ifndef GR_MPI_DISPATCH_H
#define GR_MPI_DISPATCH_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_form;

/* The path of every call that is not done by a plan. OMPI error code. */
int mca_coll_gpuring_dispatch(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form);

/*
 * Set the entry points of a module. host: also of collectives without buffers. staged: also of
 * those that gpuring only stages.
 */
void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool host, bool staged);

/*
 * End a call with rc that did not get as far as its queue on this rank. On others it may have: with
 * an error the communicator fails, and they are told. Returns rc.
 */
int mca_coll_gpuring_fail_call(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               int rc);

END_C_DECLS

#endif
