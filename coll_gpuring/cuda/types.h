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

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* The driver of this process. */
struct gr_gpus;

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

/* A device. The members from `sms` on are internal to cuda/. */
struct gr_gpu {
    struct gr_gpus *gpus;
    int ordinal;
    int numa; /* NUMA node near the device; -1: unknown */
    struct gr_gpu_id id;
    char model[64];           /* the name of its model, as the driver has it */
    int sms;                  /* number of multiprocessors */
    unsigned char *peers;     /* enum gr_peer_access by ordinal; under the lock of gpus */
    struct CUctx_st *context; /* the device's primary context */
    struct CUlib_st *library; /* the kernels; NULL: not loaded; under the lock of gpus */
    atomic_int has_kernels;   /* `library` is loaded */
    /* NULL: not loaded yet; gr_cuda_kernel() */
    _Atomic(struct CUfunc_st *) kernels[GR_NENTRIES][GR_NKERNELS];
};

/* A stream of a device. */
struct gr_gpu_stream;

/* Number of marks of a stream. */
#define GR_GPU_MARKS 32

#endif
