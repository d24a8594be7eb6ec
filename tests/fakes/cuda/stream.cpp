/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, the legacy default stream's order, and what is put on streams but copies and kernels. */
#include "capture.h"
#include "stream.h"

#include "cuda_emu.h"
#include "memory.h"

#include <ctime>
#include <map>
#include <thread>
#include <unistd.h>

namespace fake
{

static std::mutex &known_mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
static std::set<CUstream> &known()
{
    static auto *all = new std::set<CUstream>;
    return *all;
}

void progress::wait(uint64_t until)
{
    std::unique_lock<std::mutex> lock(mutex);
    moved.wait(lock, [&] { return completed >= until; });
}

void point_wait(const point &p)
{
    p.stream->wait(p.number);
}

bool point_reached(const point &p)
{
    std::lock_guard<std::mutex> lock(p.stream->mutex);
    return p.stream->completed >= p.number;
}

point stream_tail(CUstream stream)
{
    std::lock_guard<std::mutex> lock(stream->at->mutex);
    return point {stream->at, stream->at->submitted};
}

/* ---- the thread ---- */

static void stream_main(CUstream stream)
{
    progress_ref at = stream->at;
    std::unique_lock<std::mutex> lock(at->mutex);

    for (;;) {
        at->moved.wait(lock, [&] { return stream->quit || !stream->queue.empty(); });
        if (stream->queue.empty()) {
            break;
        }
        operation next = std::move(stream->queue.front());
        stream->queue.pop_front();
        lock.unlock();
        for (const point &p : next.after) {
            point_wait(p);
        }
        next.run();
        next = operation {};
        lock.lock();
        at->completed++;
        at->moved.notify_all();
    }
    lock.unlock();
    delete stream;
}

CUstream stream_new(CUcontext context, unsigned flags, int priority)
{
    static std::atomic<unsigned long long> next {1};
    CUstream s = new CUstream_st {};

    s->context = context;
    s->flags = flags;
    s->priority = priority;
    s->id = next++;
    s->at = std::make_shared<progress>();
    s->random = seed(opt().delay_seed, (uint64_t) getpid(), s->id);
    {
        std::lock_guard<std::mutex> lock(context->mutex);
        context->streams.insert(s);
    }
    {
        std::lock_guard<std::mutex> lock(known_mutex());
        known().insert(s);
    }
    std::thread(stream_main, s).detach();
    return s;
}

static void stream_end(CUstream s)
{
    progress_ref at = s->at;
    {
        std::lock_guard<std::mutex> lock(known_mutex());
        known().erase(s);
    }
    std::lock_guard<std::mutex> lock(at->mutex);
    s->quit = true;
    at->moved.notify_all();
}

static std::vector<CUstream> streams_of(CUcontext context)
{
    std::lock_guard<std::mutex> lock(context->mutex);
    return std::vector<CUstream>(context->streams.begin(), context->streams.end());
}

void streams_sync(CUcontext context)
{
    for (CUstream s : streams_of(context)) {
        point_wait(stream_tail(s));
    }
}

void streams_end(CUcontext context)
{
    for (CUstream s : streams_of(context)) {
        capture_drop(s);
        stream_end(s);
    }
    std::lock_guard<std::mutex> lock(context->mutex);
    context->streams.clear();
}

/* One for each thread and context, never ended before the context. */
static CUstream per_thread_stream(CUcontext current)
{
    static thread_local std::map<CUcontext, std::pair<unsigned long long, CUstream>> mine;
    auto &entry = mine[current];

    if (nullptr == entry.second || current->id != entry.first) {
        entry = {current->id, stream_new(current, CU_STREAM_DEFAULT, 0)};
    }
    return entry.second;
}

CUstream stream_of(CUstream handle, CUcontext current)
{
    if (nullptr == handle || CU_STREAM_LEGACY == handle) {
        return current->legacy;
    }
    if (CU_STREAM_PER_THREAD == handle) {
        return per_thread_stream(current);
    }
    std::lock_guard<std::mutex> lock(known_mutex());
    return 0 != known().count(handle) ? handle : nullptr;
}

/* ---- order ---- */

static point enqueue(CUstream stream, operation op)
{
    std::lock_guard<std::mutex> lock(stream->at->mutex);

    stream->queue.push_back(std::move(op));
    stream->at->submitted++;
    stream->at->moved.notify_all();
    return point {stream->at, stream->at->submitted};
}

point stream_put(CUstream stream, std::function<void()> run)
{
    CUcontext context = stream->context;
    operation op {{}, std::move(run)};

    if (capture_take(stream, op.run)) {
        return point {stream->at, 0};
    }
    if (0 != (stream->flags & CU_STREAM_NON_BLOCKING)) {
        return enqueue(stream, std::move(op));
    }
    std::lock_guard<std::mutex> order(context->order);
    if (context->legacy == stream) {
        for (CUstream s : streams_of(context)) {
            if (0 == (s->flags & CU_STREAM_NON_BLOCKING) && stream != s) {
                op.after.push_back(stream_tail(s));
            }
        }
    } else {
        op.after.push_back(stream_tail(context->legacy));
    }
    return enqueue(stream, std::move(op));
}

point stream_put_slow(CUstream stream, std::function<void()> run)
{
    if (!opt().delayed) {
        return stream_put(stream, std::move(run));
    }
    return stream_put(stream, [stream, run] {
        timespec nap = {0, (long) (draw(stream->random) % 3000000)};
        nanosleep(&nap, nullptr);
        run();
    });
}

/* One engine for each way. */
static void take_bus(size_t bytes, bool to)
{
    static auto *engines = new std::mutex[2];
    std::lock_guard<std::mutex> lock(engines[to]);
    double s = (double) bytes / opt().rate;
    timespec nap = {(time_t) s, (long) ((s - (double) (time_t) s) * 1e9)};

    nanosleep(&nap, nullptr);
}

point stream_put_copy(CUstream stream, size_t bytes, bool to, std::function<void()> run)
{
    if (opt().rate <= 0 || 0 == bytes) {
        return stream_put_slow(stream, std::move(run));
    }
    return stream_put_slow(stream, [bytes, to, run] {
        take_bus(bytes, to);
        run();
    });
}

} /* namespace fake */

