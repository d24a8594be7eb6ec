/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: kernels on a device. */
#ifndef GR_ENGINE_RUN_DEVICE_H
#define GR_ENGINE_RUN_DEVICE_H

#include "engine/executor.h"

#include "exec/gpu/op.h"

#include <stdbool.h>

/* Executor state of one op. */
struct gr_device_run {
    struct gr_gpu_op op; /* its kernel, links and buffers */
    bool writing; /* counted in comm->writing: its kernel may write to other ranks' buffers */
    /* after an error: time in seconds when it stops waiting for other ranks' kernels; 0: none */
    double leave_by;
};

extern const struct gr_executor mca_coll_gpuring_run_device;

#endif
