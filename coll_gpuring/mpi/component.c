/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component: what Open MPI finds when it opens mca_coll_gpuring.so; and the modules that it makes
 * of communicators.
 *
 * Queues, with teams and links, are made when a call first needs them (comm.c,
 * engine/comm_queues.c). A communicator that never calls a collective costs one small allocation.
 */
#include "mpi/ompi.h"

#include "comm/devices.h"
#include "comm/failure.h"
#include "comm/net_links.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "comm/watchdog.h"
#include "engine/op_queue.h"
#include "exec/default_streams.h"
#include "exec/setup.h"
#include "mpi/abi.h"
#include "mpi/comm.h"
#include "mpi/fallback.h"
#include "mpi/module.h"
#include "mpi/params.h"
#include "mpi/call_cache.h"
#include "mpi/request.h"
#include "mpi/runtime.h"
#include "mpi/staging/pinned_pool.h"
#include "mpi/staging/stage.h"

#include "base/memory.h"
#include "link/pool.h"
#include "link/public.h"

#include <stdlib.h>

GR_COMPONENT_EXPORT extern gr_coll_component_t mca_coll_gpuring_component;

/* ---- modules ---- */

/*
 * One in reserve: a communicator whose other ranks use gpuring must have a module here, too, or
 * they wait for this rank. With the component's lock.
 */
static mca_coll_gpuring_module_t *reserve;

static mca_coll_gpuring_module_t *module_new(void)
{
    mca_coll_gpuring_module_t *module = OBJ_NEW(mca_coll_gpuring_module_t);

    pthread_mutex_lock(&gr_process.lock);
    if (NULL == module) {
        module = reserve;
        reserve = NULL;
    } else if (NULL == reserve) {
        reserve = OBJ_NEW(mca_coll_gpuring_module_t);
    }
    pthread_mutex_unlock(&gr_process.lock);
    return module;
}

/* Open MPI asks: a module for the communicator, and its priority. NULL: none. */
static mca_coll_base_module_t *comm_query(struct ompi_communicator_t *comm, int *priority)
{
    const struct gr_settings *c = &gr_settings;
    mca_coll_gpuring_module_t *module;
    bool gpu = gr_gpu_possible(), late = gr_gpu_may_come();
    /* coll/self does what one rank alone does in host memory */
    bool host = 0 != c->params.value[GR_PARAM_HOST] && ompi_comm_size(comm) > 1 &&
                !OMPI_COMM_IS_INTER(comm);

    mca_coll_gpuring_report_comm(comm, 0 != c->priority && (gpu || late || host));
    if (0 == c->priority || (!gpu && !late && !host)) {
        return NULL;
    }
    module = module_new();
    if (NULL == module) {
        return NULL;
    }
    module->super.coll_module_enable = mca_coll_gpuring_module_enable;
    module->super.coll_module_disable = mca_coll_gpuring_module_disable;
    module->takes = gpu || host;
    /* with a report, to count them */
    mca_coll_gpuring_calls_install(module, host, gpu || late || gr_stats_timed());
    *priority = c->priority;
    return &module->super;
}

static void module_construct(mca_coll_gpuring_module_t *module)
{
    /* all but super, which Open MPI has made */
    memset((char *) module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
    gr_comm_init(&module->comm, &gr_process);
    module->refused = -1;
}

/* Never communicates: peers may be late, or gone. */
static void module_destruct(mca_coll_gpuring_module_t *module)
{
    mca_coll_gpuring_forget_saved(module);
    mca_coll_gpuring_blocking_op_end(module);
    mca_coll_gpuring_call_cache_free(module->cache[GR_ORDER_BLOCKING]);
    mca_coll_gpuring_call_cache_free(module->cache[GR_ORDER_NONBLOCKING]);
    gr_comm_free(&module->comm);
    mca_coll_gpuring_stage_delete(module->stage);
}

OBJ_CLASS_INSTANCE(mca_coll_gpuring_module_t, mca_coll_base_module_t, module_construct,
                   module_destruct);

/* ---- open and close ---- */

/*
 * Whether this process has the Open MPI that the component was built for. Where it has another one,
 * structures have other layouts, and no function of the component may do more than look at this.
 */
static bool fits;

/*
 * The first function of the component that Open MPI calls. A component that is refused, here or
 * when it is opened, is asked for no modules; and its process publishes no record, which says to
 * others that gpuring is off.
 */
static int gpuring_register(void)
{
    enum gr_abi abi = mca_coll_gpuring_abi();
    int rc;

    fits = GR_ABI_FITS == abi;
    if (GR_ABI_OTHER == abi) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!fits) {
        /* what this uses is alike in a series: `--mca coll gpuring` runs without gpuring */
        return mca_coll_gpuring_selection_complete();
    }
    rc = mca_coll_gpuring_params_register(
        (mca_base_component_t *) &mca_coll_gpuring_component.collm_version);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_stats_register();
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_selection_complete();
    }
    return rc;
}

