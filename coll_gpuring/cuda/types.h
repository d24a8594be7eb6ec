/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types of cuda/.
 *
 * Rules for all functions of cuda/:
 * - They need no CUDA header, and are thread-safe.
 * - They leave the calling thread's current context as it was.
 * - Errors are enum gr_error. Unless stated otherwise: GR_ERR_GPU_SPACE if the driver was out of
 *   memory, else GR_ERR_CUDA. gr_gpu_error() has the driver's message.
 */
#ifndef GR_CUDA_TYPES_H
#define GR_CUDA_TYPES_H

#include "base/errors.h"
#include "exec/gpu/kernels.h"

#include <stdint.h>
#include <string.h>

/* The driver of this process. */
struct gr_gpus;

/* One of its devices. */
struct gr_gpu;

/* Identifies a device on a host, whatever ordinal a process gives it. */
struct gr_gpu_id {
    unsigned char uuid[16]; /* from the driver */
    uint32_t domain;        /* PCI address */
    uint32_t bus;           /* PCI address */
    uint32_t device;        /* PCI address */
    uint32_t pad;           /* 0 */
};

/* Whether both are the same device. */
static inline int gr_gpu_id_equal(const struct gr_gpu_id *a, const struct gr_gpu_id *b)
{
    return 0 == memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

/* A stream of a device. */
struct gr_gpu_stream;

/* Number of marks of a stream. */
#define GR_GPU_MARKS 32

#endif
