/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: kernels on a device. */
#ifndef GR_ENGINE_RUN_DEVICE_H
#define GR_ENGINE_RUN_DEVICE_H

#include "engine/executor.h"

#include "exec/gpu/op.h"

#include <stdbool.h>

/* Executor state of one op. */
struct gr_device_run {
    struct gr_gpu_op op;
    bool writing; /* counted in comm->writing: its kernel may write to other ranks' buffers */
    double
        leave_by; /* s; after an error, when it no longer waits for other ranks' kernels; 0: none */
};

extern const struct gr_executor mca_coll_gpuring_run_device;

#endif
