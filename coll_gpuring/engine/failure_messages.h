/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages by which ranks tell each other of failures. */
#ifndef GR_ENGINE_FAILURE_MESSAGES_H
#define GR_ENGINE_FAILURE_MESSAGES_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

/*
 * The module's communicator fails: its calls return `code` (an OMPI or MPI error code) from here
 * on. The first failure counts. why: what failed on this rank, in words, which the next
 * mca_coll_gpuring_failure_tell() sends to the other ranks; NULL: all of them find out by
 * themselves. Any thread; nothing is printed or sent here.
 */
void mca_coll_gpuring_fail(mca_coll_gpuring_module_t *module, int code, const char *why);

/* In an MPI call or opal_progress: look for messages of other ranks. */
void mca_coll_gpuring_failure_poll(void);

/* opal_progress calls it: the same now and then, where others may wait for an answer. */
void mca_coll_gpuring_failure_listen(void);

/*
 * The communicator has failed: whether no kernel of another rank writes to this one's buffers any
 * more. In an MPI call or opal_progress, which looks for messages. Kernels that may write there
 * count in module->writing from before their begin, after which module->failed is looked at once
 * more.
 */
bool mca_coll_gpuring_failure_out(mca_coll_gpuring_module_t *module);

/*
 * In an MPI call or opal_progress: send what mca_coll_gpuring_fail() has left to be sent, and what
 * others wait for.
 */
void mca_coll_gpuring_failure_tell(mca_coll_gpuring_module_t *module);

/*
 * The module's communicator may hear of failures, from its first call to its end: before anything
 * can fail in that call; when the team is known, if it is used; at its end. Enlisting once more is
 * fine. decided: whether opal_progress must call failure_listen() from here on.
 */
void mca_coll_gpuring_failure_enlist(mca_coll_gpuring_module_t *module,
                                     struct ompi_communicator_t *comm);
bool mca_coll_gpuring_failure_decided(const mca_coll_gpuring_module_t *module);
void mca_coll_gpuring_failure_delist(mca_coll_gpuring_module_t *module);

/* At the end of the component. */
void mca_coll_gpuring_failures_close(void);

END_C_DECLS

#endif
