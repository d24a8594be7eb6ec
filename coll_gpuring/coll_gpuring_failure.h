/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures: how all ranks of a communicator learn that one of them cannot go on.
 *
 * A rank whose call fails after the ranks have agreed on it leaves the others waiting for it, in links, on boards, in
 * kernels, in set-ups. So it sends each of them a message on MPI_COMM_WORLD, and whoever waits looks for such messages.
 * A communicator that has failed stays so: its calls return the error at once. Other communicators go on.
 */
#ifndef MCA_COLL_GPURING_FAILURE_H
#define MCA_COLL_GPURING_FAILURE_H

#include "coll_gpuring.h"

BEGIN_C_DECLS

/*
 * The module's communicator fails: its calls return `code` (an OMPI or MPI error code) from here on. The first failure
 * counts. why: what failed on this rank, in words, which the next mca_coll_gpuring_failure_tell() sends to the other ranks;
 * NULL: all of them find out by themselves. Any thread; nothing is printed or sent here.
 */
void mca_coll_gpuring_fail(mca_coll_gpuring_module_t *module, int code, const char *why);

/* The same in an MPI call or opal_progress, at once: printed and sent; `code` is this call's alone. Returns it. */
int mca_coll_gpuring_fail_here(mca_coll_gpuring_module_t *module, int code, const char *why);

/*
 * An op fails on this rank: printed, and sent as after mca_coll_gpuring_fail(); what failed, and why. Any thread. Nothing
 * where the communicator has failed already.
 */
struct gr_op;
void mca_coll_gpuring_op_fails(const struct gr_op *op, const char *what, const char *reason);

/* In an MPI call or opal_progress: look for messages of other ranks. */
void mca_coll_gpuring_failure_look(void);

/* opal_progress calls it: the same now and then, where others may wait for an answer. */
void mca_coll_gpuring_failure_listen(void);

/*
 * The communicator has failed: whether no kernel of another rank writes to this one's buffers any more. In an MPI call or
 * opal_progress, which looks for messages. Kernels that may write there count in module->writing from before their begin,
 * after which module->failed is looked at once more.
 */
bool mca_coll_gpuring_failure_out(mca_coll_gpuring_module_t *module);

/* In an MPI call or opal_progress: send what mca_coll_gpuring_fail() has left to be sent, and what others wait for. */
void mca_coll_gpuring_failure_tell(mca_coll_gpuring_module_t *module);

/*
 * For whoever waits on the module's communicator: whether it has failed, been revoked, or lost a rank (ULFM). thorough:
 * look for messages of other ranks, too; that takes as long as a call of opal_progress. Returns the code, or 0.
 */
int mca_coll_gpuring_failure_check(mca_coll_gpuring_module_t *module, bool thorough);

/* The same at the beginning of a call: what is known already. */
static inline int mca_coll_gpuring_failure_known(mca_coll_gpuring_module_t *module)
{
    return 0 != module->failed || GR_COMM_REVOKED(module->comm) || GR_COMM_LOST_RANK(module->comm)
               ? mca_coll_gpuring_failure_check(module, false)
               : OMPI_SUCCESS;
}

/*
 * The module's communicator may hear of failures, from its first call to its end: before anything can fail in that call;
 * when the team is known, if it is used; at its end. Enlisting once more is fine. decided: whether opal_progress must call
 * failure_listen() from here on.
 */
void mca_coll_gpuring_failure_enlist(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm);
bool mca_coll_gpuring_failure_decided(const mca_coll_gpuring_module_t *module);
void mca_coll_gpuring_failure_delist(mca_coll_gpuring_module_t *module);

/* At the end of the component. */
void mca_coll_gpuring_failures_close(void);

END_C_DECLS

#endif
