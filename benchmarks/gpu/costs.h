/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs besides moving data: classifying a pointer, launching a kernel, leaving and being launched
 * again; and the rate at which the device copies.
 */
#ifndef BENCH_GPU_COSTS_H
#define BENCH_GPU_COSTS_H

#include "cuda/pointer.h"
#include "world.h"

struct costs {
    double hit_ns;    /* gr_pointer_find(), in the allocation of the call before */
    double other_ns;  /* gr_pointer_find(), in another one each time, of more than a table holds */
    double host_ns;   /* gr_pointer_find(), in plain host memory */
    double put_us;    /* a launch, until the function returns */
    double launch_us; /* a launch with nothing to do, until the kernel's end is seen */
    double again_us;  /* a launch without progress, until it left and can be launched again */
};

/* In one process, with two ranks. 0, or -1 with a line in error[CLI_ERROR_CHARS]. */
int costs_measure(struct costs *costs, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error);

/*
 * Bytes per second that a device-to-device copy reads and writes, both counted, when it reads half
 * of `footprint` bytes and writes the other half; the best of several. 0: no memory, or an error.
 */
double costs_copy_rate(struct gr_gpu *gpu, size_t footprint);

#endif
