/* SPDX-License-Identifier: BSD-3-Clause */
/* The component, as Open MPI finds it. */
#ifndef GR_MPI_COMPONENT_H
#define GR_MPI_COMPONENT_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

GR_COMPONENT_EXPORT extern gr_coll_component_t mca_coll_gpuring_component;

END_C_DECLS

#endif
