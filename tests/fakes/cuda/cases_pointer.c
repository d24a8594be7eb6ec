/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: pointer attributes of every kind of memory. */
#include "cases.h"

/* What must come out, for the address in the middle of an allocation of 6000 bytes or more. */
struct expected {
    CUmemorytype type;
    int managed, has_context, legacy_ipc, has_pool, host_pointer;
};

static void look_at(CUdeviceptr base, const struct expected *e)
{
    CUdeviceptr at = base + 1000, device, start;
    unsigned type, managed, ipc;
    unsigned long long id;
    CUcontext context;
    CUmemoryPool pool;
    size_t size;
    void *host;
    int ordinal;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *out[] = {&type, &managed, &context, &id};

    OK(cuPointerGetAttributes(4, names, out, at));
    CHECK(e->type == type && e->managed == (int) managed && e->has_context == (NULL != context) &&
          0 != id);
    OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
    CHECK(at == device);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    CHECK(0 == ordinal);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at));
    CHECK(base == start && size >= 6000);
    OK(cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
    CHECK(e->legacy_ipc == (int) ipc);
    OK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    CHECK(e->has_pool == (NULL != pool));
    CHECK(e->host_pointer ==
          (CUDA_SUCCESS == cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at)));
}

static CUdeviceptr vmm_memory(size_t *bytes)
{
    CUmemAllocationProp prop = {0};
    CUmemAccessDesc access = {0};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemGetAllocationGranularity(bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    IS(ERROR_INVALID_VALUE, cuMemCreate(&handle, *bytes - 1, &prop, 0));
    OK(cuMemCreate(&handle, *bytes, &prop, 0));
    OK(cuMemAddressReserve(&at, *bytes, 0, 0, 0));
    IS(ERROR_INVALID_VALUE, cuMemSetAccess(at, *bytes, &access, 1));
    OK(cuMemMap(at, *bytes, 0, handle, 0));
    OK(cuMemRelease(handle));
    IS(ERROR_INVALID_VALUE, cuMemsetD8(at, 1, 8)); /* no access yet */
    OK(cuMemSetAccess(at, *bytes, &access, 1));
    OK(cuMemsetD8(at, 1, 8));
    return at;
}

static void pointers(void)
{
    static const struct expected device = {CU_MEMORYTYPE_DEVICE, 0, 1, 1, 0, 0};
    static const struct expected pool = {CU_MEMORYTYPE_DEVICE, 0, 0, 0, 1, 0};
    static const struct expected vmm = {CU_MEMORYTYPE_DEVICE, 0, 0, 0, 0, 0};
    static const struct expected managed = {CU_MEMORYTYPE_DEVICE, 1, 1, 0, 0, 1};
    static const struct expected pinned = {CU_MEMORYTYPE_HOST, 0, 1, 0, 0, 1};
    CUmemGenericAllocationHandle handle;
    CUipcMemHandle ipc;
    CUdeviceptr at;
    unsigned type = 7, sync = 1;
    void *p, *out[] = {&type};
    size_t bytes;
    CUpointer_attribute name = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;

    begin(0);
    OK(cuMemAlloc(&at, 6000));
    look_at(at, &device);
    OK(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    OK(cuIpcGetMemHandle(&ipc, at + 8));
    OK(cuMemAllocAsync(&at, 6000, NULL));
    look_at(at, &pool);
    IS(ERROR_INVALID_VALUE, cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    IS(ERROR_INVALID_VALUE, cuIpcGetMemHandle(&ipc, at));
    OK(cuMemFreeAsync(at, NULL));
    OK(cuStreamSynchronize(NULL));
    IS(ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, name, at));
    at = vmm_memory(&bytes);
    look_at(at, &vmm);
    IS(ERROR_INVALID_VALUE, cuIpcGetMemHandle(&ipc, at));
    OK(cuMemRetainAllocationHandle(&handle, (void *) at));
    OK(cuMemRelease(handle));
    IS(ERROR_INVALID_VALUE, cuMemFree(at));
    OK(cuMemUnmap(at, bytes));
    OK(cuMemAddressFree(at, bytes));
    IS(ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, name, at));
    OK(cuMemAllocManaged(&at, 6000, CU_MEM_ATTACH_GLOBAL));
    look_at(at, &managed);
    OK(cuMemHostAlloc(&p, 6000, CU_MEMHOSTALLOC_PORTABLE));
    look_at((CUdeviceptr) p, &pinned);
    IS(ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, name, (CUdeviceptr) &type));
    OK(cuPointerGetAttributes(1, &name, out, (CUdeviceptr) &type));
    CHECK(0 == type);
}

const struct test_case pointer_cases[] = {
    {"pointers", pointers},
    {NULL, NULL},
};
