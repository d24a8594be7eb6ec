/* SPDX-License-Identifier: BSD-3-Clause */
/* cuMemAlloc and cuMemHostAlloc, managed memory, and host memory that is registered. */
#include "capture.h"
#include "memory.h"

namespace fake
{

static CUresult give(CUcontext c, memory_kind kind, size_t bytes, unsigned flags, uintptr_t *out)
{
    region_ref r;
    CUresult status;

    NEED_CAPTURE(unsafe());
    NEED(nullptr != out, CUDA_ERROR_INVALID_VALUE);
    status = memory_alloc(c, kind, bytes, &r);
    if (CUDA_SUCCESS == status) {
        r->flags = flags;
        *out = r->base;
    }
    return status;
}

static CUresult take_back(uintptr_t at, std::initializer_list<memory_kind> kinds, CUresult error)
{
    region_ref r = memory_find(at);

    NEED_CAPTURE(unsafe());
    NEED(nullptr != r && at == r->base, error);
    for (memory_kind kind : kinds) {
        if (kind == r->kind) {
            if (nullptr != r->context) {
                memory_wait(r->context);
            }
            memory_free(r);
            return CUDA_SUCCESS;
        }
    }
    return error;
}

} /* namespace fake */

using namespace fake;

FAKE_API cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
    NEED_CONTEXT(c);
    return give(c, KIND_DEVICE, bytes, 0, (uintptr_t *) at);
}

FAKE_API cuMemAllocManaged(CUdeviceptr *at, size_t bytes, unsigned flags)
{
    NEED_CONTEXT(c);
    NEED(CU_MEM_ATTACH_GLOBAL == flags || CU_MEM_ATTACH_HOST == flags, CUDA_ERROR_INVALID_VALUE);
    return give(c, KIND_MANAGED, bytes, flags, (uintptr_t *) at);
}

FAKE_API cuMemFree_v2(CUdeviceptr at)
{
    NEED_CONTEXT(c);
    (void) c;
    return 0 == at
               ? CUDA_SUCCESS
               : take_back(at, {KIND_DEVICE, KIND_MANAGED, KIND_POOL}, CUDA_ERROR_INVALID_VALUE);
}

FAKE_API cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    NEED_CONTEXT(c);
    NEED(flags < 8, CUDA_ERROR_INVALID_VALUE);
    return give(c, KIND_PINNED, bytes, flags, (uintptr_t *) at);
}

FAKE_API cuMemFreeHost(void *at)
{
    NEED_CONTEXT(c);
    (void) c;
    return take_back((uintptr_t) at, {KIND_PINNED}, CUDA_ERROR_INVALID_VALUE);
}

FAKE_API cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    NEED(nullptr != at && 0 != bytes && flags < 16, CUDA_ERROR_INVALID_VALUE);
    region_ref r = std::make_shared<region>();
    r->kind = KIND_REGISTERED;
    r->base = (uintptr_t) at;
    r->bytes = bytes;
    r->fd = -1;
    r->flags = flags;
    r->ordinal = c->device;
    r->machine = device_machine(c->device);
    r->context = c;
    memory_wait(c);
    return memory_adopt(r) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

FAKE_API cuMemHostUnregister(void *at)
{
    NEED_CONTEXT(c);
    (void) c;
    return take_back((uintptr_t) at, {KIND_REGISTERED}, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

FAKE_API cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *at, unsigned flags)
{
    NEED_CONTEXT(c);
    (void) c;
    region_ref r = memory_find((uintptr_t) at);
    NEED(nullptr != device && 0 == flags, CUDA_ERROR_INVALID_VALUE);
    NEED(nullptr != r && (KIND_PINNED == r->kind || KIND_REGISTERED == r->kind),
         CUDA_ERROR_INVALID_VALUE);
    *device = (CUdeviceptr) at;
    return CUDA_SUCCESS;
}

FAKE_API cuMemGetInfo_v2(size_t *idle, size_t *total)
{
    NEED_CONTEXT(c);
    *total = opt().memory;
    *idle = opt().memory - memory_used(c->device);
    return CUDA_SUCCESS;
}

FAKE_API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    NEED_CONTEXT(c);
    (void) c;
    region_ref r = memory_find(at);
    NEED(nullptr != r && (lives_on_device(r->kind) || KIND_MANAGED == r->kind),
         CUDA_ERROR_NOT_FOUND);
    if (nullptr != base) {
        *base = r->base;
    }
    if (nullptr != bytes) {
        *bytes = r->bytes;
    }
    return CUDA_SUCCESS;
}
