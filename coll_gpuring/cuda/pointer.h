/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What kind of memory a buffer is.
 *
 * Device memory is found by its address alone: the answer is kept by allocation (its range and the
 * driver's buffer id), and asked of the driver again where the range does not hold the address. An
 * allocation that was freed, and whose addresses were given to another, is noticed by its id.
 */
#ifndef GR_CUDA_POINTER_H
#define GR_CUDA_POINTER_H

#include "cuda/device.h"

enum gr_memory {
    GR_MEMORY_HOST,    /* plain host memory, or unknown to the driver */
    GR_MEMORY_PINNED,  /* host memory that devices can use at `at` */
    GR_MEMORY_MANAGED, /* cudaMallocManaged: devices and the host can use it */
    GR_MEMORY_DEVICE   /* a device's: cudaMalloc, pools, VMM */
};

struct gr_pointer {
    enum gr_memory memory;
    int device; /* ordinal; -1 for host memory, and where the driver did not say */
    /* whether it belongs to the device's primary context (or to none, as pools do) */
    int primary;
    gr_gpu_ptr at; /* its address for the devices; 0 for plain host memory */
};

/*
 * Classify. An allocation of device memory that is seen for the first time is marked so that
 * synchronous operations on it are synchronous (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), where the driver
 * lets us. Never fails: what the driver does not know is host memory, and where it fails
 * gr_pointer_guess() decides. NULL is host memory. Costs a look into a table of this thread's when
 * the pointer is in an allocation seen lately.
 */
struct gr_pointer gr_pointer_find(struct gr_gpus *gpus, const void *pointer);

/*
 * Classify without the driver: host memory where the host can read, otherwise memory of a device
 * not known (-1).
 */
struct gr_pointer gr_pointer_guess(const void *pointer);

#endif
