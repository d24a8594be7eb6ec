/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device executor: one collective of one rank, run by a kernel on the team's stream.
 *
 *      begin --> launch --> reports of all channels --> stream is done --> all DONE: over
 *                  ^                                         |
 *                  '------- some left without progress ------'
 *
 * Where some links lead to other nodes, it is over when their network has taken all that the kernel
 * pushed: nobody need care for it afterwards. Whoever polls moves the network, too.
 *
 * Polled by whoever has time, as a stepper is; nobody needs to poll while the kernel makes
 * progress. A kernel that waits in vain leaves and is launched again, so the device is never held
 * by a rank that waits.
 */
#ifndef GR_EXEC_GPU_OP_H
#define GR_EXEC_GPU_OP_H

#include "exec/gpu/team.h"
#include "exec/reduce.h"
#include "exec/stepper.h"

/* What an op is let do when (send_gate.c). */
struct gr_gpu_gate {
    const struct gr_gate *gate; /* NULL: all, at once */
    void *ctx;
    int started, over; /* the kernel may be launched; the others need this rank no more */
    uint32_t running;  /* channels that have something to send to other nodes */
    struct gr_cursor at[GR_GPU_CHANNELS]; /* the step that is the next to do so */
};

struct gr_gpu_op {
    struct gr_gpu_team *team;
    struct gr_gpu_args args;
    struct gr_sched sched[2]; /* those of args, for the host; */
    struct gr_split split;    /* the same */
    size_t elem_bytes;        /* of the kernel's elements */
    struct gr_gpu_gate gate;
    enum gr_kernel kernel;
    uint32_t nchannels;
    /* zero copy: outputs of others that this rank's kernel can write to */
    int mapped;
    int launched;   /* a launch is on the stream */
    int through;    /* the kernel is: what remains is to be sent to other nodes */
    uint32_t vain;  /* launches without any progress, one after the other */
    uint32_t pause; /* polls until the next launch */
    uint32_t looks;
};

/*
 * Before what may fail ahead of gr_gpu_op_begin(): from here on abort and end can be called.
 * Nothing is under way.
 */
static inline void gr_gpu_op_init(struct gr_gpu_op *op, struct gr_gpu_team *team)
{
    op->team = team;
    op->launched = 0;
    op->args.zero = 0;
}

/*
 * Begin; what the op before put on the team's stream must be done. space: where element 0 lies, by
 * enum gr_space, for the device. The request is in elements, whatever the kernel (those for bits,
 * and the one that copies, count bytes); its nchannels is at most what is usable; its counts and
 * displs are read here. tickets: of all ranks' outputs (ipc_cache.h, zero_copy.c), by rank, read
 * here; NULL on all ranks: no zero copy. The team's stream must follow the application's work
 * already. 0, or GR_ERR_CUDA.
 */
int gr_gpu_op_begin(struct gr_gpu_op *op, struct gr_gpu_team *team,
                    const struct gr_request *request, enum gr_kernel kernel,
                    const gr_gpu_ptr space[3], const struct gr_ipc_handle *const *tickets);

/*
 * Before the first poll: the kernel is launched, and what it sends to other nodes is given to the
 * network, when the gate says so, as stepper.h has it: steps that send there are asked for, the
 * others are as free as kernels are. Gate and ctx must live as long as the op.
 */
void gr_gpu_op_gate(struct gr_gpu_op *op, const struct gr_gate *gate, void *ctx);

/* What a poll does about it. 0, or the gate's negative error. */
int gr_gpu_gate_poll(struct gr_gpu_op *op);

/* The schedule of a channel, for the host. */
static inline struct gr_sched gr_gpu_op_sched(const struct gr_gpu_op *op, uint32_t channel)
{
    struct gr_sched sched = op->sched[channel % 2];

    sched.channel = gr_rings_lane(&op->team->rings.torus, channel);
    return sched;
}

/*
 * Go on. GR_DONE, GR_AGAIN, the gate's error or GR_ERR_CUDA. *moved is increased by the slots that
 * were handled.
 */
int gr_gpu_op_poll(struct gr_gpu_op *op, uint64_t *moved);

/*
 * Give it up: the kernel leaves at its next look at the abort word, or when its patience ends, and
 * is waited for, so that nothing touches the buffers any more. The team cannot be used again.
 */
void gr_gpu_op_abort(struct gr_gpu_op *op);

/*
 * Whether kernels of other ranks may have begun to write to its output: this rank's kernel has said
 * that they may.
 */
static inline int gr_gpu_op_exposed(const struct gr_gpu_op *op)
{
    return 0 != op->args.zero && op->args.allows && !op->args.fresh;
}

/* It is over, or was given up: nothing of others is used any more. Once more is fine. */
void gr_gpu_op_end(struct gr_gpu_op *op);

/*
 * The step at which a channel waited when its block left the last time; 0: it is through, or still
 * at work. *ranks has room for 2 * GR_FAN entries: those that it waited for; returns through n how
 * many.
 */
int gr_gpu_op_waits(const struct gr_gpu_op *op, uint32_t channel, struct gr_step *step,
                    struct gr_gpu_report *report, int *ranks, int *n);

/*
 * When all steps are done: the ranks on other nodes to which something is still to be sent; up to
 * `most`; how many.
 */
int gr_gpu_op_unsent(const struct gr_gpu_op *op, int *ranks, int most);

/* ---- zero copy (zero_copy.c) ---- */

/*
 * Map what the tickets of those that this rank sends results to lead to, and put the copy of the
 * list onto the stream. What cannot be had goes through slots. 0, or GR_ERR_CUDA.
 */
int gr_gpu_zero_begin(struct gr_gpu_op *op, const struct gr_request *request,
                      const struct gr_ipc_handle *const *tickets);
void gr_gpu_zero_end(struct gr_gpu_op *op);

/* The kernel that combines (type, op), an enum gr_kernel; -1: there is none. */
int gr_gpu_kernel(enum gr_type type, enum gr_redop op);

#endif
