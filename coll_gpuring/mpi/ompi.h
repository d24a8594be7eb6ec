/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of Open MPI and of C that most of these files need, and what differs between series
 * of Open MPI (compat/).
 */
#ifndef GR_MPI_OMPI_H
#define GR_MPI_OMPI_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/mca.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"

#include GR_COMPAT_HEADER

#if !defined(GR_COMM_REVOKED) /* no fault tolerance */
#define GR_COMM_REVOKED(comm) false
#define GR_OMPI_REVOKED MPI_ERR_COMM
#define GR_COMM_LOST_RANK(comm) false
#define GR_RANK_IS_LOST(comm, rank) ((void) (comm), (void) (rank), false)
#define GR_OMPI_LOST_RANK MPI_ERR_COMM
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#endif