static int gpuring_open(void)
{
    if (!fits) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_coll_gpuring_params_check();
    mca_coll_gpuring_report_open();
    reserve = OBJ_NEW(mca_coll_gpuring_module_t); /* the first module brings another try */
    gr_watch_signal(&gr_process, gr_settings.signal);
    (void) gr_reserve_make();
    return mca_coll_gpuring_modex_publish();
}

/* Open MPI also calls this when opening has failed. */
static int gpuring_close(void)
{
    if (!fits) {
        return OMPI_SUCCESS;
    }
    if (NULL != reserve) {
        OBJ_RELEASE(reserve);
    }
    reserve = NULL;
    mca_coll_gpuring_progress_close();
    mca_coll_gpuring_fallback_close();
    mca_coll_gpuring_requests_close();
    mca_coll_gpuring_blocking_ops_close();
    gr_failures_close(&gr_process);
    mca_coll_gpuring_report_print();
    mca_coll_gpuring_params_close();
    gr_process_net_close(); /* which may still be in the devices' memory */
    mca_coll_gpuring_pinned_close();
    gr_copy_streams_close();
    gr_process_gpus_close();
    gr_order_close();
    gr_pool_close(gr_process.pool);
    gr_process.pool = NULL;
    gr_watch_signal_end(gr_settings.signal);
    gr_public_close(gr_process.page);
    gr_process.page = NULL;
    (void) gr_reserve_release();
    mca_coll_gpuring_modex_close();
    return OMPI_SUCCESS;
}

static int gpuring_init_query(bool progress_threads, bool mpi_threads)
{
    /* any thread level is fine: what communicators share is locked */
    (void) progress_threads;
    (void) mpi_threads;
    return OMPI_SUCCESS;
}

gr_coll_component_t mca_coll_gpuring_component = {
    .collm_version =
        {
            GR_COLL_VERSION,
            .mca_component_name = "gpuring",
            MCA_BASE_MAKE_VERSION(component, GR_MAJOR, GR_MINOR, GR_RELEASE),
            .mca_open_component = gpuring_open,
            .mca_close_component = gpuring_close,
            .mca_register_component_params = gpuring_register,
        },
    .collm_data =
        {
            /* no checkpoint support */
            MCA_BASE_METADATA_PARAM_NONE,
        },
    .collm_init_query = gpuring_init_query,
    .collm_comm_query = comm_query,
};

/*
 * An Open MPI that was configured with --disable-dlopen, as the wheels of PyPI are, opens no
 * component from a file. It has a list of the components that are built in, which it reads in
 * MPI_Init. A process that loads this component before that (LD_PRELOAD, or the .pth file of
 * gpuring's wheel) finds it on that list.
 */

/* The built-in components of the framework that opens files. Without it, no file is opened. */
OPAL_DECLSPEC extern gr_built_in_t mca_dl_base_static_components[];

__attribute__((constructor)) static void attach(void)
{
    static const mca_base_component_t *own = &mca_coll_gpuring_component.collm_version;
    gr_built_in_t *built_in, *list;
    bool known = false;
    size_t n;

    /* the structure of the framework is that of its series */
    if (NULL != mca_dl_base_static_components[0] || GR_ABI_OTHER == mca_coll_gpuring_abi()) {
        return;
    }
    built_in = ompi_coll_base_framework.framework_static_components;
    if (NULL == built_in) {
        return;
    }
    for (n = 0; NULL != built_in[n]; n++) {
        known = known || 0 == strcmp(GR_BUILT_IN_COMPONENT(built_in[n])->mca_component_name,
                                     own->mca_component_name);
    }
    list = known ? NULL : malloc((n + 2) * sizeof(*list)); /* lives as long as the process */
    if (NULL == list) {
        return;
    }
    memcpy(list, built_in, n * sizeof(*list));
    list[n] = GR_BUILT_IN_ENTRY(own);
    list[n + 1] = NULL;
    ompi_coll_base_framework.framework_static_components = list;
}
