/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of several processes. A handle names the exporter's process and file descriptor, as in
 * ipc.cpp.
 */
#include "event.h"
#include "memory.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fake
{

constexpr uint32_t MAGIC = 0x46435645;

struct event_ticket {
    uint32_t magic;
    int32_t pid, fd;
    uint64_t inode;
};

static bool map(CUevent event)
{
    void *page = mmap(nullptr, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);

    event->shared = MAP_FAILED == page ? nullptr : (shared_event *) page;
    return nullptr != event->shared;
}

bool shared_event_make(CUevent event)
{
    event->fd = memory_file(0); /* one page: the control page alone */
    return event->fd >= 0 && map(event);
}

void shared_event_record(CUevent event, CUstream stream)
{
    shared_event *s = event->shared;
    const uint64_t n = ++s->recorded;

    stream_put(stream, [s, n] {
        uint64_t before = s->reached;
        while (before < n && !s->reached.compare_exchange_weak(before, n)) {
        }
    });
}

bool shared_event_reached(CUevent event)
{
    return event->shared->reached >= event->shared->recorded;
}

static void wait(const shared_event *s, uint64_t until)
{
    for (unsigned tries = 0; s->reached < until; tries++) {
        usleep(tries < 100 ? 10 : 100);
    }
}

void shared_event_wait(CUevent event)
{
    wait(event->shared, event->shared->recorded);
}

void shared_event_follow(CUevent event, CUstream stream)
{
    const shared_event *s = event->shared;
    const uint64_t until = s->recorded;

    stream_put(stream, [s, until] { wait(s, until); });
}

} /* namespace fake */

using namespace fake;

FAKE_API cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
    struct stat st;

    NEED_CONTEXT(c);
    (void) c;
    NEED(opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    NEED(event_known(event), CUDA_ERROR_INVALID_HANDLE);
    NEED(nullptr != handle && nullptr != event->shared && 0 == fstat(event->fd, &st),
         CUDA_ERROR_INVALID_VALUE);
    event_ticket t = {MAGIC, (int32_t) getpid(), event->fd, st.st_ino};
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &t, sizeof(t));
    return CUDA_SUCCESS;
}

FAKE_API cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
    event_ticket t;
    char path[64];
    struct stat st;

    NEED_CONTEXT(c);
    NEED(opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    memcpy(&t, &handle, sizeof(t));
    NEED(nullptr != event && MAGIC == t.magic, CUDA_ERROR_INVALID_VALUE);
    NEED(getpid() != t.pid, CUDA_ERROR_INVALID_CONTEXT);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", t.pid, t.fd);
    std::unique_ptr<CUevent_st> e(new CUevent_st {});
    e->fd = open(path, O_RDWR | O_CLOEXEC);
    NEED(e->fd >= 0, CUDA_ERROR_INVALID_VALUE);
    if (0 != fstat(e->fd, &st) || st.st_ino != t.inode || !map(e.get())) {
        close(e->fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    e->context = c;
    e->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    event_add(e.get());
    *event = e.release();
    return CUDA_SUCCESS;
}
