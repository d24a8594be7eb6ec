/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual memory management: addresses, physical memory, mappings and access rights apart from each
 * other. Such memory has no context, and no handle for other processes. One mapping is one
 * allocation here; the whole of a handle is mapped at once.
 */
#include "capture.h"
#include "cuda_emu.h"
#include "memory.h"

#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fake
{

constexpr size_t GRANULARITY = 2 << 20;

/* Physical memory; it goes when it is neither held nor mapped. */
struct physical {
    CUmemAllocationProp prop;
    size_t bytes;
    int fd;
    int held;
    bool fresh; /* nobody has written to it */
    ~physical()
    {
        close(fd);
    }
};

static std::mutex vmm_mutex;
static unsigned long long next_handle = 0x100000;
static std::map<unsigned long long, std::shared_ptr<physical>> handles;
static std::map<uintptr_t, size_t> reserved;
static std::map<uintptr_t, unsigned long long> mapped; /* base -> handle */

static std::shared_ptr<physical> physical_of(unsigned long long handle)
{
    auto i = handles.find(handle);
    return handles.end() == i ? nullptr : i->second;
}

static bool inside_reserved(uintptr_t at, size_t bytes)
{
    auto i = reserved.upper_bound(at);

    return reserved.begin() != i && at + bytes <= std::prev(i)->first + std::prev(i)->second;
}

static region_ref vmm_at(uintptr_t at)
{
    region_ref r = memory_find(at);
    return nullptr != r && KIND_VMM == r->kind ? r : nullptr;
}

static bool good_prop(const CUmemAllocationProp *prop)
{
    return nullptr != prop && CU_MEM_ALLOCATION_TYPE_PINNED == prop->type &&
           prop->requestedHandleTypes <= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
           CU_MEM_LOCATION_TYPE_DEVICE == prop->location.type && device_known(prop->location.id);
}

} /* namespace fake */

using namespace fake;

FAKE_API cuMemAddressReserve(CUdeviceptr *at, size_t bytes, size_t align, CUdeviceptr,
                             unsigned long long flags)
{
    NEED_DRIVER();
    NEED(nullptr != at && 0 != bytes && 0 == bytes % GRANULARITY && 0 == flags,
         CUDA_ERROR_INVALID_VALUE);
    *at = memory_reserve(bytes, align > GRANULARITY ? align : GRANULARITY);
    NEED(0 != *at, CUDA_ERROR_OUT_OF_MEMORY);
    std::lock_guard<std::mutex> lock(vmm_mutex);
    reserved[*at] = bytes;
    return CUDA_SUCCESS;
}

FAKE_API cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    NEED(0 != reserved.count(at) && bytes == reserved[at], CUDA_ERROR_INVALID_VALUE);
    auto first = mapped.lower_bound(at);
    NEED(mapped.end() == first || first->first >= at + bytes, CUDA_ERROR_INVALID_VALUE);
    reserved.erase(at);
    return CUDA_SUCCESS;
}

FAKE_API cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    NEED_DRIVER();
    NEED(nullptr != handle && 0 != bytes && 0 == bytes % GRANULARITY && 0 == flags &&
             good_prop(prop),
         CUDA_ERROR_INVALID_VALUE);
    auto p = std::make_shared<physical>();
    p->prop = *prop;
    p->bytes = bytes;
    p->fd = memory_file(bytes);
    p->held = 1;
    p->fresh = true;
    NEED(p->fd >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    std::lock_guard<std::mutex> lock(vmm_mutex);
    *handle = next_handle++;
    handles[*handle] = p;
    note("alloc device %d vmm bytes %zu", device_machine(prop->location.id), bytes);
    return CUDA_SUCCESS;
}

FAKE_API cuMemRelease(CUmemGenericAllocationHandle handle)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    std::shared_ptr<physical> p = physical_of(handle);
    NEED(nullptr != p && p->held > 0, CUDA_ERROR_INVALID_VALUE);
    p->held--;
    for (const auto &m : mapped) {
        if (handle == m.second) {
            return CUDA_SUCCESS;
        }
    }
    if (0 == p->held) {
        handles.erase(handle);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    std::shared_ptr<physical> p = physical_of(handle);
    NEED(nullptr != p && p->held > 0 && bytes == p->bytes && 0 == offset && 0 == flags,
         CUDA_ERROR_INVALID_VALUE);
    NEED(0 == at % GRANULARITY && inside_reserved(at, bytes), CUDA_ERROR_INVALID_VALUE);
    NEED(nullptr == memory_find(at) && nullptr == memory_find(at + bytes - 1),
         CUDA_ERROR_INVALID_VALUE);
    region_ref r = std::make_shared<region>();
    r->kind = KIND_VMM;
    r->base = at;
    r->bytes = bytes;
    r->map = bytes;
    r->fd = dup(p->fd);
    r->ordinal = p->prop.location.id;
    r->machine = device_machine(r->ordinal);
    r->handle_types = p->prop.requestedHandleTypes;
    CUresult status = memory_map(r, p->fresh);
    NEED(CUDA_SUCCESS == status, status);
    p->fresh = false;
    mapped[at] = handle;
    return CUDA_SUCCESS;
}

FAKE_API cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    region_ref r = vmm_at(at);
    NEED(nullptr != r && at == r->base && bytes == r->bytes, CUDA_ERROR_INVALID_VALUE);
    memory_free(r);
    const unsigned long long handle = mapped[at];
    mapped.erase(at);
    std::shared_ptr<physical> p = physical_of(handle);
    if (nullptr != p && 0 == p->held) {
        handles.erase(handle);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *desc, size_t n)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    region_ref r = vmm_at(at);
    NEED(nullptr != r && at == r->base && bytes == r->bytes && nullptr != desc,
         CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < n; i++) {
        NEED(CU_MEM_LOCATION_TYPE_DEVICE == desc[i].location.type &&
                 (CU_MEM_ACCESS_FLAGS_PROT_NONE == desc[i].flags ||
                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE == desc[i].flags),
             CUDA_ERROR_INVALID_VALUE);
        NEED(device_known(desc[i].location.id) &&
                 device_reaches(device_machine(desc[i].location.id), r->machine),
             CUDA_ERROR_INVALID_DEVICE);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t bit = uint64_t(1) << desc[i].location.id;
        if (CU_MEM_ACCESS_FLAGS_PROT_READWRITE == desc[i].flags) {
            r->access |= bit;
        } else {
            r->access &= ~bit;
        }
    }
    memory_changed();
    return CUDA_SUCCESS;
}

FAKE_API cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr at)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    region_ref r = vmm_at(at);
    NEED(nullptr != r && nullptr != flags && nullptr != where &&
             CU_MEM_LOCATION_TYPE_DEVICE == where->type,
         CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(where->id), CUDA_ERROR_INVALID_DEVICE);
    *flags = 0 != (r->access >> where->id & 1) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                               : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

FAKE_API cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *at)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    region_ref r = vmm_at((uintptr_t) at);
    NEED(nullptr != r && nullptr != handle, CUDA_ERROR_INVALID_VALUE);
    *handle = mapped[r->base];
    physical_of(*handle)->held++;
    return CUDA_SUCCESS;
}

FAKE_API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(vmm_mutex);
    std::shared_ptr<physical> p = physical_of(handle);
    NEED(nullptr != p && nullptr != prop, CUDA_ERROR_INVALID_VALUE);
    *prop = p->prop;
    return CUDA_SUCCESS;
}

/* A buffer as a dma-buf: none here. */
FAKE_API cuMemGetHandleForAddressRange(void *, CUdeviceptr, size_t, CUmemRangeHandleType,
                                       unsigned long long)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}
