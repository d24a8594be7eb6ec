/* SPDX-License-Identifier: BSD-3-Clause */
/* What is behind the names of device.h. For the executor's own cuda files. */
#ifndef GR_CUDA_STATE_H
#define GR_CUDA_STATE_H

#include "cuda/device.h"
#include "cuda/driver.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is known of a device that may not be in use yet. */
struct gr_gpu_slot {
    CUdevice device;
    _Atomic(CUcontext) primary; /* retained, or NULL; written under the lock */
    /* the number of primary, another one after a reset; 0: the driver cannot say */
    unsigned long long id;
    struct gr_gpu *_Atomic gpu; /* made ready, or NULL */
};

struct gr_gpus {
    struct gr_cuda cuda;
    uint64_t serial;      /* tells it apart from one that was closed before */
    pthread_mutex_t lock; /* held while something is retained or made ready */
    int count;
    struct gr_gpu_slot slots[];
};

/* Whether a device's memory can be used; found out at the first question. */
enum gr_reach { GR_REACH_UNKNOWN, GR_REACH_NO, GR_REACH_YES };

struct gr_gpu {
    struct gr_gpus *gpus;
    int ordinal;
    CUcontext context; /* the device's primary one */
    CUlibrary library;
    CUfunction kernels[GR_NKERNELS];
    struct gr_gpu_id known;
    int numa;
    int resident;
    unsigned char *reach; /* enum gr_reach [count], under the lock */
};

struct gr_gpu_stream {
    struct gr_gpu *gpu;
    CUstream stream;
    CUevent event;               /* where the default stream was last followed to */
    CUevent marks[GR_GPU_MARKS]; /* made when they are first put; NULL: not yet */
};

static inline CUdeviceptr gr_cuda_ptr(const void *at)
{
    return (CUdeviceptr) (uintptr_t) at;
}

/*
 * Put this thread's stream capture mode to RELAXED, and back: calls that may wait inside the driver
 * would invalidate the application's captures (of this thread, or of others in mode GLOBAL)
 * otherwise, and fail. Ours are no part of any.
 */
CUstreamCaptureMode gr_cuda_relax(const struct gr_cuda *cuda);
void gr_cuda_restore(const struct gr_cuda *cuda, CUstreamCaptureMode mode);

/* What gr_cuda_enter() has changed for the thread. */
struct gr_cuda_saved {
    int pushed;               /* a context was pushed over the current one */
    CUstreamCaptureMode mode; /* the thread's capture mode before */
};

/*
 * Make a context current for this thread and its capture mode RELAXED, and undo both. Nothing is
 * pushed over a context that is current anyway. 0, or an error, and then nothing has changed.
 */
int gr_cuda_enter(const struct gr_cuda *cuda, CUcontext context, struct gr_cuda_saved *saved);
void gr_cuda_leave(const struct gr_cuda *cuda, const struct gr_cuda_saved *saved);

/*
 * gr_cuda_enter() with a device's primary context, to destroy something in it: an error where the
 * application has reset that context, and all that was in it, or the driver has shut down.
 */
int gr_cuda_enter_alive(struct gr_gpus *gpus, int ordinal, struct gr_cuda_saved *saved);

/*
 * The primary context of a device, retained until gr_gpus_close(). The lock must be held. 0, or an
 * error.
 */
int gr_cuda_primary(struct gr_gpus *gpus, int ordinal, CUcontext *context);

/*
 * A stream that comes after what the application has put on the legacy default stream of the
 * current context so far, and the end of its use. That is the legacy stream itself; while a
 * blocking stream is captured, when the legacy one must not be touched, a blocking stream of ours.
 * The capture mode is RELAXED. The driver's result.
 */
CUresult gr_cuda_default_open(const struct gr_cuda *cuda, CUstream *stream);
void gr_cuda_default_close(const struct gr_cuda *cuda, CUstream stream);

/* Put one run's copy on a stream. The context is current. */
int gr_cuda_copy_run(const struct gr_cuda *cuda, const struct gr_gpu_run *run, CUstream stream);

/* Ordinal of a device, or -1. */
int gr_cuda_ordinal(const struct gr_gpus *gpus, CUdevice device);

#endif
