/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: what Open MPI finds when it opens mca_coll_gpuring.so. */
#include "coll_gpuring_failure.h"
#include "coll_gpuring_lane.h"

#include "ompi/mca/topo/base/base.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/util/show_help.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int gpuring_register(void);
static int gpuring_open(void);
static int gpuring_close(void);
static int gpuring_init_query(bool progress_threads, bool mpi_threads);

mca_coll_gpuring_component_t mca_coll_gpuring_component = {
    .super = {
        .collm_version = {
            GR_COLL_VERSION,
            .mca_component_name = "gpuring",
            MCA_BASE_MAKE_VERSION(component, GR_MAJOR, GR_MINOR, GR_RELEASE),
            .mca_open_component = gpuring_open,
            .mca_close_component = gpuring_close,
            .mca_register_component_params = gpuring_register,
        },
        .collm_data = {
            /* no checkpoint support */
            MCA_BASE_METADATA_PARAM_NONE,
        },
        .collm_init_query = gpuring_init_query,
        .collm_comm_query = mca_coll_gpuring_comm_query,
    },
};

static int gpuring_register(void)
{
    int rc = mca_coll_gpuring_params_register();

    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_stats_register();
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_bring_along();
    }
    return rc;
}

/* Let show_help find our help file beside the component, where it is when nothing was installed. */
static void add_help_dir(void)
{
    Dl_info info;
    char *dir, *slash;

    if (0 == dladdr((void *) &mca_coll_gpuring_component, &info) || NULL == info.dli_fname) {
        return;
    }
    dir = strdup(info.dli_fname);
    if (NULL == dir) {
        return;
    }
    slash = strrchr(dir, '/');
    if (NULL != slash) {
        *slash = '\0';
        (void) opal_show_help_add_dir(dir);
    }
    free(dir);
}

/* Rendered here and printed as it is: mpirun's own aggregation shows only one message per topic. */
void mca_coll_gpuring_tell(const char *topic, ...)
{
    va_list args;
    char *text;

    va_start(args, topic);
    text = opal_show_help_vstring("help-coll-gpuring.txt", topic, false, args);
    va_end(args);
    if (NULL != text) {
        text[strcspn(text, "\n")] = '\0';
        opal_output(0, "%s", text);
        free(text);
    }
}

static int gpuring_open(void)
{
    OBJ_CONSTRUCT(&mca_coll_gpuring_component.lock, opal_mutex_t);
    add_help_dir();
    mca_coll_gpuring_params_check();
    mca_coll_gpuring_modules_open();
    return mca_coll_gpuring_peers_publish();
}

static int gpuring_close(void)
{
    mca_coll_gpuring_modules_close();
    mca_coll_gpuring_lanes_close();
    mca_coll_gpuring_handed_close();
    mca_coll_gpuring_requests_close();
    mca_coll_gpuring_failures_close();
    mca_coll_gpuring_stats_report();
    free(mca_coll_gpuring_component.report);
    mca_coll_gpuring_component.report = NULL;
    mca_coll_gpuring_net_close(); /* which may still be in the devices' memory */
    mca_coll_gpuring_gpus_close();
    mca_coll_gpuring_order_close();
    gr_pool_close(mca_coll_gpuring_component.pool);
    mca_coll_gpuring_component.pool = NULL;
    mca_coll_gpuring_peers_close();
    OBJ_DESTRUCT(&mca_coll_gpuring_component.lock);
    return OMPI_SUCCESS;
}

/*
 * The ABI guard. Structures have changed between releases that claim the same interface version. So the sizes of those
 * that are part of ours, or whose fields are used here, are compared with what libmpi itself says. A structure that has
 * changed and kept its size is not found.
 */
#define CLASS(type) {#type, sizeof(type), &type##_class}
static const struct {
    const char *name;
    size_t built;
    const opal_class_t *loaded;
} classes[] = {
    CLASS(mca_coll_base_module_t),
    CLASS(ompi_communicator_t),
    CLASS(ompi_group_t),
    CLASS(ompi_proc_t),
    CLASS(ompi_request_t),
    CLASS(ompi_coll_base_nbc_request_t),
    CLASS(ompi_datatype_t),
    CLASS(ompi_op_t),
    CLASS(opal_datatype_t),
    CLASS(opal_convertor_t),
    CLASS(opal_mutex_t),
    CLASS(mca_base_component_list_item_t),
    CLASS(mca_topo_base_module_t),
    CLASS(mca_topo_base_comm_cart_2_2_0_t),
    CLASS(mca_topo_base_comm_graph_2_2_0_t),
    CLASS(mca_topo_base_comm_dist_graph_2_2_0_t),
};

/* libmpi's version as text; whether it is of the series that this was built for, or does not say. */
static bool is_our_series(char version[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length, built[2], loaded[2];

    if (2 != sscanf(GR_BUILT_FOR, "%d.%d", &built[0], &built[1]) ||
        MPI_SUCCESS != MPI_Get_library_version(version, &length) ||
        2 != sscanf(version, "Open MPI v%d.%d", &loaded[0], &loaded[1])) {
        return true;
    }
    version[strcspn(version, ",")] = '\0';
    return built[0] == loaded[0] && built[1] == loaded[1];
}

bool mca_coll_gpuring_abi_differs(char *why, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    size_t k;

    if (!is_our_series(version)) {
        snprintf(why, size, "%s", version);
        return true;
    }
    for (k = 0; k < sizeof(classes) / sizeof(classes[0]); k++) {
        if (classes[k].built != classes[k].loaded->cls_sizeof) {
            snprintf(why, size, "%s: %zu bytes built, %zu loaded", classes[k].name, classes[k].built,
                     classes[k].loaded->cls_sizeof);
            return true;
        }
    }
    return false;
}

static int gpuring_init_query(bool progress_threads, bool mpi_threads)
{
    char why[128];

    /* any thread level is fine: what communicators share is locked */
    (void) progress_threads;
    (void) mpi_threads;
    if (!mca_coll_gpuring_abi_differs(why, sizeof(why))) {
        return OMPI_SUCCESS;
    }
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        opal_output(0, "gpuring: built for Open MPI %s, loaded by another (%s); gpuring is off. Rebuild it with this Open "
                    "MPI: configure --with-ompi=DIR", GR_BUILT_FOR, why);
    }
    return OMPI_ERR_NOT_SUPPORTED;
}

struct gr_peer_id mca_coll_gpuring_self(void)
{
    const ompi_process_name_t *me = &ompi_proc_local()->super.proc_name;

    return (struct gr_peer_id) {.job = me->jobid, .vpid = me->vpid};
}

struct gr_pool *mca_coll_gpuring_pool(void)
{
    mca_coll_gpuring_component_t *c = &mca_coll_gpuring_component;

    OPAL_THREAD_LOCK(&c->lock);
    if (NULL == c->pool) {
        c->pool = gr_pool_open(GR_SHM_DIR, mca_coll_gpuring_self(), (size_t) c->pool_mib << 20);
    }
    OPAL_THREAD_UNLOCK(&c->lock);
    return c->pool;
}
