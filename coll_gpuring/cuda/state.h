/* SPDX-License-Identifier: BSD-3-Clause */
/* The types that device.h and stream.h declare. Internal to cuda/. */
#ifndef GR_CUDA_STATE_H
#define GR_CUDA_STATE_H

#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/stream.h"
#include "exec/gpu/kernels.h"

#include <pthread.h>
#include <stdatomic.h>

/* A device, used or not. */
struct gr_gpu_slot {
    CUdevice device;
    _Atomic(CUcontext) primary; /* the retained primary context, or NULL; written under the lock */
    unsigned long long id;      /* unique id of `primary`, new after a reset; 0: unknown */
    struct gr_gpu *_Atomic gpu; /* set by gr_gpu_get(), else NULL */
};

/* An allocation of the application of which gpuring has set SYNC_MEMOPS. */
struct gr_gpu_marked {
    CUdeviceptr start;
    unsigned long long id; /* buffer id */
};

/* The driver. */
struct gr_gpus {
    struct gr_cuda cuda;
    uint64_t serial;            /* number of this gr_gpus_open() call in the process */
    pthread_mutex_t lock;       /* held while contexts are retained or devices initialised */
    pthread_mutex_t marks_lock; /* guards the next three */
    struct gr_gpu_marked *marked;
    size_t nmarked;
    size_t marked_room;         /* entries that `marked` has room for */
    int count;                  /* number of devices */
    struct gr_gpu_slot slots[]; /* by ordinal */
};

/* Whether a device can access another one's memory. */
enum gr_peer_access { GR_PEER_UNKNOWN, GR_PEER_NO, GR_PEER_YES };

/* An initialised device. */
struct gr_gpu {
    struct gr_gpus *gpus;
    int ordinal;
    CUcontext context; /* the device's primary context */
    CUlibrary library; /* the kernels; NULL: not loaded; under the lock of gpus */
    /* NULL: not loaded yet; gr_cuda_kernel() */
    _Atomic(CUfunction) kernels[GR_NENTRIES][GR_NKERNELS];
    atomic_int has_kernels; /* `library` is loaded */
    struct gr_gpu_id id;
    char model[64];       /* the name of its model */
    int numa;             /* NUMA node; -1: unknown */
    int sms;              /* number of multiprocessors */
    unsigned char *peers; /* enum gr_peer_access by ordinal; under the lock of gpus */
};

/* A stream. */
struct gr_gpu_stream {
    struct gr_gpu *gpu;
    CUstream stream;
    CUevent event;               /* the point of the default stream that was last waited for */
    CUevent marks[GR_GPU_MARKS]; /* created when first used; NULL: not yet */
};

/*
 * A kernel of the device, loaded when it is first asked for: that takes some milliseconds, and the
 * driver may wait for kernels that run, which of gpuring's leave in bounded time. The library must be
 * loaded and the context current. Returns 0 or an error, after which the next call tries again.
 */
int gr_cuda_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel which,
                   CUfunction *function);

static inline CUdeviceptr gr_cuda_ptr(const void *at)
{
    return (CUdeviceptr) (uintptr_t) at;
}

#endif
