/* SPDX-License-Identifier: BSD-3-Clause */
/* This process's devices: buffers on them, their pools. */
#ifndef GR_COMM_DEVICES_H
#define GR_COMM_DEVICES_H

#include "cuda/pointer.h"
#include "link/ipc_cache.h"

#include <stdbool.h>
#include <stddef.h>

struct gr_gpu;
struct gr_gpu_pool;
struct gr_ipc_cache;
struct gr_process;

/*
 * Whether this process may have buffers on a device: by parameter, driver and device file. The
 * answer is published at MPI_Init and never changes. Loads nothing.
 */
bool gr_gpu_possible(void);

/*
 * Whether a process without GPUs at MPI_Init may load a driver later: one is installed where the
 * dynamic linker finds it. Never changes. Loads nothing.
 */
bool gr_gpu_may_come(void);

/*
 * Whether the CUDA driver is loaded in this process. 15 ns, unless shared objects were loaded since
 * the last call.
 */
bool gr_gpu_loaded(void);

/* What kind of memory a buffer is; host memory where no driver is loaded in this process. */
struct gr_pointer gr_pointer_of(const void *buffer);

/*
 * Whether kernels on gpu can use the memory of a buffer, at the same addresses. pointer: what
 * gr_pointer_of() says of it; bytes: of the buffer, gaps included. Sets *elsewhere if it is memory
 * of another device.
 */
bool gr_reaches(struct gr_gpu *gpu, const struct gr_pointer *pointer, const void *buffer,
                size_t bytes, bool *elsewhere);

/*
 * The device for a call: that of its buffers (NULL: there is none), else the current one, else one
 * by local rank; and its pool. Loads the driver, and the device's kernels. NULL on error, with *error
 * an enum gr_error.
 */
struct gr_gpu *gr_gpu_pick(const void *const buffers[2], int *error);
struct gr_gpu_pool *gr_process_gpu_pool(struct gr_process *process, struct gr_gpu *gpu, int *error);

/*
 * Order the use of a buffer after what the application has put on default streams.
 * gr_wait_default_stream(): in the thread of the MPI call, which alone knows the current context (the
 * application's own, or another device's). gr_follow(): before a kernel on gpu uses a buffer of another
 * device. 0, or GR_ERR_...; errors are reported.
 */
int gr_wait_default_stream(struct gr_pointer pointer);
int gr_follow(struct gr_gpu *gpu, const void *buffer);

/* The device that owns the memory of a buffer; NULL: host memory. */
struct gr_gpu *gr_gpu_of(const void *buffer);

/* Any device that this process uses; NULL: none so far. */
struct gr_gpu *gr_gpu_any(void);

/* The cache of IPC handles and mappings of a device. NULL: no memory. */
struct gr_ipc_cache *gr_process_ipc_cache(struct gr_gpu *gpu);

/* The IPC handle of a buffer; all zero where it cannot be shared. */
struct gr_ipc_handle gr_ipc_handle_of(const void *buffer, size_t bytes);

/*
 * Freed allocations, in each call with call records. record: the names (link/ipc_cache.h) of this
 * process's exported allocations of all devices that were freed since the last call of the same
 * queue. *told, the queue's, is 0 at first. agreed: the names that other ranks have said are closed
 * here, and mappings that were not used for a while.
 */
uint64_t gr_ipc_record(uint64_t *told);
void gr_ipc_agreed(uint64_t names);

/* A communicator was freed: unmap what its ranks have freed. */
void gr_gpus_trim(void);

/* At the end of the component: close the pools, the IPC caches and the devices. */
void gr_process_gpus_close(void);

#endif
