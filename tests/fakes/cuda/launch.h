/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolved kernels, and their launch. */
#ifndef FAKECUDA_LAUNCH_H
#define FAKECUDA_LAUNCH_H

#include "block.h"
#include "context.h"
#include "ptx.h"

#include <functional>

/* A kernel; CUkernel and CUfunction point here. */
struct CUfunc_st {
    std::string name;
    emu::kernel kernel;
    const fake::ptx::function *ptx; /* it is interpreted; NULL: g++ compiled it */
    std::shared_ptr<fake::ptx::module> module;
    CUlibrary library;
    /* by ordinal; until then the first launch loads it */
    std::atomic<bool> loaded[fake::MAX_DEVICES];
};

namespace fake
{

struct launch_job : work {
    CUcontext context;
};

bool function_known(CUfunction function);
/*
 * Bring it to the context's device, if it is not there: under FAKECUDA_SYNC_ALLOC that waits for
 * all work.
 */
void function_load(CUfunction function, CUcontext context);

/* Blocks of so many threads that an SM holds. */
int resident_per_sm(unsigned threads);
/*
 * Wait for room on the device, over all processes of the session. Returns what resident_leave()
 * takes.
 */
int resident_enter(int machine, unsigned threads);
void resident_leave(int machine, unsigned threads, int place);

/* Run it on another thread, one that ran before or a new one. */
void crew_run(std::function<void()> what);

} /* namespace fake */

#endif
