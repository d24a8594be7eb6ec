/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: a point in a stream, and whether it was reached. Recording an event again makes a new
 * point; waits that began before keep the old point.
 */
#ifndef FAKECUDA_EVENT_H
#define FAKECUDA_EVENT_H

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

bool event_known(CUevent event);
void event_add(CUevent event);

} /* namespace fake */

#endif
