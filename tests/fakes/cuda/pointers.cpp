/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver says of an address. */
#include "capture.h"
#include "memory.h"

#include <cstring>

namespace fake
{

template <class T> static CUresult answer(void *out, T value)
{
    memcpy(out, &value, sizeof(value));
    return CUDA_SUCCESS;
}

static CUresult ask(void *out, CUpointer_attribute name, CUdeviceptr at, const region &r)
{
    const bool device = lives_on_device(r.kind),
               host = KIND_PINNED == r.kind || KIND_REGISTERED == r.kind;

    switch ((int) name) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return answer(out, KIND_POOL == r.kind || KIND_VMM == r.kind ? nullptr : r.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return answer(out, (unsigned) (host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return answer(out, at);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return device ? CUDA_ERROR_INVALID_VALUE : answer(out, (void *) at);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return answer(out, (unsigned) r.sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return answer(out, (unsigned long long) r.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return answer(out, (unsigned) (KIND_MANAGED == r.kind));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return answer(out, r.ordinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return answer(out, (unsigned) (KIND_DEVICE == r.kind && IPC_NONE != opt().ipc));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return answer(out, (CUdeviceptr) r.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return answer(out, r.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return answer(out, (unsigned) 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return answer(out, r.handle_types);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return answer(out, (unsigned) 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return answer(out, (unsigned) CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return answer(out, r.pool);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* What cuPointerGetAttributes writes where there is no answer. */
static void ask_nothing(void *out, CUpointer_attribute name)
{
    switch ((int) name) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        answer(out, (uint64_t) 0);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        answer(out, -2);
        break;
    default:
        answer(out, (unsigned) 0);
    }
}

} /* namespace fake */

using namespace fake;

FAKE_API cuPointerGetAttribute(void *out, CUpointer_attribute name, CUdeviceptr at)
{
    NEED_DRIVER();
    NEED(nullptr != out, CUDA_ERROR_INVALID_VALUE);
    region_ref r = memory_find(at);
    NEED(nullptr != r, CUDA_ERROR_INVALID_VALUE);
    return ask(out, name, at, *r);
}

FAKE_API cuPointerGetAttributes(unsigned n, CUpointer_attribute *names, void **out, CUdeviceptr at)
{
    NEED_DRIVER();
    NEED(nullptr != names && nullptr != out, CUDA_ERROR_INVALID_VALUE);
    region_ref r = memory_find(at);
    for (unsigned i = 0; i < n; i++) {
        if (nullptr == r || CUDA_SUCCESS != ask(out[i], names[i], at, *r)) {
            ask_nothing(out[i], names[i]);
        }
    }
    return CUDA_SUCCESS;
}

FAKE_API cuPointerSetAttribute(const void *value, CUpointer_attribute name, CUdeviceptr at)
{
    unsigned set;

    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    region_ref r = memory_find(at);
    NEED(nullptr != value && nullptr != r && CU_POINTER_ATTRIBUTE_SYNC_MEMOPS == name,
         CUDA_ERROR_INVALID_VALUE);
    NEED(KIND_DEVICE == r->kind || KIND_IPC == r->kind, CUDA_ERROR_INVALID_VALUE);
    memcpy(&set, value, sizeof(set));
    r->sync_memops = 0 != set;
    return CUDA_SUCCESS;
}
