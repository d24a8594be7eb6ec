/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the driver and of streams (a device's is struct gr_gpu, types.h); entering and
 * leaving the contexts of devices. Internal to cuda/.
 *
 * Each call of the driver that may wait inside it runs with the thread's stream capture mode
 * RELAXED. Otherwise such a call would fail, and invalidate the application's graph captures: of
 * this thread, or of any thread in mode GLOBAL. gpuring's own work is never part of a capture.
 */
#ifndef GR_CUDA_CONTEXT_H
#define GR_CUDA_CONTEXT_H

#include "cuda/driver.h"
#include "cuda/types.h"

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

/* A stream. */
struct gr_gpu_stream {
    struct gr_gpu *gpu;
    CUstream stream;
    CUevent event;               /* the point of the default stream that was last waited for */
    CUevent marks[GR_GPU_MARKS]; /* created when first used; NULL: not yet */
};

static inline CUdeviceptr gr_cuda_ptr(const void *at)
{
    return (CUdeviceptr) (uintptr_t) at;
}

/* ---- contexts ---- */

/* Set this thread's capture mode to RELAXED, as it is in a bracket. Returns the mode before. */
CUstreamCaptureMode gr_cuda_relax(const struct gr_cuda *cuda);
void gr_cuda_restore(const struct gr_cuda *cuda, CUstreamCaptureMode mode);

/* The state of a thread before gr_cuda_enter(). */
struct gr_cuda_saved {
    CUcontext within;         /* of the bracket around this one; NULL: there is none */
    int pushed;               /* gr_cuda_enter() has pushed a context */
    CUstreamCaptureMode mode; /* the thread's capture mode */
};

/*
 * Make a context current for this thread and set its capture mode to RELAXED. gr_cuda_leave()
 * undoes both: a bracket. A context that is already current is not pushed, and a bracket within one
 * of the same context makes no driver call. Returns 0, or an error without any change.
 */
int gr_cuda_enter(const struct gr_cuda *cuda, CUcontext context, struct gr_cuda_saved *saved);
void gr_cuda_leave(const struct gr_cuda *cuda, const struct gr_cuda_saved *saved);

#define GR_ENTERED(gpu, enter, call)                    \
    ({                                                  \
        struct gr_cuda_saved saved_;                    \
        int rc_ = (enter);                              \
                                                        \
        if (0 == rc_) {                                 \
            rc_ = (int) (call);                         \
            gr_cuda_leave(&(gpu)->gpus->cuda, &saved_); \
        }                                               \
        rc_;                                            \
    })

/* The result of `call` in a device's context, or the error of gr_cuda_enter(). */
#define GR_IN_CONTEXT(gpu, call) \
    GR_ENTERED(gpu, gr_cuda_enter(&(gpu)->gpus->cuda, (gpu)->context, &saved_), call)

/* The same by gr_cuda_enter_alive(), for what begins a collective, or destroys an object. */
#define GR_IN_LIVE_CONTEXT(gpu, call) \
    GR_ENTERED(gpu, gr_cuda_enter_alive((gpu)->gpus, (gpu)->ordinal, &saved_), call)

/*
 * GR_IN_CONTEXT() for a call that may be repeated without harm: a query, a wait, or a copy. One that
 * fails is made again, twice, since other ranks may have completed the collective whose end it finds
 * or whose result it copies. The driver repeats an error that is not transient.
 */
#define GR_TRIES 3
#define GR_TRY_IN_CONTEXT(gpu, call)                \
    ({                                              \
        int try_ = 0, result_;                      \
                                                    \
        do {                                        \
            result_ = GR_IN_CONTEXT(gpu, call);     \
        } while (result_ < 0 && ++try_ < GR_TRIES); \
        result_;                                    \
    })

/*
 * gr_cuda_enter() with a device's primary context, to use or destroy objects in it. Returns an error
 * if the application has reset the context, which destroyed them, or the driver has shut down. Their
 * handles may be those of new objects since.
 */
int gr_cuda_enter_alive(struct gr_gpus *gpus, int ordinal, struct gr_cuda_saved *saved);

/*
 * The primary context of a device, retained until gr_gpus_close(). The lock of gpus is held.
 * Returns 0 or an error.
 */
int gr_cuda_primary(struct gr_gpus *gpus, int ordinal, CUcontext *context);

/* ---- the compiled kernels (image.c) ---- */

/* The version of the toolkit that compiled the kernels, as CUDA_VERSION: 13000 is CUDA 13.0. */
extern const int gr_cuda_image_toolkit;

/*
 * A kernel of the device, loaded when it is first asked for: that takes some milliseconds, and the
 * driver may wait for kernels that run, which of gpuring's leave in bounded time. The library must be
 * loaded and the context current. Returns 0 or an error, after which the next call tries again.
 */
int gr_cuda_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel which,
                   CUfunction *function);

#endif
