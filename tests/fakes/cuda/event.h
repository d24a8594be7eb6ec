/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: a point in a stream, and whether it was reached. Recording an event again makes a new
 * point; waits that began before keep the old point.
 */
#ifndef FAKECUDA_EVENT_H
#define FAKECUDA_EVENT_H

#include "capture.h"
#include "stream.h"

namespace fake
{

/* An event of several processes: in a page that all of them map. */
struct shared_event {
    std::atomic<uint64_t> recorded, reached; /* how often */
};

} /* namespace fake */

struct CUevent_st {
    std::mutex mutex;
    CUcontext context;
    unsigned flags;
    bool recorded;
    std::shared_ptr<fake::captured_point> captured; /* it was last recorded in a capture */
    fake::point at;
    std::shared_ptr<double> time; /* seconds; written before the point is reached */
    /* CU_EVENT_INTERPROCESS; the rest of the points is not used then. Stays mapped. */
    fake::shared_event *shared;
    int fd;
};

namespace fake
{

bool event_known(CUevent event);
void event_add(CUevent event);

bool shared_event_make(CUevent event);
void shared_event_record(CUevent event, CUstream stream);
bool shared_event_reached(CUevent event);
/* Wait for what was recorded when this was called; the second: on a stream. */
void shared_event_wait(CUevent event);
void shared_event_follow(CUevent event, CUstream stream);

} /* namespace fake */

#endif
