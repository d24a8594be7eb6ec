/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once: the pool of its links. */
#include "engine/process.h"

#include "engine/params.h"
#include "engine/runtime.h"

#include "link/pool.h"

struct gr_pool *mca_coll_gpuring_pool(struct gr_process *process)
{
    pthread_mutex_lock(&process->lock);
    if (NULL == process->pool) {
        process->pool = gr_pool_open(gr_runtime_self(), (size_t) gr_settings.pool_mib << 20);
    }
    pthread_mutex_unlock(&process->lock);
    return process->pool;
}
