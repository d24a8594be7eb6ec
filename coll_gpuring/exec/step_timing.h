/* SPDX-License-Identifier: BSD-3-Clause */
/* Step timing of a queue: when the steps of its calls begin. */
#ifndef GR_EXEC_STEP_TIMING_H
#define GR_EXEC_STEP_TIMING_H

#include <stdbool.h>
#include <stddef.h>

struct gr_gate;
struct gr_op;
struct gr_op_queue;
struct gr_rings;
struct gr_timer;
struct gr_timer_links;
struct gr_timing_job;

/*
 * Whether the queue times steps and has not asked for the links of notes yet. Equal on all ranks.
 */
bool gr_timing_asks(const struct gr_op_queue *queue);

/* Says when timed steps begin; ctx is a struct gr_timer. */
extern const struct gr_gate gr_timing_gate;

/*
 * An executor has been started for the op: begin to time its steps, where its queue times steps.
 * rings: those that the op's schedules follow, others for each executor. job: its steps, but for
 * what the op says: p, sched and ctx. links: those of its messages. 1, and the queue's timer; 0:
 * steps are not timed; or GR_ERR_...
 */
int gr_timing_begin(const struct gr_op *op, const struct gr_rings *rings, struct gr_timing_job job,
                    const struct gr_timer_links *links, struct gr_timer **timer);

/* Write what the timer waits for, in words; "" where it waits for nothing. */
void gr_timing_explain(const struct gr_op_queue *queue, char *text, size_t size);

/* Add the timer's numbers to the report, and free it. */
void gr_timing_free(struct gr_op_queue *queue);

#endif
