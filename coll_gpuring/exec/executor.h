/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An executor runs an op whose algorithm has been chosen. engine/choose.c is the only place that
 * decides which executor an op gets (op->exec); all other files call it through this table.
 *
 * Executor X is in run_X.c; docs/architecture.md says what data each moves, over which links.
 *
 * The calls of one op, in this order:
 *
 *      links, connect      which links it needs; make them, if no op before it has asked for them
 *      prepare             mpi/ has prepared its buffers
 *      start               the links are there, and the op is the first of its queue
 *      poll, waits_near    until it is done, or has failed; whether it waits for this node only
 *      abort               after an error: until the buffers are the application's again
 *      finish              after start, whether it succeeded or not
 *      explain             between start and finish, at any time, for a report
 *
 *      executor   start                        poll                         abort
 *      mailbox    takes the next epoch         posts, takes others' posts   nothing
 *      host       makes the plan               does steps that are ready    waits for the network
 *      staged     the same, begins copies      the same, as copies end      waits for the network
 *      device     fills in the launch          launches, reads reports      stops its kernel, waits
 *                                                                           for those of others
 *      leader     says where its buffers are   one launches, all wait       withdraws, waits for
 *                                                                           the leader's kernel
 *      messages   sends to all                 receives in order of ranks   nothing
 *
 * After a failed call its output is undefined, and nothing writes to its buffers any more, unless
 * abort has waited for GR_LEAVE_SECONDS in vain. Another rank may still read them by single copy:
 * it then finds the message withdrawn, and fails, too.
 */
#ifndef GR_EXEC_EXECUTOR_H
#define GR_EXEC_EXECUTOR_H

#include "link/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most seconds that a failed call waits for other ranks, or the network, to leave its buffers. */
#define GR_LEAVE_SECONDS 10

struct gr_op;
struct gr_op_queue;
struct gr_setup;

struct gr_executor {
    bool on_device;      /* kernels use its links and its scratch memory */
    int setup;           /* enum gr_op_setup: that makes its links */
    bool runs_steps;     /* of a schedule; they may be timed (step_timing.h) */
    bool sends_messages; /* start and poll only in an MPI call or gr_runtime_progress() */

    /* State of the links that the op's algorithm needs; equal on all ranks. */
    enum gr_links (*links)(const struct gr_op *op);
    /*
     * A set-up of these links, numbered `number`; the caller owns it. NULL: no memory. The function
     * is NULL where no links are needed.
     */
    struct gr_setup *(*connect)(struct gr_op *op, uint32_t number);

    /* Set what may be posted of the buffers before the op's turn, op->early. NULL: nothing. */
    void (*prepare)(struct gr_op *op);

    /* Begin; sets the executor's part of op->run, unless prepare has done that. 0, or GR_ERR_... */
    int (*start)(struct gr_op *op);

    /*
     * Progress. GR_DONE, GR_AGAIN, GR_ERR_FALLBACK: on all ranks another executor is to do the op,
     * of which nothing has moved; or else negative: the op has failed, and poll has reported why
     * (failure.h). *moved is increased by the number of messages that were handled.
     */
    int (*poll)(struct gr_op *op, uint64_t *moved);

    /*
     * Whether each rank that the op waits for is on this node, so that no network brings what it
     * needs. NULL: never, or not known.
     */
    bool (*waits_near)(struct gr_op *op);

    /*
     * The op has failed: stop. Returns whether no other rank and no network uses its buffers any
     * more; if not, call again. here: in an MPI call or gr_runtime_progress(). NULL: only this rank
     * uses them.
     */
    bool (*abort)(struct gr_op *op, bool here);

    /*
     * Release what start and poll took, and set op->count for where the call succeeds. Returns rc,
     * or the error of what was still to be done.
     */
    int (*finish)(struct gr_op *op, int rc);

    /* What the op waits for, in words. */
    void (*explain)(struct gr_op *op, char *text, size_t size);
};

extern const struct gr_executor gr_run_mailbox, gr_run_host, gr_run_staged, gr_run_device,
    gr_run_leader, gr_run_messages;

/*
 * Whether gr_run_staged suits an op that would run as host steps. A matter of this rank alone: the
 * messages are the same.
 */
bool gr_staged_fits(const struct gr_op *op);

/* The application starts a nonblocking call of the queue: nothing is on its streams behind it yet. */
void gr_leader_mark(const struct gr_op_queue *queue);

#endif
