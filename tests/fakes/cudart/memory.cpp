/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, copies and memsets. */
#include "cudart.h"

#include <cstring>

using namespace cudart;

/* ---- allocations ---- */

static CUdeviceptr address(const void *at)
{
    return (CUdeviceptr) (uintptr_t) at;
}

static CUresult allocate(void **at, size_t bytes)
{
    NEED(nullptr != at, cudaErrorInvalidValue);
    *at = nullptr;
    return 0 == bytes ? CUDA_SUCCESS : CU(cuMemAlloc, (CUdeviceptr *) at, bytes);
}
DEVICE_FUNCTION(cudaMalloc, (void **at, size_t bytes), return allocate(at, bytes);)
DEVICE_FUNCTION(cudaMallocManaged, (void **at, size_t bytes, unsigned flags),
                return CU(cuMemAllocManaged, (CUdeviceptr *) at, bytes, flags);)
DEVICE_FUNCTION(cudaFree, (void *at), return CU(cuMemFree, address(at));)
DEVICE_FUNCTION(cudaHostAlloc, (void **at, size_t bytes, unsigned flags),
                return CU(cuMemHostAlloc, at, bytes, flags);)
DEVICE_FUNCTION(cudaMallocHost, (void **at, size_t bytes), return CU(cuMemHostAlloc, at, bytes, 0);)
DEVICE_FUNCTION(cudaFreeHost, (void *at),
                return nullptr == at ? CUDA_SUCCESS : CU(cuMemFreeHost, at);)

/* ---- copies ---- */

static CUresult copy(bool own, void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return CU_DS(own, cuMemcpyHtoD, address(to), from, bytes);
    case cudaMemcpyDeviceToHost:
        return CU_DS(own, cuMemcpyDtoH, to, address(from), bytes);
    case cudaMemcpyDeviceToDevice:
        return CU_DS(own, cuMemcpyDtoD, address(to), address(from), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return CU_DS(own, cuMemcpy, address(to), address(from), bytes);
    }
    return (CUresult) cudaErrorInvalidMemcpyDirection;
}

static CUresult copy_async(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                           CUstream s)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return CU(cuMemcpyHtoDAsync, address(to), from, bytes, s);
    case cudaMemcpyDeviceToHost:
        return CU(cuMemcpyDtoHAsync, to, address(from), bytes, s);
    case cudaMemcpyDeviceToDevice:
        return CU(cuMemcpyDtoDAsync, address(to), address(from), bytes, s);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return CU(cuMemcpyAsync, address(to), address(from), bytes, s);
    }
    return (CUresult) cudaErrorInvalidMemcpyDirection;
}

STREAM_FUNCTION(cudaMemcpy, _ptds, (void *to, const void *from, size_t bytes, cudaMemcpyKind kind),
                return copy(own, to, from, bytes, kind);)
STREAM_FUNCTION(cudaMemcpyAsync, _ptsz,
                (void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s),
                return copy_async(to, from, bytes, kind, STREAM(s));)

/* ---- memsets ---- */

STREAM_FUNCTION(cudaMemset, _ptds, (void *to, int value, size_t bytes),
                return CU_DS(own, cuMemsetD8, address(to), (unsigned char) value, bytes);)
STREAM_FUNCTION(cudaMemsetAsync, _ptsz, (void *to, int value, size_t bytes, cudaStream_t s),
                return CU(cuMemsetD8Async, address(to), (unsigned char) value, bytes, STREAM(s));)

/* ---- managed memory ---- */

STREAM_FUNCTION(cudaMemPrefetchAsync, _ptsz,
                (const void *at, size_t bytes, cudaMemLocation where, unsigned flags,
                 cudaStream_t s),
                CUmemLocation place;
                static_assert(sizeof(place) == sizeof(where), "the same");
                memcpy(&place, &where, sizeof(place));
                return CU(cuMemPrefetchAsync, address(at), bytes, place, flags, STREAM(s));)
