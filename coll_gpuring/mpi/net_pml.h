/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport of links to other nodes over Open MPI's point-to-point messages. */
#ifndef GR_MPI_NET_PML_H
#define GR_MPI_NET_PML_H

#include "mpi/ompi.h"

#include "net/transport.h"

BEGIN_C_DECLS

/*
 * Links over Open MPI's messages (net_pml.c), and whether this thread is in them: then it must not
 * drive queues.
 */
extern const struct gr_transport mca_coll_gpuring_pml;
bool mca_coll_gpuring_pml_inside(void);

END_C_DECLS

#endif