using namespace fake;

FAKE_API cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    NEED(nullptr != stream && flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    *stream = stream_new(c, flags, priority < -5 ? -5 : priority > 0 ? 0 : priority);
    return CUDA_SUCCESS;
}
FAKE_API cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

FAKE_API cuStreamDestroy_v2(CUstream stream)
{
    NEED_DRIVER();
    NEED((uintptr_t) stream > 2, CUDA_ERROR_INVALID_HANDLE);
    {
        std::lock_guard<std::mutex> lock(known_mutex());
        NEED(0 != known().count(stream), CUDA_ERROR_INVALID_HANDLE);
    }
    {
        std::lock_guard<std::mutex> order(stream->context->order);
        std::lock_guard<std::mutex> lock(stream->context->mutex);
        stream->context->streams.erase(stream);
    }
    capture_drop(stream);
    stream_end(stream);
    return CUDA_SUCCESS;
}

FAKE_API cuStreamSynchronize(CUstream handle)
{
    NEED_STREAM(s, handle);
    NEED_CAPTURE(wait(s));
    point_wait(stream_tail(s));
    if (s == s->context->legacy) { /* it is behind the blocking streams in any case */
        point_wait(stream_put(s, [] {}));
    }
    return CUDA_SUCCESS;
}

FAKE_API cuStreamQuery(CUstream handle)
{
    NEED_STREAM(s, handle);
    NEED_CAPTURE(wait(s));
    return point_reached(stream_tail(s)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

FAKE_API cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
    NEED_STREAM(s, handle);
    NEED(nullptr != function, CUDA_ERROR_INVALID_VALUE);
    NEED_CAPTURE(use(s));
    stream_put(s, [=] {
        in_callback = true;
        function(data);
        in_callback = false;
    });
    return CUDA_SUCCESS;
}

/* Not captured, unlike cuLaunchHostFunc. */
FAKE_API cuStreamAddCallback(CUstream handle, CUstreamCallback function, void *data, unsigned flags)
{
    NEED_STREAM(s, handle);
    NEED(nullptr != function && 0 == flags, CUDA_ERROR_INVALID_VALUE);
    NEED_CAPTURE(use(s));
    if (is_captured(s)) {
        return capture_wait(s);
    }
    stream_put(s, [=] {
        in_callback = true;
        function(handle, CUDA_SUCCESS, data);
        in_callback = false;
    });
    return CUDA_SUCCESS;
}
