/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network's card that reads and writes device memory (GPUDirect RDMA): two functions for tests,
 * which no driver has. What it writes under FAKECUDA_NIC=late is set aside, and lands, in order, at
 * the flush of its device; or some of it, by chance, when more comes.
 */
#include "cuda_emu.h"
#include "memory.h"

#include <cstring>
#include <deque>

namespace fake
{

struct late_write {
    uintptr_t to;
    region_ref r;
    std::vector<char> data;
};

static std::mutex mutex;
static std::deque<late_write> aside[MAX_DEVICES]; /* by ordinal */

int nic_attribute(CUdevice_attribute name)
{
    switch (name) {
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
        return NIC_NONE != opt().nic;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
        return NIC_LATE == opt().nic ? CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST : 0;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
        return NIC_ORDERED == opt().nic || NIC_NONE == opt().nic
                   ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
                   : 0;
    default:
        return 0;
    }
}

/* The allocation on a device that holds the bytes; there must be one, which the card can reach. */
static region_ref find(uintptr_t at, size_t bytes)
{
    bool bad = false;
    region_ref r = memory_range(at, bytes, &bad);

    if (bad || nullptr == r || !lives_on_device(r->kind) || NIC_NONE == opt().nic) {
        die("a network reads or writes %zu bytes at %p, which is no device memory that it reaches",
            bytes, (void *) at);
    }
    return r;
}

static void land(int ordinal, size_t n)
{
    for (; n > 0; n--) {
        const late_write &w = aside[ordinal].front();

        if (memory_find(w.to) != w.r) {
            die("what a network has written to %p lands after the memory was freed", (void *) w.to);
        }
        memcpy(emu::host((char *) w.to), w.data.data(), w.data.size());
        aside[ordinal].pop_front();
    }
}

} /* namespace fake */

using namespace fake;

extern "C" __attribute__((visibility("default"))) void fakecuda_nic_read(void *to, const void *from,
                                                                         size_t bytes)
{
    if (bytes > 0) {
        (void) find((uintptr_t) from, bytes);
        memcpy(to, emu::host((const char *) from), bytes);
    }
}

extern "C" __attribute__((visibility("default"))) void fakecuda_nic_write(void *to,
                                                                          const void *from,
                                                                          size_t bytes)
{
    static uint64_t state = seed(opt().nic_seed, 0, 0);
    const char *data = (const char *) from;

    if (0 == bytes) {
        return;
    }
    std::lock_guard<std::mutex> guard(mutex);
    region_ref r = find((uintptr_t) to, bytes);
    auto &queue = aside[r->ordinal];
    queue.push_back({(uintptr_t) to, r, std::vector<char>(data, data + bytes)});
    land(r->ordinal, NIC_ORDERED == opt().nic ? queue.size()
                     : 0 == draw(state) % 4   ? draw(state) % queue.size()
                                              : 0);
}

FAKE_API cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope)
{
    NEED_CONTEXT(c);
    NEED(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX == target, CUDA_ERROR_INVALID_VALUE);
    NEED(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER == scope ||
             CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES == scope,
         CUDA_ERROR_INVALID_VALUE);
    NEED(NIC_LATE == opt().nic || NIC_ORDERED == opt().nic, CUDA_ERROR_NOT_SUPPORTED);
    std::lock_guard<std::mutex> guard(mutex);
    land(c->device, aside[c->device].size());
    return CUDA_SUCCESS;
}
