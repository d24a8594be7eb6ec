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
DEVICE_FUNCTION(cudaMallocPitch, (void **at, size_t *pitch, size_t width, size_t height),
                return CU(cuMemAllocPitch, (CUdeviceptr *) at, pitch, width, height, 4);)
DEVICE_FUNCTION(cudaMallocManaged, (void **at, size_t bytes, unsigned flags),
                return CU(cuMemAllocManaged, (CUdeviceptr *) at, bytes, flags);)
DEVICE_FUNCTION(cudaFree, (void *at), return CU(cuMemFree, address(at));)
DEVICE_FUNCTION(cudaHostAlloc, (void **at, size_t bytes, unsigned flags),
                return CU(cuMemHostAlloc, at, bytes, flags);)
DEVICE_FUNCTION(cudaMallocHost, (void **at, size_t bytes), return CU(cuMemHostAlloc, at, bytes, 0);)
DEVICE_FUNCTION(cudaFreeHost, (void *at),
                return nullptr == at ? CUDA_SUCCESS : CU(cuMemFreeHost, at);)
DEVICE_FUNCTION(cudaHostRegister, (void *at, size_t bytes, unsigned flags),
                return CU(cuMemHostRegister, at, bytes, flags);)
DEVICE_FUNCTION(cudaHostUnregister, (void *at), return CU(cuMemHostUnregister, at);)
DEVICE_FUNCTION(cudaHostGetDevicePointer, (void **device, void *at, unsigned flags),
                return CU(cuMemHostGetDevicePointer, (CUdeviceptr *) device, at, flags);)
DEVICE_FUNCTION(cudaHostGetFlags, (unsigned *flags, void *at),
                return CU(cuMemHostGetFlags, flags, at);)

static CUresult attributes(cudaPointerAttributes *out, const void *at)
{
    CUmemorytype type = (CUmemorytype) 0;
    unsigned managed = 0;
    int device = cudaInvalidDeviceId;
    CUdeviceptr on_device = 0;
    void *on_host = nullptr, *values[] = {&type, &managed, &device, &on_device, &on_host};
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER};

    NEED(nullptr != out, cudaErrorInvalidValue);
    TRY(CU(cuPointerGetAttributes, 5, names, values, address(at)));
    memset(out, 0, sizeof(*out));
    out->type = managed                        ? cudaMemoryTypeManaged
                : CU_MEMORYTYPE_HOST == type   ? cudaMemoryTypeHost
                : CU_MEMORYTYPE_DEVICE == type ? cudaMemoryTypeDevice
                                               : cudaMemoryTypeUnregistered;
    out->device = device;
    out->devicePointer = (void *) (uintptr_t) on_device;
    out->hostPointer = cudaMemoryTypeUnregistered == out->type ? (void *) at : on_host;
    return CUDA_SUCCESS;
}
DEVICE_FUNCTION(cudaPointerGetAttributes, (cudaPointerAttributes * out, const void *at),
                return attributes(out, at);)

/* ---- stream-ordered allocation ---- */

STREAM_FUNCTION(cudaMallocAsync, _ptsz, (void **at, size_t bytes, cudaStream_t s),
                return CU(cuMemAllocAsync, (CUdeviceptr *) at, bytes, STREAM(s));)
STREAM_FUNCTION(cudaMallocFromPoolAsync, _ptsz,
                (void **at, size_t bytes, cudaMemPool_t pool, cudaStream_t s),
                return CU(cuMemAllocFromPoolAsync, (CUdeviceptr *) at, bytes, pool, STREAM(s));)
STREAM_FUNCTION(cudaFreeAsync, _ptsz, (void *at, cudaStream_t s),
                return CU(cuMemFreeAsync, address(at), STREAM(s));)
DEVICE_FUNCTION(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps *props),
                static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps), "the same");
                return CU(cuMemPoolCreate, pool, (const CUmemPoolProps *) props);)
DEVICE_FUNCTION(cudaMemPoolDestroy, (cudaMemPool_t pool), return CU(cuMemPoolDestroy, pool);)
DEVICE_FUNCTION(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device),
                return CU(cuDeviceGetDefaultMemPool, pool, device);)
DEVICE_FUNCTION(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device),
                return CU(cuDeviceGetMemPool, pool, device);)
DEVICE_FUNCTION(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool),
                return CU(cuDeviceSetMemPool, device, pool);)
DEVICE_FUNCTION(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr name, void *value),
                return CU(cuMemPoolSetAttribute, pool, (CUmemPool_attribute) name, value);)
DEVICE_FUNCTION(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr name, void *value),
                return CU(cuMemPoolGetAttribute, pool, (CUmemPool_attribute) name, value);)
DEVICE_FUNCTION(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep),
                return CU(cuMemPoolTrimTo, pool, keep);)
DEVICE_FUNCTION(cudaMemPoolSetAccess,
                (cudaMemPool_t pool, const cudaMemAccessDesc *access, size_t n),
                return CU(cuMemPoolSetAccess, pool, (const CUmemAccessDesc *) access, n);)

/* ---- other processes ---- */

