/* SPDX-License-Identifier: BSD-3-Clause */
/* capture.h, and the graphs that captures make: a list of work, done in order. */
#include "capture.h"
#include "stream.h"

#include <algorithm>
#include <thread>

struct CUgraph_st {
    std::vector<std::function<void()>> nodes;
};
struct CUgraphExec_st {
    std::vector<std::function<void()>> nodes;
};

namespace fake
{

/* Work of all streams of a capture is kept in the order of the calls, which their waits allow. */
struct capture {
    unsigned long long id;
    CUstream stream; /* where it began */
    CUstreamCaptureMode mode;
    std::thread::id by;
    bool valid;
    std::vector<std::function<void()>> nodes;
    /* of each stream of it: how much it has itself, and what comes before what it has next */
    std::map<CUstream, size_t> work;
    std::map<CUstream, std::map<CUstream, size_t>> before;
    bool holds(CUstream s) const
    {
        return 0 != before.count(s);
    }
};

static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static std::atomic<int> under_way;

static std::mutex &captures_mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
static std::vector<capture> &captures()
{
    static auto *all = new std::vector<capture>;
    return *all;
}

/* With the mutex held; nullptr: it is not captured. */
static capture *capture_of(CUstream stream)
{
    auto &all = captures();
    auto c =
        std::find_if(all.begin(), all.end(), [=](const capture &x) { return x.holds(stream); });

    return all.end() == c ? nullptr : &*c;
}

/* Invalidate the captures that prohibit a call; error where there are some. */
template <class T> static CUresult prohibit(T prohibits, CUresult error)
{
    CUresult status = CUDA_SUCCESS;

    if (0 == under_way) {
        return status;
    }
    std::lock_guard<std::mutex> lock(captures_mutex());
    for (capture &c : captures()) {
        if (prohibits(c)) {
            c.valid = false;
            status = error;
        }
    }
    return status;
}

CUresult capture_unsafe()
{
    const std::thread::id me = std::this_thread::get_id();

    if (CU_STREAM_CAPTURE_MODE_RELAXED == mode) {
        return CUDA_SUCCESS;
    }
    return prohibit(
        [=](const capture &c) {
            return me == c.by ? CU_STREAM_CAPTURE_MODE_RELAXED != c.mode
                              : CU_STREAM_CAPTURE_MODE_GLOBAL == c.mode &&
                                    CU_STREAM_CAPTURE_MODE_GLOBAL == mode;
        },
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

static bool closes_legacy(const capture &c, CUstream stream)
{
    if (stream != stream->context->legacy) {
        return false;
    }
    for (const auto &s : c.before) {
        if (stream->context == s.first->context && 0 == (s.first->flags & CU_STREAM_NON_BLOCKING)) {
            return true;
        }
    }
    return false;
}

CUresult capture_use(CUstream stream)
{
    CUresult status = prohibit([=](const capture &c) { return closes_legacy(c, stream); },
                               CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);

    return CUDA_SUCCESS != status
               ? status
               : prohibit([=](const capture &c) { return c.holds(stream) && !c.valid; },
                          CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

CUresult capture_wait(CUstream stream)
{
    NEED_CAPTURE(unsafe());
    NEED_CAPTURE(use(stream));
    return prohibit([=](const capture &c) { return c.holds(stream); },
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult capture_wait_context(CUcontext context)
{
    NEED_CAPTURE(unsafe());
    return prohibit([=](const capture &c) { return context == c.stream->context; },
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult capture_follow(CUstream stream)
{
    NEED_CAPTURE(use(stream));
    return prohibit([=](const capture &c) { return c.holds(stream); },
                    CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

bool is_captured(CUstream stream)
{
    if (0 == under_way) {
        return false;
    }
    std::lock_guard<std::mutex> lock(captures_mutex());
    return nullptr != capture_of(stream);
}

bool capture_take(CUstream stream, const std::function<void()> &run)
{
    if (0 == under_way) {
        return false;
    }
    std::lock_guard<std::mutex> lock(captures_mutex());
    capture *c = capture_of(stream);

    if (nullptr != c) {
        c->nodes.push_back(run);
        c->before[stream][stream] = ++c->work[stream];
    }
    return nullptr != c;
}

std::shared_ptr<captured_point> capture_here(CUstream stream)
{
    if (0 == under_way) {
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(captures_mutex());
    const capture *c = capture_of(stream);
    return nullptr == c
               ? nullptr
               : std::make_shared<captured_point>(captured_point {c->id, c->before.at(stream)});
}

CUresult capture_join(CUstream stream, const captured_point &point)
{
    NEED(stream != stream->context->legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    NEED_CAPTURE(use(stream));
    std::lock_guard<std::mutex> lock(captures_mutex());
    auto &all = captures();
    auto c = std::find_if(all.begin(), all.end(),
                          [&](const capture &x) { return point.capture == x.id; });
    capture *own = capture_of(stream);

    if (all.end() == c || (nullptr != own && own != &*c)) { /* over, or another one */
        if (nullptr != own) {
            own->valid = false;
        }
        return all.end() == c ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    auto &before = c->before[stream]; /* from now on it is in the capture */
    for (const auto &p : point.before) {
        size_t &known = before[p.first];
        known = std::max(known, p.second);
    }
    return CUDA_SUCCESS;
}

/* With the mutex held: whether the first stream has waited for all that the others have. */
static bool joined(const capture &c)
{
    const auto &known = c.before.at(c.stream);

    return std::all_of(c.work.begin(), c.work.end(), [&](const auto &w) {
        auto k = known.find(w.first);
        return 0 == w.second || (known.end() != k && k->second == w.second);
    });
}

/* With the mutex held. */
static void forget(CUstream stream)
{
    auto &all = captures();

    all.erase(
        std::remove_if(all.begin(), all.end(), [=](const capture &c) { return c.holds(stream); }),
        all.end());
    under_way = (int) all.size();
}

void capture_drop(CUstream stream)
{
    std::lock_guard<std::mutex> lock(captures_mutex());
    forget(stream);
}

} /* namespace fake */

using namespace fake;

FAKE_API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *other)
{
    NEED(nullptr != other && *other <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    std::swap(mode, *other);
    return CUDA_SUCCESS;
}

FAKE_API cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode how)
{
    NEED_STREAM(s, handle);
    NEED(how <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    NEED(s != s->context->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    std::lock_guard<std::mutex> lock(captures_mutex());
    NEED(nullptr == capture_of(s), CUDA_ERROR_ILLEGAL_STATE);
    static unsigned long long next = 1;
    captures().push_back(
        capture {next++, s, how, std::this_thread::get_id(), true, {}, {}, {{s, {}}}});
    under_way++;
    return CUDA_SUCCESS;
}

FAKE_API cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    NEED_STREAM(s, handle);
    NEED(nullptr != graph, CUDA_ERROR_INVALID_VALUE);
    std::lock_guard<std::mutex> lock(captures_mutex());
    const capture *c = capture_of(s);
    NEED(nullptr != c, CUDA_ERROR_ILLEGAL_STATE);
    NEED(s == c->stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    NEED(CU_STREAM_CAPTURE_MODE_RELAXED == c->mode || std::this_thread::get_id() == c->by,
         CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const CUresult status = !c->valid     ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                            : !joined(*c) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                          : CUDA_SUCCESS;
    *graph = CUDA_SUCCESS == status ? new CUgraph_st {c->nodes} : nullptr;
    forget(s);
    return status;
}

FAKE_API cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    NEED_STREAM(s, handle);
    NEED(nullptr != status, CUDA_ERROR_INVALID_VALUE);
    std::lock_guard<std::mutex> lock(captures_mutex());
    for (const capture &c : captures()) {
        NEED(!closes_legacy(c, s), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    const capture *c = capture_of(s);
    *status = nullptr == c ? CU_STREAM_CAPTURE_STATUS_NONE
              : c->valid   ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                           : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
}

FAKE_API cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long)
{
    NEED_CONTEXT(c);
    (void) c;
    NEED(nullptr != exec && nullptr != graph, CUDA_ERROR_INVALID_VALUE);
    *exec = new CUgraphExec_st {graph->nodes};
    return CUDA_SUCCESS;
}

FAKE_API cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
    NEED_STREAM(s, handle);
    NEED(nullptr != exec, CUDA_ERROR_INVALID_VALUE);
    NEED_CAPTURE(use(s));
    for (const auto &node : exec->nodes) {
        stream_put(s, node);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuGraphExecDestroy(CUgraphExec exec)
{
    NEED_DRIVER();
    delete exec;
    return CUDA_SUCCESS;
}
FAKE_API cuGraphDestroy(CUgraph graph)
{
    NEED_DRIVER();
    delete graph;
    return CUDA_SUCCESS;
}
