/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a running program on this rank, for run.c and steps.c. */
#ifndef RANDOM_STEPS_H
#define RANDOM_STEPS_H

#include "comms.h"
#include "pending.h"
#include "run.h"
#include "task.h"

struct run {
    const struct program *p;
    struct comm comms[MAX_COMMS];
    struct task *tasks[MAX_STEPS]; /* persistent ones, until they are freed */
    struct pending pending;
    struct whereabouts *w;
    uint64_t rng; /* this rank's, for the step that it is at */
    int step;
    int repeat;
    int patience; /* it looks at what is pending once in so many times */
    long calls;
};

/* Carries out step k, unless it is left out or this rank is not in its communicator. */
void step_do(struct run *r, int k);

/* Frees it, when the calls are done that its freeing must not come before. */
void step_free_comm(struct run *r, struct comm *c);

/* Waits for the persistent request of that step, if there is one, and frees it. */
void step_release(struct run *r, int target);

/* Ends the job: what is wrong, and at which step. */
void step_fail(const struct run *r, int step, const char *what);

/* Notes where this thread is. */
void step_at(struct run *r, int step, const char *doing);

/* Of struct pending: a request is complete; a call that waits has returned an error. */
void step_request_done(void *program, void *task, int part, const MPI_Status *status);
void step_wait_failed(void *program, int rc, const char *call);

#endif
