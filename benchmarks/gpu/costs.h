/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns what things cost besides moving data: finding out what a pointer is, a launch, leaving and
 * coming again; and the rate at which the device copies.
 */
#ifndef BENCH_GPU_COSTS_H
#define BENCH_GPU_COSTS_H

#include "cuda/pointer.h"
#include "world.h"

struct costs {
    double hit_ns;    /* gr_pointer_find: the allocation of the last time, */
    double other_ns;  /* another one each time, of more than any table holds, */
    double host_ns;   /* plain host memory */
    double put_us;    /* putting a launch on a stream: until the function returns, */
    double launch_us; /* until the kernel's end is seen; it has nothing to do */
    /* a kernel that waits for a rank that does not come: until it left and was launched again */
    double again_us;
};

/*
 * 0, or -1 with a line in error[OPTIONS_ERROR_CHARS]. One process, two ranks: the crew has no more.
 */
int costs_measure(struct costs *costs, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error);

/*
 * Bytes per second that a device-to-device copy reads and writes, both counted, when it reads half
 * of `footprint` bytes and writes the other half; the best of several. 0 where there is no room, or
 * an error.
 */
double costs_copy_rate(struct gr_gpu *gpu, size_t footprint);

#endif
