/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of engine/lock.h. */
#include "engine/lock.h"

#include <sched.h>

bool gr_progress_threads;

void mca_coll_gpuring_lock_slowly(gr_lock_t *lock)
{
    while (!gr_try(lock)) {
        sched_yield();
    }
}
