/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of the arrays of a persistent request's call. */
#ifndef GR_MPI_ARGS_COPY_H
#define GR_MPI_ARGS_COPY_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_call;

/*
 * Put copies in the place of the call's arrays, which the application may free when the call has
 * returned. What is to be freed at the end; NULL: no memory.
 */
void *mca_coll_gpuring_args_copy(struct gr_call *call);

END_C_DECLS

#endif
