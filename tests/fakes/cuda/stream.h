/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams. Each has a thread that does its work in order. Work on the legacy default stream comes
 * after all that was put on the context's blocking streams before, and before all that is put on
 * them later.
 */
#ifndef FAKECUDA_STREAM_H
#define FAKECUDA_STREAM_H

#include "context.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace fake
{

/* How far a stream is; outlives it. */
struct progress {
    std::mutex mutex;
    std::condition_variable moved;
    uint64_t submitted, completed;
    void wait(uint64_t until);
};
using progress_ref = std::shared_ptr<progress>;

/* A point in a stream. */
struct point {
    progress_ref stream;
    uint64_t number;
};

struct operation {
    std::vector<point> after;
    std::function<void()> run;
};

} /* namespace fake */

struct CUstream_st {
    CUcontext context;
    unsigned flags;
    int priority;
    unsigned long long id;
    bool quit; /* the thread ends when all is done */
    fake::progress_ref at;
    std::deque<fake::operation> queue;
    uint64_t random;
};

namespace fake
{

CUstream stream_new(CUcontext context, unsigned flags, int priority);
/*
 * The stream that a handle of the caller means: default streams are translated. NULL: there is no
 * such stream.
 */
CUstream stream_of(CUstream handle, CUcontext current);
/*
 * What a handle means to the functions whose names end in _ptds or _ptsz, which programs for the
 * per-thread default stream call: 0 is that stream.
 */
static inline CUstream of_thread(CUstream handle)
{
    return nullptr == handle ? CU_STREAM_PER_THREAD : handle;
}
/* Put something on it; returns where it is. */
point stream_put(CUstream stream, std::function<void()> run);
/* The same for what takes a while on a real device: FAKECUDA_DELAY makes it take one here. */
point stream_put_slow(CUstream stream, std::function<void()> run);
/*
 * The same for a copy over the bus (to: the device), which FAKECUDA_RATE makes as slow as that: one
 * at a time each way in a process. It lands when its time is over.
 */
point stream_put_copy(CUstream stream, size_t bytes, bool to, std::function<void()> run);
point stream_tail(CUstream stream);
void point_wait(const point &p);
bool point_reached(const point &p);

void streams_sync(CUcontext context); /* all that was put on the context's streams so far is done */
void streams_end(CUcontext context);

} /* namespace fake */
/* The first words of functions that take a stream. */
#define NEED_STREAM(name, handle)                         \
    NEED_CONTEXT(context_of_##name);                      \
    CUstream name = stream_of(handle, context_of_##name); \
    NEED(nullptr != name, CUDA_ERROR_INVALID_HANDLE)

#endif
