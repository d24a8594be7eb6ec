/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver says of a device, for reports of machines that are not at hand any more. */
#ifndef BENCH_GPU_ATTRIBUTES_H
#define BENCH_GPU_ATTRIBUTES_H

#include "cuda/device.h"

/*
 * Print a line for the driver's version, the device's model, numbers and attributes. An attribute
 * that the driver does not know is "-". The driver must be loaded. 0, or -1: no library of CUDA.
 */
int attributes_print(const struct gr_gpus *gpus, const struct gr_gpu *gpu);

#endif
