/* SPDX-License-Identifier: BSD-3-Clause */
/* This process's devices: buffers on them, their pools. */
#ifndef GR_ENGINE_DEVICES_H
#define GR_ENGINE_DEVICES_H

#include "mpi/ompi.h"

#include "mpi/module.h"

#include "cuda/pointer.h"
#include "link/ipc_cache.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_gpu;
struct gr_gpu_pool;
struct gr_ipc_cache;

/*
 * Whether this process may have buffers on a device, as it says to all others at MPI_Init and never
 * again: by parameter, driver and device file; loads nothing.
 */
bool mca_coll_gpuring_gpu_possible(void);

/*
 * Whether it can have some now: the driver is loaded. Cheap (15 ns) while nothing else was loaded
 * since the last time.
 */
bool mca_coll_gpuring_gpu_loaded(void);

/*
 * No rank of the communicator has said that it may have buffers on a device. Whether the call has
 * one all the same, since the driver was loaded later: MPI_ERR_BUFFER, and said once. Buffers of
 * the last call that had none before the driver was loaded need not be looked at:
 * gr_is_known_host().
 */
int mca_coll_gpuring_gpu_late(mca_coll_gpuring_module_t *module, const struct gr_call *call);

static inline bool gr_is_known_host(const mca_coll_gpuring_module_t *module,
                                    const struct gr_call *call)
{
    return module->hosts[0] == call->sbuf && module->hosts[1] == call->rbuf;
}

/* What kind of memory a buffer is; host memory where no driver is loaded in this process. */
struct gr_pointer mca_coll_gpuring_pointer(const void *buffer);

/* Whether kernels on gpu can use the memory of a buffer, at the same address. */
bool mca_coll_gpuring_reaches(struct gr_gpu *gpu, const void *buffer);

/*
 * The device for a call: that of its buffers, else the current one, else one by local rank; and its
 * pool. Loads the driver. NULL on error, with *error an enum gr_error.
 */
struct gr_gpu *mca_coll_gpuring_gpu_pick(const struct gr_call *call, int *error);
struct gr_gpu_pool *mca_coll_gpuring_gpu_pool(struct gr_gpu *gpu, int *error);

/*
 * Order a buffer's use behind what the application has put on default streams. settle: in the
 * calling thread of an MPI call, which alone knows what context is current (the application's own,
 * or another device's). follow: before a kernel on gpu uses the buffer, where that is another
 * device's. OMPI error codes, and said when it failed.
 */
int mca_coll_gpuring_wait_default_stream(struct gr_pointer pointer);
int mca_coll_gpuring_follow(struct gr_gpu *gpu, const void *buffer);

/* The device whose memory a buffer is; NULL: none's. */
struct gr_gpu *mca_coll_gpuring_gpu_of(const void *buffer);

/* A device that this process uses, for what any can do; NULL: none so far. */
struct gr_gpu *mca_coll_gpuring_gpu_any(void);

/*
 * The cache of a device's memory that is shared with other processes, or theirs with it. NULL: no
 * memory.
 */
struct gr_ipc_cache *mca_coll_gpuring_ipc_cache(struct gr_gpu *gpu);

/* A ticket of a buffer of that many bytes; of none where it cannot be shared. */
struct gr_ipc_handle mca_coll_gpuring_ipc_handle(const void *buffer, size_t bytes);

/* A communicator is gone: what its ranks have freed need not stay mapped. */
void mca_coll_gpuring_gpus_trim(void);

void mca_coll_gpuring_gpus_close(void);

END_C_DECLS

#endif
