/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the owner of an op does for it: mpi/op.c for MPI calls. The engine knows an op's buffers
 * only as bytes; its owner finds them, packs and unpacks data, and stages device buffers.
 */
#ifndef GR_ENGINE_OP_HOOKS_H
#define GR_ENGINE_OP_HOOKS_H

#include <stdbool.h>

struct gr_executor;
struct gr_gpu;
struct gr_gpu_team;
struct gr_op;

struct gr_op_hooks {
    /*
     * The executor is known: put the op's buffers where it can use them, on the host (gpu NULL) or
     * by kernels on gpu, and set op->data. 0, or GR_ERR_...
     */
    int (*prepare)(struct gr_op *op, struct gr_gpu *gpu);

    /*
     * An executor of the owner for an op that would run as host steps; NULL: none. A matter of this
     * rank alone: messages are the same.
     */
    const struct gr_executor *(*replace_host)(const struct gr_op *op);

    /*
     * Let the team's stream come after what the application has put on default streams. 0, or
     * GR_ERR_...
     */
    int (*follow)(const struct gr_op *op, struct gr_gpu_team *team);

    /*
     * The same, for the host: whether the work that the application has put on default streams is
     * done: 1 yes, 0 no, or GR_ERR_... note: the first time, at which an event may be recorded.
     */
    int (*reached)(const struct gr_op *op, struct gr_gpu_team *team, bool note);

    /* The last step is done: unpack the output. 0, or GR_ERR_... */
    int (*unpack)(struct gr_op *op);

    /*
     * The op is over with rc: copy staged results back if it succeeded, and release what prepare
     * took. Returns rc, or the error of a copy.
     */
    int (*release)(struct gr_op *op, int rc);

    /*
     * A nonblocking op is done and out of its queue: complete its request. The op may be gone when
     * this returns. NULL: nobody waits for a request.
     */
    void (*complete)(struct gr_op *op);
};

#endif
