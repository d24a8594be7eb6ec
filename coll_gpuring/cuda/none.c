/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of cuda/ in a build without the CUDA toolkit, which behaves as on a machine without
 * a driver. Callers reach only gr_gpus_open(), gr_gpu_error() and gr_pointer_*(): all other
 * functions need a result of gr_gpus_open(). They exist for the linker.
 */
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"
#include "cuda/stream.h"

static const struct gr_pointer host = {.memory = GR_MEMORY_HOST, .device = -1};

/* A function that is never called. The parameters contain commas, so they are the last argument. */
#define NEVER(type, name, value, ...) \
    type name(__VA_ARGS__)            \
    {                                 \
        return value;                 \
    }
#define NOTHING

#pragma GCC diagnostic ignored "-Wunused-parameter"

struct gr_gpus *gr_gpus_open(const char *library, int *error)
{
    *error = GR_ERR_NODRIVER;
    return NULL;
}

const char *gr_gpu_error(void)
{
    return "built without CUDA";
}

struct gr_pointer gr_pointer_guess(const void *pointer)
{
    (void) pointer;
    return host;
}

struct gr_pointer gr_pointer_find(struct gr_gpus *gpus, const void *pointer)
{
    return host;
}

NEVER(void, gr_gpus_close, NOTHING, struct gr_gpus *gpus)
NEVER(int, gr_gpus_count, 0, const struct gr_gpus *gpus)
NEVER(int, gr_gpus_current, -1, const struct gr_gpus *gpus)
NEVER(int, gr_gpus_wait_current, GR_ERR_NODRIVER, struct gr_gpus *gpus, int but)
NEVER(int, gr_gpu_wait_default, GR_ERR_NODRIVER, struct gr_gpu *gpu)
NEVER(struct gr_gpu *, gr_gpu_get, NULL, struct gr_gpus *gpus, int ordinal, int *error)
NEVER(int, gr_gpu_load_kernels, GR_ERR_NODRIVER, struct gr_gpu *gpu)
NEVER(int, gr_gpu_load_kernel, GR_ERR_NODRIVER, struct gr_gpu *gpu, enum gr_kernel_entry entry,
      enum gr_kernel kernel)
NEVER(int, gr_gpu_bracket_open, GR_ERR_NODRIVER, struct gr_gpu *gpu)
NEVER(void, gr_gpu_bracket_close, NOTHING, struct gr_gpu *gpu)
NEVER(int, gr_gpu_has_mps, 0, const struct gr_gpu *gpu)
NEVER(bool, gr_gpus_see, false, const struct gr_gpus *gpus, const struct gr_gpu_id *id)
NEVER(int, gr_gpu_resident_blocks, 0, const struct gr_gpu *gpu)
NEVER(int, gr_gpu_can_access, 0, struct gr_gpu *gpu, int other)
NEVER(int, gr_gpu_can_use, 0, struct gr_gpu *gpu, const struct gr_pointer *p, size_t bytes)
NEVER(int, gr_gpu_alloc, GR_ERR_NODRIVER, struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at)
NEVER(void, gr_gpu_free, NOTHING, struct gr_gpu *gpu, gr_gpu_ptr at)
NEVER(void *, gr_gpu_host_alloc, NULL, struct gr_gpu *gpu, size_t bytes)
NEVER(void, gr_gpu_host_free, NOTHING, struct gr_gpu *gpu, void *at)
NEVER(int, gr_gpu_host_pin, GR_ERR_NODRIVER, struct gr_gpu *gpu, void *base, size_t bytes,
      gr_gpu_ptr *at)
NEVER(void, gr_gpu_host_unpin, NOTHING, struct gr_gpu *gpu, void *base)
NEVER(int, gr_gpu_run_join, 0, struct gr_gpu_run *run, const struct gr_gpu_run *next)
NEVER(int, gr_gpu_copy_runs, 0, struct gr_gpu *gpu, const struct gr_gpu_run *runs, size_t n)
NEVER(int, gr_gpu_copy, GR_ERR_NODRIVER, struct gr_gpu *gpu, void *dst, const void *src,
      size_t bytes)
