/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches of users' buffers for the tests of link/ipc_cache.h, and the application's memory. */
#ifndef GR_TESTS_GPU_SHARE_FIXTURE_H
#define GR_TESTS_GPU_SHARE_FIXTURE_H

#include "gpu_pool_fixture.h"

#include "link/ipc_cache.h"
#include "cuda/device.h"
#include "usage.h"

enum { BYTES = 8192 }; /* of most buffers */

/*
 * A process's side: a driver, and a cache for one device. The application has that device current.
 */
struct sharer {
    struct gr_gpus *gpus;
    struct gr_gpu *gpu;
    struct gr_ipc_cache *share;
};

static inline struct sharer open_sharer(uint64_t rank, int ordinal, int max_exports, int max_mapped)
{
    struct sharer s;

    s.gpus = open_gpus();
    s.gpu = get_gpu(s.gpus, ordinal);
    s.share = gr_ipc_cache_open(s.gpu, (struct gr_peer_id) {1, rank}, max_exports, max_mapped);
    CHECK(NULL != s.share);
    app_start();
    app_use(ordinal);
    return s;
}

static inline void close_sharer(struct sharer *s)
{
    gr_ipc_cache_close(s->share);
    gr_gpus_close(s->gpus);
}

static inline void *device_memory(size_t bytes)
{
    CUdeviceptr at;

    APP(cuMemAlloc, &at, bytes);
    return (void *) (uintptr_t) at;
}

static inline void free_memory(void *at)
{
    APP(cuMemFree, gr_cuda_ptr(at));
}

/* The handle of a buffer that can be shared. */
static inline struct gr_ipc_handle handle_of(struct gr_ipc_cache *share, const void *buffer,
                                             size_t bytes)
{
    struct gr_ipc_handle t = gr_ipc_cache_export(share, buffer, bytes);

    CHECK(gr_ipc_handle_valid(&t));
    CHECK_INT(t.of.base + t.offset, gr_cuda_ptr(buffer));
    CHECK(t.offset + bytes <= t.of.bytes);
    CHECK_INT(t.of.pid, getpid());
    return t;
}

static inline struct gr_ipc_mapped map_handle(struct gr_ipc_cache *share,
                                              const struct gr_ipc_handle *handle)
{
    struct gr_ipc_mapped shared;

    CHECK_INT(gr_ipc_cache_map(share, handle, &shared), 0);
    CHECK(0 != shared.at);
    return shared;
}

static inline void not_mapped(struct gr_ipc_cache *share, const struct gr_ipc_handle *handle)
{
    struct gr_ipc_mapped shared;

    CHECK_INT(gr_ipc_cache_map(share, handle, &shared), GR_ERR_PEER);
    CHECK(0 == shared.at && NULL == shared.mapping);
}

#define CHECK_USAGE(share, nexports, nmapped, nin_use)      \
    do {                                                    \
        struct ipc_cache_usage u_ = ipc_cache_usage(share); \
                                                            \
        CHECK_INT(u_.exports, nexports);                    \
        CHECK_INT(u_.mapped, nmapped);                      \
        CHECK_INT(u_.in_use, nin_use);                      \
    } while (0)

#endif
