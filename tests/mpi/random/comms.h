/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that a program makes. */
#ifndef RANDOM_COMMS_H
#define RANDOM_COMMS_H

#include "task.h"

/* Makes one from `parent` as the step says; collective over parent, but for create_group. Returns
 * MPI's error. */
int comm_make(struct comm *c, const struct comm *parent, const struct step *step, int number);

/* One of all ranks that a program is given: a duplicate, or, where this MPI has sessions, a session's.
 * The session is ended when all of its communicators are freed. */
void comm_all_ranks(MPI_Comm *c, bool of_session);
void comm_end_session(void);

/* Starts MPI_Comm_idup: c->idup, which comm_known() follows once it is complete. */
int comm_start_idup(struct comm *c, const struct comm *parent);

/* Fills in what is known once c->mpi is there. */
void comm_known(struct comm *c);
void comm_forget(struct comm *c);

/* The root of this step, as this rank names it; of an intercommunicator a rank of either group. */
int comm_root(const struct comm *c, const struct step *step);

#endif
