/* SPDX-License-Identifier: BSD-3-Clause */
/* FAKECUDA_CHECK: each access of a kernel against the allocations that its device may touch. */
#include "block.h"
#include "launch.h"
#include "memory.h"

namespace fake
{

/* An OS thread's copy of the table, and the windows that it used last. */
struct view {
    uint64_t generation;
    CUcontext context;
    std::vector<window> all;
    window recent[4];
    unsigned next;
};

static bool inside(const window &w, uintptr_t at, size_t bytes)
{
    return at >= w.from && at + bytes <= w.to;
}

static void renew(view &v, const launch_job &job)
{
    const uint64_t now = memory_generation();

    if (now != v.generation || job.context != v.context) {
        happens_after(&v); /* any fiber of this thread may have made the one before */
        v.all = memory_windows(job.context->device, job.context);
        v.generation = now;
        v.context = job.context;
        for (window &w : v.recent) {
            w = window {};
        }
        happens_before(&v);
    }
}

} /* namespace fake */

namespace emu
{

using namespace fake;

void check(const void *at, size_t bytes)
{
    static thread_local view mine;
    const uintptr_t a = (uintptr_t) at;

    renew(mine, *(const launch_job *) block_here()->job);
    for (const window &w : mine.recent) {
        if (inside(w, a, bytes)) {
            if (nullptr != w.shared && 0 != w.shared->freed) {
                fault("memory that its process has freed", at);
            }
            return;
        }
    }
    for (const window &w : mine.all) {
        if (inside(w, a, bytes)) {
            mine.recent[mine.next++ % 4] = w;
            return check(at, bytes);
        }
    }
    fault("access outside every allocation", at);
}

} /* namespace emu */
