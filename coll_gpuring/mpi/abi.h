/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the Open MPI that loads the component is the one that it was built for. */
#ifndef GR_MPI_ABI_H
#define GR_MPI_ABI_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

enum gr_abi {
    GR_ABI_FITS,
    GR_ABI_LAYOUT, /* libmpi is of the same series, and some structures have other sizes */
    GR_ABI_OTHER   /* libmpi is of another series, or of none that is known and has other sizes */
};

/*
 * Whether the libmpi of this process is the one that this was built for. Where it is not, rank 0
 * says why in one line, once. Before that answer nothing may read or write a structure of Open MPI.
 * May be called before MPI_Init.
 */
enum gr_abi mca_coll_gpuring_abi(void);

END_C_DECLS

#endif
