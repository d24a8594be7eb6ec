/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device executor: runs one rank's part of a collective as a kernel on the team's stream.
 *
 *      begin --> launch --> all channels have reported --> all DONE: finished
 *                  ^                   |
 *                  '-- some are not ---'
 *
 * A kernel that makes no progress exits and is launched again, so a waiting rank never occupies the
 * device. While the kernel makes progress, no polls are needed. With links to other nodes, an op
 * has finished when the network has taken all messages that the kernel has pushed. The caller
 * progresses the network.
 */
#ifndef GR_EXEC_GPU_OP_H
#define GR_EXEC_GPU_OP_H

#include "exec/gpu/team.h"
#include "exec/reduce.h"

/* The kernel (enum gr_kernel) for a type and operation; -1: there is none. */
int gr_gpu_kernel(enum gr_type type, enum gr_redop redop);

/*
 * Polls of a counter after which a block exits, some 0.2 ms: a launch takes a few microseconds, and
 * meanwhile other kernels have the device, perhaps the one that is waited for.
 */
#define GR_GPU_PATIENCE 500

/*
 * The gate of a device op: when its kernel is launched, and when its messages to other nodes leave.
 * Steps inside the node run freely.
 */
struct gr_gpu_gate {
    const struct gr_gate *gate;           /* NULL: no gate, all steps may begin at once */
    void *ctx;                            /* of the gate */
    int started;                          /* the kernel may be launched */
    int over;                             /* no other rank waits for this rank */
    uint32_t running;                     /* channels that have messages for other nodes */
    struct gr_cursor at[GR_GPU_CHANNELS]; /* the next step of each that sends one */
};

struct gr_gpu_op {
    struct gr_gpu_team *team;
    struct gr_gpu_args args;  /* the argument of launches */
    struct gr_sched sched[2]; /* the schedules of channels 0 and 1 */
    struct gr_split split;    /* the whole of args.split */
    size_t elem_bytes;        /* bytes of the kernel's elements */
    struct gr_gpu_gate gate;
    enum gr_kernel kernel;
    uint32_t nchannels;
    int holds;              /* the doorbells of the team's connections are held */
    int mapped;             /* zero copy: outputs of other ranks that the kernel can access */
    int launched;           /* a launch is on the stream */
    int kernel_done;        /* all channels have finished; messages may remain to be sent */
    uint32_t idle_launches; /* launches in a row without progress */
    uint32_t pause;         /* polls until the next launch */
    uint32_t polls;         /* polls that found the kernel running */
    uint32_t errors;        /* launches that failed */
};

/* Initialise, so that abort and end can be called even if gr_gpu_op_begin() never is. */
static inline void gr_gpu_op_init(struct gr_gpu_op *op, struct gr_gpu_team *team)
{
    op->team = team;
    op->launched = 0;
    op->holds = 0;
    op->args.zero = 0;
}

/*
 * Begin an op. The last op's work on the team's stream must be done, and the stream must already
 * wait for the application's work. spec: in elements, also for kernels that count bytes; its
 * nchannels is at most team->usable. space: device addresses of element 0, by enum gr_space.
 * handles: [rank] of all outputs, for zero copy (op.c); NULL on all ranks: no zero copy.
 * counts, displs and handles are read here only. Returns 0 or GR_ERR_CUDA.
 */
int gr_gpu_op_begin(struct gr_gpu_op *op, struct gr_gpu_team *team, const struct gr_plan_spec *spec,
                    enum gr_kernel kernel, const gr_gpu_ptr space[3],
                    const struct gr_ipc_handle *const *handles);

/*
 * The first launch, which the first poll makes otherwise: in the context bracket of the begin. A
 * gate is asked first, in polls.
 */
void gr_gpu_op_launch(struct gr_gpu_op *op);

static inline struct gr_sched gr_gpu_op_sched(const struct gr_gpu_op *op, uint32_t channel)
{
    struct gr_sched sched = op->sched[channel % 2];

    sched.channel = gr_rings_lane(&op->team->rings.torus, channel);
    return sched;
}

/*
 * Advance. Returns GR_DONE, GR_AGAIN, the gate's error or the driver's (device.h). Adds the number
 * of handled slots to *moved. Two launches of an op may fail: they are made again.
 */
int gr_gpu_op_poll(struct gr_gpu_op *op, uint64_t *moved);

/*
 * Abort: set the abort word and wait for the kernel to exit, so that it no longer accesses the
 * buffers. Nothing to do where none is launched. The team cannot be used again.
 */
void gr_gpu_op_abort(struct gr_gpu_op *op);

/* Whether other ranks' kernels may write to the output: this rank's kernel may have allowed it. */
static inline int gr_gpu_op_exposed(const struct gr_gpu_op *op)
{
    return 0 != op->args.zero && op->args.allows && !op->args.fresh;
}

/*
 * After the op has finished or was aborted: unmap other ranks' outputs, and let the network look at
 * the team's links no longer. May be called again.
 */
void gr_gpu_op_end(struct gr_gpu_op *op);

/*
 * The step at which a channel waited when its block last exited, and the n ranks that it waited
 * for. ranks has 2 * GR_FAN entries. Returns 1, or 0: the channel has finished or is running.
 */
int gr_gpu_op_waits(const struct gr_gpu_op *op, uint32_t channel, struct gr_step *step,
                    struct gr_gpu_report *report, int *ranks, int *n);

/*
 * When all steps are done: ranks on other nodes to which messages remain to be sent, at most
 * `most`. Returns their number.
 */
int gr_gpu_op_unsent(const struct gr_gpu_op *op, int *ranks, int most);

/* ---- send_gate.c ---- */

/*
 * Set a gate, before the first poll. It is asked (stepper.h) before the first launch, and for each
 * step that sends to other nodes. gate and ctx must outlive the op.
 */
void gr_gpu_op_gate(struct gr_gpu_op *op, const struct gr_gate *gate, void *ctx);

/* Poll the gate. Returns 0, or the gate's negative error. */
int gr_gpu_gate_poll(struct gr_gpu_op *op);

#endif
