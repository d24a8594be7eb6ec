/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of allocations of this process.
 *
 *      device addresses    [guard page][ slack | allocation ][guard page]     fault for the host
 *      device_off further  [guard page][ slack | contents   ][guard page]     where kernels and copies really go
 *
 * Device memory ends within 255 bytes of its second guard. Contents are files in memory, so that
 * other processes can map them.
 */
#ifndef FAKECUDA_MEMORY_H
#define FAKECUDA_MEMORY_H

#include "context.h"

#include <memory>
#include <vector>

namespace fake
{

enum memory_kind {
    KIND_DEVICE,
    KIND_IPC,
    KIND_POOL,
    KIND_VMM,
    KIND_MANAGED,
    KIND_PINNED,
    KIND_REGISTERED
};

/* At the end of the file of an allocation that was exported. */
struct control {
    std::atomic<int> freed;
};

struct region {
    memory_kind kind;
    uintptr_t base;
    size_t bytes;
    size_t map; /* bytes of the mapping; 0: not ours to unmap */
    int fd;
    int machine;       /* the device where it is, by its number on the machine */
    int ordinal;       /* the device that pointer queries name */
    CUcontext context; /* of the allocation, or of the opening; NULL for VMM and pools */
    CUmemoryPool pool; /* KIND_POOL; NULL until memory_set_pool(), when no kernel knows it yet */
    uint64_t id;       /* the driver's buffer id */
    bool sync_memops;
    std::atomic<uint64_t> access;    /* VMM: a bit for each device that cuMemSetAccess named */
    unsigned long long handle_types; /* VMM: what was asked for */
    unsigned flags;
    control *shared;               /* NULL: never exported */
    int opened;                    /* IPC: times, */
    std::atomic<uint64_t> openers; /* and by which devices: a bit each */
    int exporter;                  /* of another process: that, and its id there; 0: ours */
    uint64_t exporter_id;
    /* managed: device numbers, or CU_DEVICE_CPU or CU_DEVICE_INVALID (nobody said so) */
    int prefetched;
    std::atomic<int> busy; /* copies that are under way */
};
using region_ref = std::shared_ptr<region>;

constexpr size_t PAGE = 4096;

static inline bool lives_on_device(memory_kind kind)
{
    return KIND_DEVICE == kind || KIND_IPC == kind || KIND_POOL == kind || KIND_VMM == kind;
}

/* Whether a pool's memory may be used by a device other than the pool's. */
bool pool_gives(CUmemoryPool pool, int ordinal);
/* The allocation that holds the address; NULL. */
region_ref memory_find(uintptr_t at);
/*
 * The same for bytes bytes; *bad is set when they run over its end, or are device addresses of no
 * allocation.
 */
region_ref memory_range(uintptr_t at, size_t bytes, bool *bad);

/* Make one of this kind in the current context's name; out: where. */
CUresult memory_alloc(CUcontext context, memory_kind kind, size_t bytes, region_ref *out);
/* Say what pool it is from. Kernels that run look at the table meanwhile. */
void memory_set_pool(const region_ref &r, CUmemoryPool pool);
/* Map a file (fd: becomes the region's) as device memory, and add it to the table. */
CUresult memory_map(const region_ref &r, bool fresh);
/* Take it out of the table; the addresses fault from now on. Waits for copies. */
void memory_free(const region_ref &r);
/* Without a mapping of its own: host memory that is registered. false: overlaps another. */
bool memory_adopt(const region_ref &r);
/* All of a context that goes. */
void memory_drop(CUcontext context);
/* Kernels look at the table anew. */
void memory_changed();
/*
 * Take the addresses of device memory; at cuInit, before there are threads that ask where they are.
 */
void memory_open();
uint64_t memory_generation();
/* A file of map bytes and a control page; -1. */
int memory_file(size_t map);
control *memory_control(int fd, size_t map);
uint64_t memory_next_id();
size_t memory_used(int ordinal);
/* FAKECUDA_SYNC_ALLOC: as if all work of the context had to be done first. */
void memory_wait(CUcontext context);
/* Device addresses, for cuMemAddressReserve. 0: none left. */
uintptr_t memory_reserve(size_t bytes, size_t align);
/* What kernels of this context may touch: for each, from, to and the control page. */
struct window {
    uintptr_t from, to;
    const control *shared;
};
std::vector<window> memory_windows(int ordinal, CUcontext context);

} /* namespace fake */

#endif
