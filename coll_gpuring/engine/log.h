/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for the user. */
#ifndef GR_ENGINE_LOG_H
#define GR_ENGINE_LOG_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

/* Print one message of help-coll-gpuring.txt, as one line, from this process. */
void mca_coll_gpuring_warn(const char *topic, ...);

/*
 * Whether this rank prints what all ranks of comm know alike, at that level of
 * coll_gpuring_verbose: rank 0 does.
 */
bool mca_coll_gpuring_should_log(struct ompi_communicator_t *comm, int level);

/* What to call a communicator in messages; Open MPI gives no name to some (MPI_Intercomm_merge). */
static inline const char *gr_comm_name(const struct ompi_communicator_t *comm)
{
    return '\0' == comm->c_name[0] ? "a communicator without name" : comm->c_name;
}

END_C_DECLS

#endif
