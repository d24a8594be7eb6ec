/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures: how all ranks of a communicator learn that one of them cannot go on.
 *
 * A rank whose call fails after the ranks have agreed on it leaves the others waiting for it, in
 * links, on boards, in kernels, in set-ups. So it sends each of them a message on MPI_COMM_WORLD,
 * and a rank that waits looks for such messages. A communicator that has failed stays so: its calls
 * return the error at once. Other communicators go on.
 */
#ifndef GR_COMM_FAILURE_H
#define GR_COMM_FAILURE_H

#include "comm/collectives.h"
#include "comm/comm.h"

#include <stdbool.h>
#include <stdint.h>

struct gr_process;

/*
 * In an MPI call or gr_runtime_progress(): fail the communicator, report why, and tell the other
 * ranks at once. Later calls return GR_ERR_FAILED; this one returns `code`, which the function
 * returns.
 */
int gr_fail_here(struct gr_comm *comm, int code, const char *why);

/*
 * The call `seq` of the communicator fails on this rank: fail the communicator, whose calls return
 * `code` (GR_ERR_...) from now on, and report what failed, and the reason. The other ranks are told
 * by the next gr_failure_tell(). Thread-safe. Does nothing where the communicator has
 * failed already.
 */
void gr_report_failure(struct gr_comm *comm, enum gr_call_id id, uint64_t seq, int code,
                       const char *what, const char *reason);

/* An error code in words. */
const char *gr_error_text(int rc);

/*
 * For a call that waits on the communicator: whether it has failed, been revoked, or lost a
 * rank (ULFM). thorough: look for messages of other ranks, too; that takes as long as a call of
 * gr_runtime_progress(). Returns the code, or 0.
 */
int gr_failure_check(struct gr_comm *comm, bool thorough);

/*
 * The code for a message of the communicator that failed. A message to a dead rank may fail before
 * gr_runtime_state() tells of the death: then the communicator fails with GR_ERR_LOST_RANK, too.
 * Otherwise GR_ERR_FAILED, which is still to be reported.
 */
int gr_failure_of_message(struct gr_comm *comm);

/* ---- the messages by which ranks tell each other ---- */

/*
 * The communicator fails: its calls return `code` (GR_ERR_...) from here
 * on. The first failure counts. why: what failed on this rank, in words, which the next
 * gr_failure_tell() sends to the other ranks; NULL: all of them find out by
 * themselves. Any thread; nothing is printed or sent here.
 */
void gr_fail(struct gr_comm *comm, int code, const char *why);

/*
 * gr_runtime_progress() calls it: look for messages of other ranks now and then, where others may
 * wait for an answer, as failures.listens says.
 */
void gr_failure_listen(struct gr_process *process);

/*
 * The communicator has failed: whether no kernel of another rank writes to this one's buffers any
 * more. In an MPI call or gr_runtime_progress(), which looks for messages. Kernels that may write
 * there count in comm->writing from before their begin, after which comm->failed is looked at once
 * more.
 */
bool gr_failure_out(struct gr_comm *comm);

/*
 * In an MPI call or gr_runtime_progress(): send what gr_fail() has left to be sent,
 * and what others wait for.
 */
void gr_failure_tell(struct gr_comm *comm);

/*
 * From here on the communicator hears of failures. To be called before anything in its first call
 * can fail; later calls do nothing.
 */
void gr_failure_enlist(struct gr_comm *comm);

/*
 * It is known that gpuring takes the communicator. Returns whether gr_runtime_progress() must call
 * gr_failure_listen() from now on.
 */
bool gr_failure_decided(const struct gr_comm *comm);

/* At the communicator's end: it hears of no more failures. */
void gr_failure_delist(struct gr_comm *comm);

/* At the end of the component: free the messages. */
void gr_failures_close(struct gr_process *process);

#endif
