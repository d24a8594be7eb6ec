/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver and the devices of this process.
 *
 * gr_gpus_open() loads libcuda. gr_gpu_get() retains a device's primary context, which the runtime
 * API shares, when it is first called for that device. gr_gpu_load_kernels() loads the library of
 * the kernels, and one of them; the others are loaded at their first launches, since loading all 74
 * takes 0.1 to 0.8 s.
 */
#ifndef GR_CUDA_DEVICE_H
#define GR_CUDA_DEVICE_H

#include "cuda/types.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The message for this thread's last error, as "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY". Never NULL.
 */
const char *gr_gpu_error(void);

/*
 * Load the driver and count its devices. library: file name; NULL: libcuda.so.1. Creates no
 * context. Returns NULL on error, with *error set to GR_ERR_NODRIVER, GR_ERR_NODEVICE, GR_ERR_CUDA
 * or GR_ERR_NOMEM.
 */
struct gr_gpus *gr_gpus_open(const char *library, int *error);

/*
 * Release devices and contexts. All streams must be closed. The driver may be shutting down (at
 * exit), and the application may have reset contexts. gpus may be NULL.
 */
void gr_gpus_close(struct gr_gpus *gpus);

/* Number of devices. */
int gr_gpus_count(const struct gr_gpus *gpus);

/* The device of the calling thread's current context; -1: no context is current. */
int gr_gpus_current(const struct gr_gpus *gpus);

/*
 * The device with this ordinal, initialised at the first call. Returns NULL on error, sets *error.
 */
struct gr_gpu *gr_gpu_get(struct gr_gpus *gpus, int ordinal, int *error);

/*
 * Load the kernels to the device, at the first call. A device without kernels can copy, but not
 * launch. Returns 0; GR_ERR_NODRIVER: the driver is older than the toolkit that compiled the
 * kernels; or another error, after which the next call tries again.
 */
int gr_gpu_load_kernels(struct gr_gpu *gpu);

/*
 * Load one kernel of the library, for its first launch; costs nothing if it is loaded. 0, or an
 * error, which its launch would return, too.
 */
int gr_gpu_load_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel kernel);

/*
 * Between the two, the context of the device is current for this thread, so that its calls for the
 * device need not make it so one by one. Not to be nested; the application's code must not run in
 * between. 0, or an error: the application has reset the device, where all that gpuring had is gone.
 */
int gr_gpu_bracket_open(struct gr_gpu *gpu);
void gr_gpu_bracket_close(struct gr_gpu *gpu);

/*
 * Whether this process sees the device: batch systems show a process its own devices only
 * (CUDA_VISIBLE_DEVICES, cgroups, MIG). Compares UUIDs, since ordinals differ between processes.
 */
bool gr_gpus_see(const struct gr_gpus *gpus, const struct gr_gpu_id *id);

/*
 * Whether processes that use the device do so together, through MPS; else their kernels run in
 * turns. 0 where the driver is too old to tell.
 */
int gr_gpu_has_mps(const struct gr_gpu *gpu);

/*
 * Blocks of GR_GPU_THREADS threads that can be resident on the device at once, of any kernel: one on
 * each multiprocessor. 0: the kernels are not loaded.
 */
int gr_gpu_resident_blocks(const struct gr_gpu *gpu);

#endif
