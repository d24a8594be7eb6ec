/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate of a device op: when its kernel is launched, and when its messages to other nodes leave.
 * Steps inside the node run freely.
 */
#ifndef GR_EXEC_GPU_SEND_GATE_H
#define GR_EXEC_GPU_SEND_GATE_H

#include "exec/gpu/args.h"
#include "exec/stepper.h"

struct gr_gpu_op;

struct gr_gpu_gate {
    const struct gr_gate *gate;           /* NULL: no gate, all steps may begin at once */
    void *ctx;                            /* of the gate */
    int started;                          /* the kernel may be launched */
    int over;                             /* no other rank waits for this rank */
    uint32_t running;                     /* channels that have messages for other nodes */
    struct gr_cursor at[GR_GPU_CHANNELS]; /* the next step of each that sends one */
};

/*
 * Set a gate, before the first poll. It is asked (stepper.h) before the first launch, and for each
 * step that sends to other nodes. gate and ctx must outlive the op.
 */
void gr_gpu_op_gate(struct gr_gpu_op *op, const struct gr_gate *gate, void *ctx);

/* Poll the gate. Returns 0, or the gate's negative error. */
int gr_gpu_gate_poll(struct gr_gpu_op *op);

#endif