DEVICE_FUNCTION(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *at),
                return CU(cuIpcGetMemHandle, (CUipcMemHandle *) handle, address(at));)
DEVICE_FUNCTION(cudaIpcOpenMemHandle, (void **at, cudaIpcMemHandle_t handle, unsigned flags),
                CUipcMemHandle h;
                memcpy(&h, &handle, sizeof(h));
                return CU(cuIpcOpenMemHandle, (CUdeviceptr *) at, h, flags);)
DEVICE_FUNCTION(cudaIpcCloseMemHandle, (void *at), return CU(cuIpcCloseMemHandle, address(at));)
DEVICE_FUNCTION(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
                return CU(cuIpcGetEventHandle, (CUipcEventHandle *) handle, event);)
DEVICE_FUNCTION(cudaIpcOpenEventHandle, (cudaEvent_t * event, cudaIpcEventHandle_t handle),
                CUipcEventHandle h;
                memcpy(&h, &handle, sizeof(h)); return CU(cuIpcOpenEventHandle, event, h);)

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

static CUmemorytype side(bool host, cudaMemcpyKind kind)
{
    return cudaMemcpyDefault == kind ? CU_MEMORYTYPE_UNIFIED
           : host                    ? CU_MEMORYTYPE_HOST
                                     : CU_MEMORYTYPE_DEVICE;
}

static CUDA_MEMCPY2D rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                          size_t width, size_t height, cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;

    memset(&c, 0, sizeof(c));
    c.dstMemoryType = side(cudaMemcpyDeviceToHost == kind || cudaMemcpyHostToHost == kind, kind);
    c.srcMemoryType = side(cudaMemcpyHostToDevice == kind || cudaMemcpyHostToHost == kind, kind);
    c.dstHost = to;
    c.dstDevice = address(to);
    c.dstPitch = to_pitch;
    c.srcHost = from;
    c.srcDevice = address(from);
    c.srcPitch = from_pitch;
    c.WidthInBytes = width;
    c.Height = height;
    return c;
}

STREAM_FUNCTION(cudaMemcpy2D, _ptds,
                (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, cudaMemcpyKind kind),
                NEED(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
                const CUDA_MEMCPY2D c = rows(to, to_pitch, from, from_pitch, width, height, kind);
                return CU_DS(own, cuMemcpy2D, &c);)
STREAM_FUNCTION(cudaMemcpy2DAsync, _ptsz,
                (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, cudaMemcpyKind kind, cudaStream_t s),
                NEED(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
                const CUDA_MEMCPY2D c = rows(to, to_pitch, from, from_pitch, width, height, kind);
                return CU(cuMemcpy2DAsync, &c, STREAM(s));)
DEVICE_FUNCTION(cudaMemcpyPeer, (void *to, int, const void *from, int, size_t bytes),
                return CU(cuMemcpyDtoD, address(to), address(from), bytes);)
DEVICE_FUNCTION(cudaMemcpyPeerAsync,
                (void *to, int, const void *from, int, size_t bytes, cudaStream_t s),
                return CU(cuMemcpyDtoDAsync, address(to), address(from), bytes, s);)

/* ---- memsets ---- */

STREAM_FUNCTION(cudaMemset, _ptds, (void *to, int value, size_t bytes),
                return CU_DS(own, cuMemsetD8, address(to), (unsigned char) value, bytes);)
STREAM_FUNCTION(cudaMemsetAsync, _ptsz, (void *to, int value, size_t bytes, cudaStream_t s),
                return CU(cuMemsetD8Async, address(to), (unsigned char) value, bytes, STREAM(s));)
STREAM_FUNCTION(cudaMemset2D, _ptds,
                (void *to, size_t pitch, int value, size_t width, size_t height),
                return CU_DS(own, cuMemsetD2D8, address(to), pitch, (unsigned char) value, width,
                             height);)
STREAM_FUNCTION(cudaMemset2DAsync, _ptsz,
                (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t s),
                return CU(cuMemsetD2D8Async, address(to), pitch, (unsigned char) value, width,
                          height, STREAM(s));)

/* ---- managed memory ---- */

STREAM_FUNCTION(cudaMemPrefetchAsync, _ptsz,
                (const void *at, size_t bytes, cudaMemLocation where, unsigned flags,
                 cudaStream_t s),
                CUmemLocation place;
                static_assert(sizeof(place) == sizeof(where), "the same");
                memcpy(&place, &where, sizeof(place));
                return CU(cuMemPrefetchAsync, address(at), bytes, place, flags, STREAM(s));)
DEVICE_FUNCTION(cudaMemAdvise,
                (const void *at, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation where),
                CUmemLocation place;
                memcpy(&place, &where, sizeof(place));
                return CU(cuMemAdvise, address(at), bytes, (CUmem_advise) advice, place);)
DEVICE_FUNCTION(cudaMemRangeGetAttribute,
                (void *out, size_t size, cudaMemRangeAttribute name, const void *at, size_t bytes),
                return CU(cuMemRangeGetAttribute, out, size, (CUmem_range_attribute) name,
                          address(at), bytes);)
