/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of other processes. A handle names the exporter's process and its file descriptor; the
 * importer opens that under /proc and maps the same pages. The file's last page tells importers
 * when the exporter has freed it; its handle opens nothing then. Nor does a handle whose addresses,
 * at the exporter's, overlap what is open of an allocation that was there before: the importer has
 * to close that first.
 */
#include "capture.h"
#include "memory.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace fake
{

constexpr uint32_t MAGIC = 0x46435544;

struct ticket {
    uint32_t magic;
    int32_t pid, fd, machine;
    uint64_t base, bytes, map, id, inode;
};
static_assert(sizeof(ticket) <= sizeof(CUipcMemHandle), "fits the handle");

static std::mutex &open_mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
/* What is open here, by exporter and its id. */
struct opening {
    uint64_t base; /* where the exporter has it */
    region_ref r;
};
static std::map<std::pair<int, uint64_t>, opening> &opened()
{
    static auto *all = new std::map<std::pair<int, uint64_t>, opening>;
    return *all;
}

/* Whether something else that is open overlaps it, at the exporter's. */
static bool overlaps(const ticket &t)
{
    for (const auto &i : opened()) {
        const opening &o = i.second;
        if (i.first.first == t.pid && i.first.second != t.id && o.base < t.base + t.bytes &&
            t.base < o.base + o.r->bytes) {
            return true;
        }
    }
    return false;
}

/* For memory of this process; false: no room for it. */
static bool ticket_make(const region_ref &r, ticket *out)
{
    struct stat st;

    if (nullptr == r->shared) {
        r->shared = memory_control(r->fd, r->map);
    }
    if (nullptr == r->shared || 0 != fstat(r->fd, &st)) {
        return false;
    }
    *out = ticket {MAGIC, (int32_t) getpid(), r->fd, r->machine, r->base, r->bytes, r->map,
                   r->id, st.st_ino};
    return true;
}

static CUresult ticket_attach(const ticket &t, CUcontext c, region_ref *out)
{
    region_ref r = std::make_shared<region>();
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", t.pid, t.fd);
    r->fd = open(path, O_RDWR | O_CLOEXEC);
    NEED(r->fd >= 0, CUDA_ERROR_INVALID_VALUE);
    if (0 != fstat(r->fd, &st) || st.st_ino != t.inode || (uint64_t) st.st_size != t.map + PAGE) {
        close(r->fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    r->kind = KIND_IPC;
    r->bytes = t.bytes;
    r->map = t.map;
    r->machine = t.machine;
    r->ordinal = device_ordinal(t.machine) < 0 ? c->device : device_ordinal(t.machine);
    r->context = c;
    r->exporter = t.pid;
    r->exporter_id = t.id;
    r->shared = memory_control(r->fd, t.map);
    if (nullptr == r->shared || CUDA_SUCCESS != memory_map(r, false)) {
        close(r->fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = r;
    return CUDA_SUCCESS;
}

} /* namespace fake */

using namespace fake;

FAKE_API cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
    ticket t;

    NEED_CONTEXT(c);
    (void) c;
    NEED(IPC_NONE != opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    region_ref r = memory_find(at);
    NEED(nullptr != handle && nullptr != r && KIND_DEVICE == r->kind, CUDA_ERROR_INVALID_VALUE);
    std::lock_guard<std::mutex> lock(open_mutex());
    NEED(ticket_make(r, &t), CUDA_ERROR_OUT_OF_MEMORY);
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &t, sizeof(t));
    return CUDA_SUCCESS;
}

FAKE_API cuIpcOpenMemHandle_v2(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags)
{
    ticket t;

    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    NEED(IPC_NONE != opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    memcpy(&t, &handle, sizeof(t));
    NEED(nullptr != at && MAGIC == t.magic, CUDA_ERROR_INVALID_VALUE);
    NEED(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS == flags || t.machine == device_machine(c->device),
         CUDA_ERROR_INVALID_VALUE);
    NEED(getpid() != t.pid, CUDA_ERROR_INVALID_CONTEXT);
    NEED(IPC_UNOPENED != opt().ipc, CUDA_ERROR_INVALID_VALUE);
    NEED((IPC_SEEN != opt().ipc && 0 == opt().mig) || device_ordinal(t.machine) >= 0,
         CUDA_ERROR_INVALID_DEVICE);
    NEED(device_reaches(device_machine(c->device), t.machine), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    memory_wait(c);
    std::lock_guard<std::mutex> lock(open_mutex());
    NEED(!overlaps(t), CUDA_ERROR_ALREADY_MAPPED);
    auto known = opened().find({t.pid, t.id});
    region_ref r;
    if (opened().end() != known) {
        r = known->second.r;
        NEED(0 == r->shared->freed, CUDA_ERROR_INVALID_VALUE);
    } else {
        CUresult status = ticket_attach(t, c, &r);
        NEED(CUDA_SUCCESS == status, status);
        opened()[{t.pid, t.id}] = opening {t.base, r};
    }
    r->opened++;
    r->openers |= uint64_t(1) << c->device;
    memory_changed(); /* for this device */
    *at = r->base;
    return CUDA_SUCCESS;
}

FAKE_API cuIpcCloseMemHandle(CUdeviceptr at)
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    memory_wait(c);
    region_ref r = memory_find(at);
    NEED(nullptr != r && KIND_IPC == r->kind && at == r->base, CUDA_ERROR_INVALID_VALUE);
    std::lock_guard<std::mutex> lock(open_mutex());
    if (0 == --r->opened) {
        opened().erase({r->exporter, r->exporter_id});
        memory_free(r);
    }
    return CUDA_SUCCESS;
}
