/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: a point in a stream, and whether it was reached. Recording an event again makes a new
 * point; waits that began before keep the old point.
 */
#include "capture.h"
#include "stream.h"

struct CUevent_st {
    std::mutex mutex;
    CUcontext context;
    unsigned flags;
    bool recorded;
    std::shared_ptr<fake::captured_point> captured; /* it was last recorded in a capture */
    fake::point at;
    std::shared_ptr<double> time; /* seconds; written before the point is reached */
};

namespace fake
{

static std::mutex &known_mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
static std::set<CUevent> &known()
{
    static auto *all = new std::set<CUevent>;
    return *all;
}
static void event_add(CUevent event)
{
    std::lock_guard<std::mutex> lock(known_mutex());
    known().insert(event);
}
static bool event_known(CUevent event)
{
    std::lock_guard<std::mutex> lock(known_mutex());
    return 0 != known().count(event);
}

/* Its last point; false when it was never recorded. */
static bool last_point(CUevent event, point *at)
{
    std::lock_guard<std::mutex> lock(event->mutex);
    *at = event->at;
    return event->recorded;
}

/* Its point in a capture; NULL: it was last recorded outside. */
static std::shared_ptr<captured_point> captured_at(CUevent event)
{
    std::lock_guard<std::mutex> lock(event->mutex);
    return event->captured;
}

} /* namespace fake */

using namespace fake;

FAKE_API cuEventCreate(CUevent *event, unsigned flags)
{
    NEED_CONTEXT(c);
    NEED(nullptr != event && flags < 8, CUDA_ERROR_INVALID_VALUE);
    NEED(0 == (flags & CU_EVENT_INTERPROCESS), CUDA_ERROR_NOT_SUPPORTED);
    std::unique_ptr<CUevent_st> e(new CUevent_st {});
    e->context = c;
    e->flags = flags;
    event_add(e.get());
    *event = e.release();
    return CUDA_SUCCESS;
}

FAKE_API cuEventDestroy_v2(CUevent event)
{
    NEED_DRIVER();
    std::lock_guard<std::mutex> lock(known_mutex());
    NEED(0 != known().erase(event), CUDA_ERROR_INVALID_HANDLE);
    delete event;
    return CUDA_SUCCESS;
}

FAKE_API cuEventRecord(CUevent event, CUstream handle)
{
    NEED_CONTEXT(c);
    CUstream s = stream_of(handle, c);
    NEED(event_known(event) && nullptr != s && event->context == s->context,
         CUDA_ERROR_INVALID_HANDLE);
    NEED_CAPTURE(use(s));
    std::shared_ptr<captured_point> captured = capture_here(s);
    if (nullptr != captured) { /* a point of the graph, and nothing else */
        std::lock_guard<std::mutex> lock(event->mutex);
        event->captured = captured;
        return CUDA_SUCCESS;
    }
    auto time = std::make_shared<double>(0);
    point at = stream_put(s, [time] { *time = seconds(); });
    std::lock_guard<std::mutex> lock(event->mutex);
    event->recorded = true;
    event->captured = nullptr;
    event->at = at;
    event->time = time;
    return CUDA_SUCCESS;
}

FAKE_API cuEventQuery(CUevent event)
{
    point at;

    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(event_known(event), CUDA_ERROR_INVALID_HANDLE);
    NEED(nullptr == captured_at(event), CUDA_ERROR_CAPTURED_EVENT);
    return !last_point(event, &at) || point_reached(at) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

FAKE_API cuEventSynchronize(CUevent event)
{
    point at;

    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(event_known(event), CUDA_ERROR_INVALID_HANDLE);
    NEED(nullptr == captured_at(event), CUDA_ERROR_CAPTURED_EVENT);
    if (last_point(event, &at)) {
        point_wait(at);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    point from, to;

    NEED_DRIVER();
    NEED(event_known(start) && event_known(end), CUDA_ERROR_INVALID_HANDLE);
    NEED(0 == ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE);
    NEED(last_point(start, &from) && last_point(end, &to), CUDA_ERROR_INVALID_HANDLE);
    NEED(point_reached(from) && point_reached(to), CUDA_ERROR_NOT_READY);
    *milliseconds = (float) ((*end->time - *start->time) * 1e3);
    return CUDA_SUCCESS;
}

FAKE_API cuStreamWaitEvent(CUstream handle, CUevent event, unsigned)
{
    point at;

    NEED_CONTEXT(c);
    CUstream s = stream_of(handle, c);
    NEED(event_known(event) && nullptr != s, CUDA_ERROR_INVALID_HANDLE);
    if (auto captured = captured_at(event)) {
        return capture_join(s, *captured);
    }
    NEED_CAPTURE(follow(s));
    if (last_point(event, &at)) {
        stream_put(s, [at] { point_wait(at); });
    }
    return CUDA_SUCCESS;
}
