/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's predefined types and operations in the terms of executors. */
#ifndef GR_MPI_TYPE_CODES_H
#define GR_MPI_TYPE_CODES_H

#include "mpi/ompi.h"

#include "exec/reduce.h"

BEGIN_C_DECLS

/* The core's type and operation for MPI's, *_OTHER where it has none. */
enum gr_type mca_coll_gpuring_type(struct ompi_datatype_t *type);
enum gr_redop mca_coll_gpuring_redop(struct ompi_op_t *op);

END_C_DECLS

#endif
