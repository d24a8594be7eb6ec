/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 5.0: what differs from other series. Only mpi/ompi.h includes this, after ompi_config.h.
 */
#ifndef GR_COMPAT_OMPI5_H
#define GR_COMPAT_OMPI5_H

#include "compat/from5.h"
#include "compat/int_counts.h"

#define GR_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0

#endif
