/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages by which ranks tell each other of failures. */
#ifndef GR_COMM_FAILURE_MESSAGES_H
#define GR_COMM_FAILURE_MESSAGES_H

#include <stdbool.h>

struct gr_comm;
struct gr_process;

/*
 * The communicator fails: its calls return `code` (GR_ERR_...) from here
 * on. The first failure counts. why: what failed on this rank, in words, which the next
 * gr_failure_tell() sends to the other ranks; NULL: all of them find out by
 * themselves. Any thread; nothing is printed or sent here.
 */
void gr_fail(struct gr_comm *comm, int code, const char *why);

/* In an MPI call or gr_runtime_progress(): look for messages of other ranks. */
void gr_failure_poll(struct gr_process *process);

/*
 * gr_runtime_progress() calls it: the same now and then, where others may wait for an answer, as
 * failures.listens says.
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