NEVER(enum gr_gpu_rdma, gr_gpu_rdma, GR_RDMA_NONE, const struct gr_gpu *gpu)
NEVER(int, gr_gpu_flush, GR_ERR_NODRIVER, struct gr_gpu *gpu)
NEVER(int, gr_gpu_ipc_export, GR_ERR_NODRIVER, struct gr_gpu *gpu, gr_gpu_ptr at,
      unsigned char handle[GR_GPU_IPC_BYTES])
NEVER(int, gr_gpu_ipc_open, GR_ERR_NODRIVER, struct gr_gpu *gpu,
      const unsigned char handle[GR_GPU_IPC_BYTES], gr_gpu_ptr *at)
NEVER(void, gr_gpu_ipc_close, NOTHING, struct gr_gpu *gpu, gr_gpu_ptr at)
NEVER(int, gr_gpu_ipc_range, GR_ERR_NODRIVER, struct gr_gpu *gpu, gr_gpu_ptr at, gr_gpu_ptr *base,
      size_t *bytes)
NEVER(uint64_t, gr_gpus_buffer_id, 0, const struct gr_gpus *gpus, gr_gpu_ptr at)
NEVER(int, gr_gpus_buffer_exists, 0, const struct gr_gpus *gpus, gr_gpu_ptr at, uint64_t id)
NEVER(int, gr_gpu_stream_open, GR_ERR_NODRIVER, struct gr_gpu *gpu, struct gr_gpu_stream **stream)
NEVER(void, gr_gpu_stream_close, NOTHING, struct gr_gpu_stream *stream)
NEVER(int, gr_gpu_stream_follow, GR_ERR_NODRIVER, struct gr_gpu_stream *stream)
NEVER(int, gr_gpu_point_set, GR_ERR_NODRIVER, struct gr_gpu_point *point, struct gr_gpu *gpu)
NEVER(void, gr_gpu_point_free, NOTHING, struct gr_gpu_point *point)
NEVER(int, gr_gpu_stream_follow_point, GR_ERR_NODRIVER, struct gr_gpu_stream *stream,
      const struct gr_gpu_point *point)
NEVER(int, gr_gpu_stream_note, GR_ERR_NODRIVER, struct gr_gpu_stream *stream)
NEVER(int, gr_gpu_stream_noted, GR_ERR_NODRIVER, struct gr_gpu_stream *stream)
NEVER(int, gr_gpu_point_reached, GR_ERR_NODRIVER, const struct gr_gpu_point *point)
NEVER(int, gr_gpu_launch, GR_ERR_NODRIVER, struct gr_gpu_stream *stream, enum gr_kernel kernel,
      uint32_t nblocks, const struct gr_gpu_args *args)
NEVER(int, gr_gpu_launch_leader, GR_ERR_NODRIVER, struct gr_gpu_stream *stream,
      enum gr_kernel kernel, uint32_t nblocks, const struct gr_leader_args *args)
NEVER(int, gr_gpu_stream_copy, GR_ERR_NODRIVER, struct gr_gpu_stream *stream, gr_gpu_ptr dst,
      gr_gpu_ptr src, size_t bytes)
NEVER(int, gr_gpu_stream_copy_runs, GR_ERR_NODRIVER, struct gr_gpu_stream *stream,
      const struct gr_gpu_run *runs, size_t n)
NEVER(int, gr_gpu_stream_mark, GR_ERR_NODRIVER, struct gr_gpu_stream *stream, uint32_t mark)
NEVER(int, gr_gpu_stream_reached, GR_ERR_NODRIVER, struct gr_gpu_stream *stream, uint32_t mark)
NEVER(int, gr_gpu_stream_wait, GR_ERR_NODRIVER, struct gr_gpu_stream *stream)
NEVER(int, gr_gpu_stream_zero, GR_ERR_NODRIVER, struct gr_gpu_stream *stream, gr_gpu_ptr at,
      size_t bytes)
NEVER(int, gr_gpu_stream_done, GR_ERR_NODRIVER, struct gr_gpu_stream *stream)
