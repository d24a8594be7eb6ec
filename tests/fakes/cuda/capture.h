/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream capture: work that is put on a stream becomes a graph instead. What a thread must not call
 * meanwhile:
 *
 *      unsafe calls       what may wait inside the driver, or is seen by no capture (allocations,
 *                         queries). Prohibited by the captures of this thread and, in the thread's
 *                         mode GLOBAL, by those of others that began in mode GLOBAL; by none in
 *                         mode RELAXED
 *      the legacy stream  while a blocking stream of the context is captured, in any mode
 *      the stream itself  queries of it, and waits for it or its context, in any mode
 *
 * A prohibited call returns an error, and the captures that prohibit it are invalid.
 *
 * A capture begins with one stream. Another joins when it waits for an event that was recorded in
 * the capture, and must have been waited for, in the same way, when the capture ends.
 */
#ifndef FAKECUDA_CAPTURE_H
#define FAKECUDA_CAPTURE_H

#include "context.h"

#include <functional>
#include <map>
#include <memory>

namespace fake
{

/*
 * What comes before a point of a capture: for each stream of it, how much of the work that was
 * captured there.
 */
struct captured_point {
    unsigned long long capture; /* which */
    std::map<CUstream, size_t> before;
};

CUresult capture_unsafe();
/* Before something is put on a stream. */
CUresult capture_use(CUstream stream);
/* Before a stream, or a whole context, is waited for or queried: unsafe, besides. */
CUresult capture_wait(CUstream stream);
CUresult capture_wait_context(CUcontext context);
/* A stream waits for an event that was not captured. */
CUresult capture_follow(CUstream stream);
/* A stream waits for one that was: it joins that capture, or is in it. */
CUresult capture_join(CUstream stream, const captured_point &point);
/* Where a stream's capture is; NULL: it is not captured. */
std::shared_ptr<captured_point> capture_here(CUstream stream);

bool is_captured(CUstream stream);
/* Add it to the graph of a stream that is captured; false: it is not. */
bool capture_take(CUstream stream, const std::function<void()> &run);
/* The stream is destroyed. */
void capture_drop(CUstream stream);

} /* namespace fake */

/* The first words of functions: what the capture must allow. */
#define NEED_CAPTURE(allowed)                       \
    do {                                            \
        CUresult status_ = fake::capture_##allowed; \
        NEED(CUDA_SUCCESS == status_, status_);     \
    } while (0)

#endif
