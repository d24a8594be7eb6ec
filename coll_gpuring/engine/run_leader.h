/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: one kernel for all ranks that share a device (exec/gpu/leader.h). */
#ifndef GR_ENGINE_RUN_LEADER_H
#define GR_ENGINE_RUN_LEADER_H

#include "engine/executor.h"

#include "exec/gpu/leader.h"

#include <stdbool.h>

/* Executor state of one op. */
struct gr_leader_op {
    struct gr_leader_run run; /* its buffers, and where it is */
    bool ready;               /* the application's work on default streams is done */
    bool writing; /* counted in comm->writing: this rank may lead, and write to others' buffers */
    /* after an error: time in seconds when it stops waiting for the leader's kernel; 0: none */
    double leave_by;
};

struct gr_op_queue;

/* The application starts a nonblocking call of the queue: nothing is on its streams behind it yet. */
void mca_coll_gpuring_leader_mark(const struct gr_op_queue *queue);

extern const struct gr_executor mca_coll_gpuring_run_leader;

#endif
