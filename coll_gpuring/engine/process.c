/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once: parameters, and the pool of its links. */
#include "engine/process.h"

#include "link/pool.h"

#include "ompi/proc/proc.h"

struct gr_process gr_process;

struct gr_peer_id mca_coll_gpuring_self(void)
{
    const ompi_process_name_t *me = &ompi_proc_local()->super.proc_name;

    return (struct gr_peer_id) {.job = me->jobid, .vpid = me->vpid};
}

struct gr_pool *mca_coll_gpuring_pool(void)
{
    OPAL_THREAD_LOCK(&gr_process.lock);
    if (NULL == gr_process.pool) {
        gr_process.pool =
            gr_pool_open(GR_SHM_DIR, mca_coll_gpuring_self(), (size_t) gr_process.pool_mib << 20);
    }
    OPAL_THREAD_UNLOCK(&gr_process.lock);
    return gr_process.pool;
}
