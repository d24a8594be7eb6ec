/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory of other processes, through IPC handles. */
#ifndef GR_CUDA_IPC_H
#define GR_CUDA_IPC_H

#include "cuda/device.h"
#include "exec/gpu/args.h"

#include <stddef.h>

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

#endif
