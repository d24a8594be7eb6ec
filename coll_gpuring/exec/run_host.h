/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: steps over links in host memory, with the stepper. run_staged.c, which copies buffers on
 * a device before and after them, and agreements between nodes (engine/call_agreement.c) use the
 * same functions, all of them on op->kept.plan and op->run.host.
 */
#ifndef GR_EXEC_RUN_HOST_H
#define GR_EXEC_RUN_HOST_H

#include "exec/executor.h"
#include "exec/plan.h"
#include "exec/reduce.h"

/* The links of the op's choice in host memory, boards included; see executor.h. */
enum gr_links gr_op_host_links(const struct gr_op *op);
struct gr_setup *gr_host_connect(struct gr_op *op, uint32_t number);

/*
 * Start the stepper on the plan of the op's choice, which is made when there is none yet. backend,
 * ctx: what moves the data, over op->run.host.op. 0, or GR_ERR_...
 */
int gr_host_start(struct gr_op *op, const struct gr_backend *backend, void *ctx);

/* The stepper has been started: let its steps be timed, where steps are. 0, or GR_ERR_... */
int gr_host_time(struct gr_op *op);

/*
 * Start the stepper on a plan for another spec; its messages are copied into slots. space: the
 * buffers, by enum gr_space.
 */
void gr_host_start_plan(struct gr_op *op, const struct gr_plan_spec *r,
                        unsigned char *const space[3], struct gr_reducer reducer);

/* The functions of struct gr_executor. */
int gr_host_poll(struct gr_op *op, uint64_t *moved);
bool gr_host_waits_near(struct gr_op *op);
bool gr_host_abort(struct gr_op *op, bool here);
int gr_host_finish(struct gr_op *op, int rc);

/*
 * Describe what each channel waits for. what: name of the steps in the text. other: NULL, or tells
 * for a channel what else than a rank it waits for, in words; NULL: nothing.
 */
void gr_host_explain(struct gr_op *op, const char *what,
                     const char *(*other)(const struct gr_op *op, uint32_t channel), char *text,
                     size_t size);

#endif
