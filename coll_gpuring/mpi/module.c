/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module of one communicator: which collectives gpuring takes the place of, and whom it saved.
 *
 * Queues, with teams and links, are made when a call first needs them (comm.c,
 * engine/comm_queues.c). A communicator that never calls a collective costs one small allocation.
 */
#include "mpi/module.h"

#include "engine/log.h"
#include "engine/params.h"
#include "mpi/call.h"
#include "engine/devices.h"
#include "engine/failure_messages.h"
#include "engine/net_links.h"
#include "engine/op_queue.h"
#include "engine/process.h"
#include "engine/progress_thread.h"
#include "mpi/blocking_op.h"
#include "mpi/entry.h"
#include "mpi/plan.h"
#include "mpi/runtime.h"
#include "mpi/staging/stage.h"

#include <stdlib.h>
#include <string.h>

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm);
static int module_disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm);

/*
 * One in reserve: a communicator whose other ranks use gpuring must have a module here, too, or
 * they wait for this rank. With the component's lock.
 */
static mca_coll_gpuring_module_t *reserve;

void mca_coll_gpuring_modules_open(void)
{
    reserve = OBJ_NEW(mca_coll_gpuring_module_t); /* the first module brings another try */
}

void mca_coll_gpuring_modules_close(void)
{
    if (NULL != reserve) {
        OBJ_RELEASE(reserve);
    }
    reserve = NULL;
}

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

mca_coll_base_module_t *mca_coll_gpuring_comm_query(struct ompi_communicator_t *comm, int *priority)
{
    const struct gr_settings *c = &gr_settings;
    mca_coll_gpuring_module_t *module;
    bool gpu = mca_coll_gpuring_gpu_possible(), late = mca_coll_gpuring_gpu_may_come();
    /* coll/self does what one rank alone does in host memory */
    bool host = 0 != c->params.value[GR_PARAM_HOST] && ompi_comm_size(comm) > 1 &&
                !OMPI_COMM_IS_INTER(comm);

    if (0 == c->priority || (!gpu && !late && !host)) {
        return NULL;
    }
    module = module_new();
    if (NULL == module) {
        return NULL;
    }
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
    module->takes = gpu || host;
    mca_coll_gpuring_calls_install(module, host, gpu || late);
    *priority = c->priority;
    return &module->super;
}

/* Put the module's functions into the communicator, in the place of the saved ones. */
static void install(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
    (void) comm; /* unused where Open MPI installs the functions itself */
#define INSTALL(name)                                                      \
    if (NULL != module->saved_##name) {                                    \
        GR_INSTALL(comm, name, module->super.coll_##name, &module->super); \
    }
    GR_FOR_EACH_FUNCTION(INSTALL)
#undef INSTALL
}

/* Put the saved functions back. */
static void restore(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
#define RESTORE(name)                                                                \
    if (&module->super == comm->c_coll->coll_##name##_module) {                      \
        GR_INSTALL(comm, name, module->saved_##name, module->saved_##name##_module); \
    }
    GR_FOR_EACH_FUNCTION(RESTORE)
#undef RESTORE
}

/* Give back whatever was saved; harmless when repeated or after a partial enable. */
static void forget_saved(mca_coll_gpuring_module_t *module)
{
    if (!module->saves) {
        return;
    }
    module->saves = false;
#define FORGET(name)                                \
    if (NULL != module->saved_##name##_module) {    \
        OBJ_RELEASE(module->saved_##name##_module); \
    }                                               \
    module->saved_##name##_module = NULL;           \
    module->saved_##name = NULL;
    GR_FOR_EACH_FUNCTION(FORGET)
#undef FORGET
}

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    mca_coll_gpuring_module_t *module = (mca_coll_gpuring_module_t *) base;
    mca_coll_base_comm_coll_t *coll = comm->c_coll;
    const char *missing = NULL;

    module->saves = true;
    /* saves the functions that gpuring replaces; one that no component has is not offered */
#define SAVE(name)                                                         \
    if (NULL == coll->coll_##name || NULL == coll->coll_##name##_module) { \
        module->super.coll_##name = NULL;                                  \
    } else if (NULL != module->super.coll_##name) {                        \
        module->saved_##name = coll->coll_##name;                          \
        module->saved_##name##_module = coll->coll_##name##_module;        \
        OBJ_RETAIN(module->saved_##name##_module);                         \
    }
    GR_FOR_EACH_FUNCTION(SAVE)
#undef SAVE
    if (OMPI_COMM_IS_INTER(comm)) {
        install(module, comm);
        return OMPI_SUCCESS;
    }
    /*
     * every supported call may have to be left to the saved collective, on some rank, so each must
     * have one
     */
#define LOOK_FOR(name) missing = NULL == missing && NULL == module->saved_##name ? #name : missing;
    GR_FOR_EACH_SUPPORTED(LOOK_FOR)
#undef LOOK_FOR
    if (NULL == missing) {
        install(module, comm);
        gr_process.can_message = gr_process.can_message || &ompi_mpi_comm_world.comm == comm;
        return OMPI_SUCCESS;
    }
    if (gr_settings.verbose >= 1 && 0 == ompi_comm_rank(comm)) {
        mca_coll_gpuring_print("gpuring: off on %s: no other component offers %s",
                               gr_ompi_name(comm), missing);
    }
    forget_saved(module);
    return OMPI_ERR_NOT_FOUND;
}

/* Called once, or (up to Open MPI 5.0) once per collective that the module still owns. */
static int module_disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    mca_coll_gpuring_module_t *module = (mca_coll_gpuring_module_t *) base;

    if (&ompi_mpi_comm_world.comm == comm) {
        gr_process.can_message = false;
        /* no op may push to links that are closed */
        mca_coll_gpuring_thread_close(&gr_process);
        mca_coll_gpuring_queues_close(&gr_process);
        mca_coll_gpuring_net_world_ends();
    }
    if (module->saves) {
        restore(module, comm);
        forget_saved(module);
    }
    return OMPI_SUCCESS;
}

static void module_construct(mca_coll_gpuring_module_t *module)
{
#define CLEAR(name)              \
    module->saved_##name = NULL; \
    module->saved_##name##_module = NULL;
    GR_FOR_EACH_FUNCTION(CLEAR)
#undef CLEAR
    module->saves = false;
    mca_coll_gpuring_comm_init(&module->comm, &gr_process);
    module->all_gpu = false;
    module->op = NULL;
    memset(module->plans, 0, sizeof(module->plans));
    module->hosts[0] = module->hosts[1] = NULL;
    atomic_init(&module->decided, false);
    module->refused = -1;
    atomic_init(&module->stage, NULL);
}

/* Never communicates: peers may be late, or gone. */
static void module_destruct(mca_coll_gpuring_module_t *module)
{
    forget_saved(module);
    mca_coll_gpuring_blocking_op_end(module);
    mca_coll_gpuring_plans_free(module->plans[GR_ORDER_BLOCKING]);
    mca_coll_gpuring_plans_free(module->plans[GR_ORDER_NONBLOCKING]);
    mca_coll_gpuring_comm_free(&module->comm);
    mca_coll_gpuring_stage_delete(module->stage);
}

OBJ_CLASS_INSTANCE(mca_coll_gpuring_module_t, mca_coll_base_module_t, module_construct,
                   module_destruct);
