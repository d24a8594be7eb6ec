/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once: the values of parameters, slow locks, the pool of its links. */
#include "comm/process.h"

#include "comm/collectives.h"
#include "comm/params.h"
#include "comm/runtime.h"

#include "link/pool.h"
#include "link/public.h"

#include <sched.h>

struct gr_settings gr_settings;
bool gr_progress_threads;

void gr_lock_slowly(gr_lock_t *lock)
{
    while (!gr_try(lock)) {
        sched_yield();
    }
}

struct gr_pool *gr_process_pool(struct gr_process *process)
{
    pthread_mutex_lock(&process->lock);
    if (NULL == process->pool) {
        process->pool = gr_pool_open(gr_runtime_self(), (size_t) gr_settings.pool_mib << 20);
    }
    pthread_mutex_unlock(&process->lock);
    return process->pool;
}

_Static_assert(GR_NCALLS <= GR_PUBLIC_NAMES, "the page names all calls");

static struct gr_public_page *open_page(void)
{
    struct gr_public_page *page = gr_public_open();
    uint32_t k;

    for (k = 0; NULL != page && k < GR_NCALLS; k++) {
        gr_public_set_name(page, k, gr_calls[k].name);
    }
    return page;
}

struct gr_public_page *gr_process_page(struct gr_process *process)
{
    pthread_mutex_lock(&process->lock);
    if (NULL == process->page) {
        process->page = open_page();
    }
    pthread_mutex_unlock(&process->lock);
    return process->page;
}
