/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of allocations, and the addresses behind it. */
#include "memory.h"

#include "cuda_emu.h"
#include "stream.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace emu
{
uintptr_t device_base, device_span, device_off;
}

namespace fake
{

constexpr size_t SPAN = (size_t) 256 << 30;

struct table {
    std::mutex mutex;
    std::map<uintptr_t, region_ref> all; /* by base */
    /* FAKECUDA_REUSE: addresses that were freed, by bytes */
    std::map<size_t, std::vector<uintptr_t>> idle;
    uintptr_t next; /* device addresses that were never used */
    size_t used[MAX_DEVICES];
};

static table &memory()
{
    static table *t = new table {};
    return *t;
}
static std::atomic<uint64_t> generation {1};
static std::atomic<uint64_t> next_id {1};

void memory_changed()
{
    generation++;
}
void memory_set_pool(const region_ref &r, CUmemoryPool pool)
{
    {
        std::lock_guard<std::mutex> lock(memory().mutex);
        r->pool = pool;
    }
    memory_changed();
}
uint64_t memory_generation()
{
    return generation;
}
uint64_t memory_next_id()
{
    return next_id++;
}

size_t memory_used(int ordinal)
{
    std::lock_guard<std::mutex> lock(memory().mutex);
    return memory().used[ordinal];
}

void memory_wait(CUcontext context)
{
    if (opt().sync_alloc) {
        streams_sync(context);
    }
}

/* ---- look up ---- */

static region_ref find(table &t, uintptr_t at)
{
    auto i = t.all.upper_bound(at);

    if (t.all.begin() == i) {
        return nullptr;
    }
    --i;
    return at < i->second->base + i->second->bytes ? i->second : nullptr;
}

region_ref memory_find(uintptr_t at)
{
    std::lock_guard<std::mutex> lock(memory().mutex);
    return find(memory(), at);
}

region_ref memory_range(uintptr_t at, size_t bytes, bool *bad)
{
    region_ref r = memory_find(at);

    if (nullptr == r) {
        *bad = *bad || at - emu::device_base < emu::device_span;
    } else if (at + bytes > r->base + r->bytes && KIND_REGISTERED != r->kind) {
        *bad = true;
    }
    return r;
}

/*
 * VMM memory is used where access was given, and that of a pool besides where it is; a peer's where
 * it was enabled; the rest where it is, or was opened.
 */
static bool may_touch(const region &r, int ordinal, CUcontext context)
{
    if (!lives_on_device(r.kind)) {
        return true;
    }
    if (KIND_VMM == r.kind) {
        return 0 != (r.access >> ordinal & 1);
    }
    if (ordinal == r.ordinal || device_machine(ordinal) == r.machine) {
        return true;
    }
    if (KIND_IPC == r.kind) {
        return 0 != (r.openers >> ordinal & 1);
    }
    if (KIND_POOL == r.kind) {
        return nullptr != r.pool && pool_gives(r.pool, ordinal);
    }
    std::lock_guard<std::mutex> lock(context->mutex);
    return 0 != context->peers.count(r.ordinal);
}

std::vector<window> memory_windows(int ordinal, CUcontext context)
{
    std::lock_guard<std::mutex> lock(memory().mutex);
    std::vector<window> out;

    for (const auto &i : memory().all) {
        const region &r = *i.second;
        if (may_touch(r, ordinal, context)) {
            out.push_back(window {r.base, r.base + r.bytes, 0 != r.exporter ? r.shared : nullptr});
        }
    }
    return out;
}

/* ---- addresses ---- */

static void make_space(table &t)
{
    void *space;

    if (0 != t.next) {
        return;
    }
    space = mmap(nullptr, 2 * SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == space) {
        die("no addresses for device memory");
    }
    emu::device_off = SPAN;
    emu::device_base = (uintptr_t) space;
    emu::device_span = SPAN;
    t.next = emu::device_base;
}

void memory_open()
{
    std::lock_guard<std::mutex> lock(memory().mutex);
    make_space(memory());
}

/* Addresses of bytes bytes, or 0. */
static uintptr_t take_addresses(table &t, size_t bytes, size_t align)
{
    uintptr_t at;

    make_space(t);
    std::vector<uintptr_t> &idle = t.idle[bytes];
    if (!idle.empty() && align <= PAGE) {
        at = idle.back();
        idle.pop_back();
        return at;
    }
    at = (t.next + align - 1) / align * align;
    if (at + bytes > emu::device_base + emu::device_span) {
        return 0;
    }
    t.next = at + bytes;
    return at;
}

uintptr_t memory_reserve(size_t bytes, size_t align)
{
    std::lock_guard<std::mutex> lock(memory().mutex);
    return take_addresses(memory(), bytes, align);
}

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

int memory_file(size_t map)
{
    int fd = memfd_create("fakecuda", MFD_CLOEXEC);

    if (fd >= 0 && 0 != ftruncate(fd, (off_t) (map + PAGE))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

control *memory_control(int fd, size_t map)
{
    void *at = mmap(nullptr, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t) map);
    return MAP_FAILED == at ? nullptr : (control *) at;
}

/*
 * Bytes from the allocation to its second guard. Host memory begins with a page, as the driver's
 * does.
 */
static size_t tail(const region &r)
{
    return lives_on_device(r.kind) ? round_up(r.bytes, 256) : r.map;
}

/* Where the mapping begins, guard page included, for the device. */
static uintptr_t first_guard(const region &r)
{
    return r.base + tail(r) - r.map - PAGE;
}

/* VMM maps to addresses that were reserved; others get theirs here. */
static bool choose_addresses(table &t, region &r)
{
    void *space;
    uintptr_t at;

    if (KIND_VMM == r.kind) {
        return true;
    }
    if (lives_on_device(r.kind)) {
        at = take_addresses(t, r.map + 2 * PAGE, PAGE);
        if (0 == at) {
            return false;
        }
    } else {
        space = mmap(nullptr, r.map + 2 * PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (MAP_FAILED == space) {
            return false;
        }
        at = (uintptr_t) space;
    }
    r.base = at + PAGE + r.map - tail(r);
    return true;
}

CUresult memory_map(const region_ref &r, bool fresh)
{
    table &t = memory();
    std::lock_guard<std::mutex> lock(t.mutex);
    char *contents;

    NEED(choose_addresses(t, *r), CUDA_ERROR_OUT_OF_MEMORY);
    contents = (char *) emu::host((void *) (first_guard(*r) + PAGE));
    NEED(MAP_FAILED !=
             mmap(contents, r->map, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd, 0),
         CUDA_ERROR_OUT_OF_MEMORY);
    if (fresh) {
        /* not a number in every type of floats */
        memset(emu::host((void *) r->base), 0xff, r->bytes);
    }
    if (0 == r->id) {
        r->id = memory_next_id();
    }
    t.all[r->base] = r;
    memory_changed();
    return CUDA_SUCCESS;
}

bool memory_adopt(const region_ref &r)
{
    table &t = memory();
    std::lock_guard<std::mutex> lock(t.mutex);
    auto next = t.all.lower_bound(r->base + r->bytes);

    if (t.all.begin() != next) {
        --next;
        if (next->second->base + next->second->bytes > r->base) {
            return false;
        }
    }
    r->id = memory_next_id();
    t.all[r->base] = r;
    memory_changed();
    return true;
}

/* ---- allocations ---- */

CUresult memory_alloc(CUcontext context, memory_kind kind, size_t bytes, region_ref *out)
{
    const bool counted = lives_on_device(kind);
    region_ref r = std::make_shared<region>();
    CUresult status;

    NEED(0 != bytes, CUDA_ERROR_INVALID_VALUE);
    memory_wait(context);
    r->kind = kind;
    r->bytes = bytes;
    r->map = round_up(bytes, PAGE);
    r->ordinal = context->device;
    r->machine = device_machine(context->device);
    r->context = KIND_POOL == kind ? nullptr : context;
    r->prefetched = CU_DEVICE_INVALID;
    if (counted) {
        std::lock_guard<std::mutex> lock(memory().mutex);
        NEED(memory().used[r->ordinal] + r->map <= opt().memory, CUDA_ERROR_OUT_OF_MEMORY);
        memory().used[r->ordinal] += r->map;
    }
    r->fd = memory_file(r->map);
    status = r->fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : memory_map(r, true);
    if (CUDA_SUCCESS != status) {
        std::lock_guard<std::mutex> lock(memory().mutex);
        memory().used[r->ordinal] -= counted ? r->map : 0;
        close(r->fd);
        return status;
    }
    note("alloc device %d kind %d bytes %zu", r->machine, (int) kind, bytes);
    *out = r;
    return CUDA_SUCCESS;
}

static void unmap(table &t, const region &r)
{
    const uintptr_t at = first_guard(r);

    if (KIND_VMM == r.kind) {
        mmap((char *) emu::host((void *) r.base), r.map, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else if (!lives_on_device(r.kind)) {
        /* the addresses stay taken: use after free faults */
        mmap((char *) at, r.map + 2 * PAGE, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else {
        mmap((char *) emu::host((void *) at), r.map + 2 * PAGE, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (opt().reuse) {
            t.idle[r.map + 2 * PAGE].push_back(at);
        }
    }
    close(r.fd);
}

void memory_free(const region_ref &r)
{
    table &t = memory();

    while (0 != r->busy) {
        usleep(20);
    }
    if (nullptr != r->shared) {
        if (0 == r->exporter) {
            r->shared->freed = 1;
        }
        munmap((void *) r->shared, PAGE);
        r->shared = nullptr;
    }
    std::lock_guard<std::mutex> lock(t.mutex);
    auto i = t.all.find(r->base);
    if (t.all.end() == i || i->second != r) {
        return;
    }
    t.all.erase(i);
    memory_changed();
    if (0 == r->exporter && (KIND_DEVICE == r->kind || KIND_POOL == r->kind)) {
        t.used[r->ordinal] -= r->map;
    }
    if (0 != r->map) {
        unmap(t, *r);
    }
}

void memory_drop(CUcontext context)
{
    std::vector<region_ref> gone;
    {
        std::lock_guard<std::mutex> lock(memory().mutex);
        for (const auto &i : memory().all) {
            if (context == i.second->context) {
                gone.push_back(i.second);
            }
        }
    }
    for (const region_ref &r : gone) {
        memory_free(r);
    }
}

} /* namespace fake */
