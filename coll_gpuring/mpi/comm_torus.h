/* SPDX-License-Identifier: BSD-3-Clause */
/* The torus that a communicator's ranks form. */
#ifndef GR_MPI_COMM_TORUS_H
#define GR_MPI_COMM_TORUS_H

#include "mpi/ompi.h"

#include "engine/params.h"

#include "topo/torus.h"

BEGIN_C_DECLS

/*
 * The communicator's Cartesian topology; NULL: it has none. Open MPI leaves the mark of one on some
 * communicators that were made from a Cartesian one: of fewer ranks, and, in 5.0, on graphs.
 */
const struct mca_topo_base_comm_cart_2_2_0_t *mca_coll_gpuring_grid(
    const struct ompi_communicator_t *comm);

/* The torus of a communicator; ndims 0: none. */
struct gr_torus mca_coll_gpuring_torus(struct ompi_communicator_t *comm, const gr_params_t *params,
                                       const struct gr_torus *cluster);

END_C_DECLS

#endif
