/* SPDX-License-Identifier: BSD-3-Clause */
/* A launch: a thread for each block, which first waits for room on the device. */
#include "capture.h"
#include "launch.h"

#include "stream.h"

#include <atomic>
#include <condition_variable>
#include <thread>

namespace fake
{

/* ---- threads that run blocks ---- */

struct crew {
    std::mutex mutex;
    std::condition_variable called;
    std::deque<std::function<void()>> queue;
    size_t idle;
};

static crew &all_hands()
{
    static crew *c = new crew {};
    return *c;
}

static void crew_main()
{
    crew &c = all_hands();
    std::unique_lock<std::mutex> lock(c.mutex);

    for (;;) {
        c.idle++;
        c.called.wait(lock, [&] { return !c.queue.empty(); });
        c.idle--;
        std::function<void()> what = std::move(c.queue.front());
        c.queue.pop_front();
        lock.unlock();
        what();
        what = nullptr;
        lock.lock();
    }
}

void crew_run(std::function<void()> what)
{
    crew &c = all_hands();
    std::lock_guard<std::mutex> lock(c.mutex);

    c.queue.push_back(std::move(what));
    if (c.idle < c.queue.size()) {
        std::thread(crew_main).detach();
    }
    c.called.notify_one();
}

/* ---- launches ---- */

/* A launch that is under way. The arguments are copied. */
struct launch {
    launch_job job;
    std::vector<std::vector<uint64_t>> values;
    std::vector<void *> args;
    std::mutex mutex;
    std::condition_variable done;
    unsigned left;
};

static void run_block(launch *l, unsigned i)
{
    const dim3 grid = l->job.grid;
    const unsigned threads = l->job.threads.x * l->job.threads.y * l->job.threads.z;
    const int machine = device_machine(l->job.device);
    const int place = resident_enter(machine, threads);

    block_run(l->job, uint3 {i % grid.x, i / grid.x % grid.y, i / (grid.x * grid.y)});
    resident_leave(machine, threads, place);
    std::lock_guard<std::mutex> lock(l->mutex);
    if (0 == --l->left) {
        l->done.notify_all();
    }
}

static std::atomic<void (*)()> begin_with;

static void run(launch *l)
{
    const unsigned blocks = l->job.grid.x * l->job.grid.y * l->job.grid.z;
    void (*what)() = begin_with.exchange(nullptr);

    if (nullptr != what) {
        what();
    }
    l->left = blocks;
    for (unsigned i = 0; i < blocks; i++) {
        crew_run([l, i] { run_block(l, i); });
    }
    std::unique_lock<std::mutex> lock(l->mutex);
    l->done.wait(lock, [&] { return 0 == l->left; });
}

static bool fits(dim3 grid, dim3 threads)
{
    const uint64_t n = (uint64_t) threads.x * threads.y * threads.z;

    return 0 != grid.x && 0 != grid.y && 0 != grid.z && grid.x <= 0x7fffffff && grid.y <= 65535 &&
           grid.z <= 65535 && 0 != n && n <= 1024 && threads.z <= 64;
}

/* Kernels that g++ compiled have no dynamic shared memory. */
static bool fits(CUfunction f, dim3 threads, unsigned shared)
{
    const unsigned most = nullptr == f->ptx ? 0 : ptx::most_threads(*f->ptx);

    return nullptr == f->ptx ? 0 == shared
                             : shared + ptx::shared_bytes(*f->ptx) <= 232448 &&
                                   (0 == most || threads.x * threads.y * threads.z <= most);
}

static CUresult start(CUfunction f, dim3 grid, dim3 threads, unsigned shared, CUstream handle,
                      void **args, void **extra)
{
    NEED_CONTEXT(c);
    NEED(function_known(f), CUDA_ERROR_INVALID_HANDLE);
    CUstream s = stream_of(handle, c);
    NEED(nullptr != s && s->context == c, CUDA_ERROR_INVALID_HANDLE);
    NEED(fits(grid, threads) && fits(f, threads, shared) && nullptr == extra,
         CUDA_ERROR_INVALID_VALUE);
    NEED(nullptr != args || 0 == f->kernel.nargs, CUDA_ERROR_INVALID_VALUE);
    NEED_CAPTURE(use(s));
    function_load(f, c);
    if (nullptr != f->ptx) {
        CUresult placed = ptx::place_variables(*f->module, c);
        NEED(CUDA_SUCCESS == placed, placed);
    }
    auto l = std::make_shared<launch>();
    static_cast<work &>(l->job) =
        work {f->name.c_str(), f->kernel, f->ptx, nullptr, c->device, grid, threads, shared};
    l->job.context = c;
    for (int i = 0; i < f->kernel.nargs; i++) {
        /* 64 bytes more than needed, to align */
        l->values.emplace_back((f->kernel.bytes[i] + 7) / 8 + 8);
        void *at = (void *) (((uintptr_t) l->values.back().data() + 63) / 64 * 64);
        memcpy(at, args[i], f->kernel.bytes[i]);
        l->args.push_back(at);
    }
    l->job.args = l->args.data();
    stream_put(s, [l] { run(l.get()); });
    return CUDA_SUCCESS;
}

} /* namespace fake */

using namespace fake;

/* For tests: the next kernel that begins calls it first. */
extern "C" __attribute__((visibility("default"))) void fakecuda_begin_with(void (*what)())
{
    begin_with = what;
}

FAKE_API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **args,
                        void **extra)
{
    return start(f, dim3 {gx, gy, gz}, dim3 {bx, by, bz}, shared, stream, args, extra);
}
