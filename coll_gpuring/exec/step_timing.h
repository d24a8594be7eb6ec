/* SPDX-License-Identifier: BSD-3-Clause */
/* Step timing of a queue: when the steps of its calls begin. */
#ifndef GR_EXEC_STEP_TIMING_H
#define GR_EXEC_STEP_TIMING_H

#include <stdbool.h>
#include <stddef.h>

struct gr_gate;
struct gr_op_queue;
struct gr_plan_spec;
struct gr_timer_links;
struct gr_timing_job;

/*
 * Whether the queue times steps and has not asked for the links of notes yet. Equal on all ranks.
 */
bool gr_timing_asks(const struct gr_op_queue *queue);

/* Says when the steps of an executor begin. */
struct gr_step_gate {
    const struct gr_gate *ops; /* NULL: steps are not timed */
    void *ctx;                 /* for the functions of ops */
};

/*
 * An executor has been started for spec r: begin to time its steps, where the queue times steps.
 * job: the steps; the same job->sched for all calls of an executor. links: those of its messages.
 * 0, or GR_ERR_...
 */
int gr_timing_begin(struct gr_op_queue *queue, const struct gr_plan_spec *r,
                    const struct gr_timing_job *job, const struct gr_timer_links *links,
                    struct gr_step_gate *gate);

/* Write what the timer waits for, in words; "" where it waits for nothing. */
void gr_timing_explain(const struct gr_op_queue *queue, char *text, size_t size);

/* Add the timer's numbers to the report, and free it. */
void gr_timing_free(struct gr_op_queue *queue);

#endif
