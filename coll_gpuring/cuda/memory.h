/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory and pinned host memory: of this process, shared with other processes and with
 * network adapters.
 */
#ifndef GR_CUDA_MEMORY_H
#define GR_CUDA_MEMORY_H

#include "cuda/types.h"
#include "exec/gpu/args.h"

#include <stddef.h>

/*
 * Allocate device memory: not initialised, 256-byte aligned. Returns 0, GR_ERR_GPU_SPACE or
 * GR_ERR_CUDA.
 */
int gr_gpu_alloc(struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at);
void gr_gpu_free(struct gr_gpu *gpu, gr_gpu_ptr at);

/*
 * Allocate zeroed pinned host memory near the device. The host and all devices of this process use
 * it at the same address. Returns NULL on error.
 */
void *gr_gpu_host_alloc(struct gr_gpu *gpu, size_t bytes);
void gr_gpu_host_free(struct gr_gpu *gpu, void *at);

/* Pin whole pages of existing host memory. *at: their address for the devices. */
int gr_gpu_host_pin(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at);
void gr_gpu_host_unpin(struct gr_gpu *gpu, void *base);

/* ---- of other processes, through IPC handles ---- */

/* Size of a handle (CUipcMemHandle). */
#define GR_GPU_IPC_BYTES 64

/*
 * Export the allocation at `at`, from gr_gpu_alloc() or the application's cuMemAlloc. Returns 0, or
 * GR_ERR_PEER: it has no handle.
 */
int gr_gpu_ipc_export(struct gr_gpu *gpu, gr_gpu_ptr at, unsigned char handle[GR_GPU_IPC_BYTES]);

/* Map the allocation of another process's handle. Returns 0 or GR_ERR_PEER. */
int gr_gpu_ipc_open(struct gr_gpu *gpu, const unsigned char handle[GR_GPU_IPC_BYTES],
                    gr_gpu_ptr *at);
void gr_gpu_ipc_close(struct gr_gpu *gpu, gr_gpu_ptr at);

/* The exportable allocation that contains an address. Returns 0, or GR_ERR_PEER: there is none. */
int gr_gpu_ipc_range(struct gr_gpu *gpu, gr_gpu_ptr at, gr_gpu_ptr *base, size_t *bytes);

/*
 * The driver's unique id of the allocation, of any kind, that contains an address. The driver never
 * reuses an id in this process. 0: no allocation. Costs one driver call, and needs no context.
 */
uint64_t gr_gpus_buffer_id(const struct gr_gpus *gpus, gr_gpu_ptr at);

/*
 * Whether the allocation with that buffer id still contains the address. Unlike
 * gr_gpus_buffer_id(), it may be asked about memory that was freed: the driver's call does not fail
 * then, so tools that report failed calls (compute-sanitizer) report nothing. Costs one driver
 * call.
 */
int gr_gpus_buffer_exists(const struct gr_gpus *gpus, gr_gpu_ptr at, uint64_t id);

/* ---- that network adapters write to: GPUDirect RDMA ---- */

/*
 * What it takes to make RDMA writes visible to kernels, once the host has seen their completion and
 * before it signals the kernels through memory.
 */
enum gr_gpu_rdma {
    GR_RDMA_NONE,   /* not possible: no GPUDirect RDMA, or no flush */
    GR_RDMA_FLUSH,  /* a call of gr_gpu_flush() */
    GR_RDMA_ORDERED /* nothing */
};
enum gr_gpu_rdma gr_gpu_rdma(const struct gr_gpu *gpu);

/*
 * Wait until completed RDMA writes to the device's memory are visible to its kernels. Returns 0 or
 * GR_ERR_CUDA.
 */
int gr_gpu_flush(struct gr_gpu *gpu);

/* ---- allocations of the application whose synchronous operations are to be synchronous ---- */

/*
 * Set CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that begins at `start` and has that
 * buffer id, if the driver permits it. is_set: the application has set it, so nothing is done.
 * Without memory for an entry the attribute is set, and stays.
 */
void gr_marks_set(struct gr_gpus *gpus, gr_gpu_ptr start, uint64_t id, int is_set);

/*
 * Clear SYNC_MEMOPS of all allocations for which gr_marks_set() has set it, and which still exist.
 * Those of which it was set before are left alone.
 */
void gr_marks_clear(struct gr_gpus *gpus);

#endif
