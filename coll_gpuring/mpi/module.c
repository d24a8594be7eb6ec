/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that a module takes the place of: saved, put back, and called. What they are called
 * with is what entry.c took apart.
 */
#include "mpi/module.h"

#include "comm/net_links.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "mpi/call.h"
#include "mpi/runtime.h"

/* What a group of parameters (call.h) was given, each with a comma behind it. */
#define ARGUMENTS_NONE
#define ARGUMENTS_SEND c->sbuf, (gr_count_t) c->scount, c->stype,
#define ARGUMENTS_SEND_V c->sbuf, c->scounts, c->sdispls, c->stype,
#define ARGUMENTS_SEND_W c->sbuf, c->scounts, c->sdispls, c->stypes,
#define ARGUMENTS_SEND_FAR c->sbuf, c->scounts, c->soffsets, c->stypes,
#define ARGUMENTS_RECEIVE c->rbuf, (gr_count_t) c->rcount, c->rtype,
#define ARGUMENTS_RECEIVE_V c->rbuf, c->rcounts, c->displs, c->rtype,
#define ARGUMENTS_RECEIVE_W c->rbuf, c->rcounts, c->displs, c->rtypes,
#define ARGUMENTS_RECEIVE_FAR c->rbuf, c->rcounts, c->roffsets, c->rtypes,
#define ARGUMENTS_REDUCED c->sbuf, c->rbuf, (gr_count_t) c->rcount, c->rtype, c->reduction,
#define ARGUMENTS_REDUCED_V c->sbuf, c->rbuf, c->rcounts, c->rtype, c->reduction,
#define ARGUMENTS_ROOT root,

/*
 * Call the saved function of the form with a collective's own arguments. The third group is d, as c
 * is the call, which the groups name.
 */
#define SAVED(unused, name, ID, a, b, d)                                                     \
    case GR_CALL_##ID:                                                                       \
        switch (form->kind) {                                                                \
        case GR_BLOCKING:                                                                    \
            return m->saved_##name(ARGUMENTS_##a ARGUMENTS_##b ARGUMENTS_##d c->comm,        \
                                   m->saved_##name##_module);                                \
        case GR_NONBLOCKING:                                                                 \
            return m->saved_i##name(ARGUMENTS_##a ARGUMENTS_##b ARGUMENTS_##d c->comm,       \
                                    form->request, m->saved_i##name##_module);               \
        default:                                                                             \
            return m->saved_##name##_init(ARGUMENTS_##a ARGUMENTS_##b ARGUMENTS_##d c->comm, \
                                          form->info, form->request,                         \
                                          m->saved_##name##_init_module);                    \
        }

int mca_coll_gpuring_saved_call(mca_coll_gpuring_module_t *m, const struct gr_call *c,
                                const struct gr_form *form)
{
    const int root = c->root;

    switch (c->id) {
        GR_FOR_EACH_SUPPORTED(SAVED, )
        GR_FOR_EACH_UNBUFFERED(SAVED, )
        GR_FOR_EACH_STAGED(SAVED, )
    default:
        return m->saved_reduce_local(ARGUMENTS_REDUCED m->saved_reduce_local_module);
    }
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

void mca_coll_gpuring_forget_saved(mca_coll_gpuring_module_t *module)
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

int mca_coll_gpuring_module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
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
    /*
     * every supported call may have to be left to the saved collective, on some rank, so each must
     * have one, but between groups
     */
#define LOOK_FOR(name) missing = NULL == missing && NULL == module->saved_##name ? #name : missing;
    if (!OMPI_COMM_IS_INTER(comm)) {
        GR_FOR_EACH_SUPPORTED(GR_FORMS_OF, LOOK_FOR)
    }
#undef LOOK_FOR
    if (NULL == missing) {
        install(module, comm);
        if (&ompi_mpi_comm_world.comm == comm) {
            gr_process.can_message = true;
            mca_coll_gpuring_report_world(base);
        }
        return OMPI_SUCCESS;
    }
    if (&ompi_mpi_comm_world.comm == comm) {
        mca_coll_gpuring_report_lacks(missing);
    }
    if (gr_settings.verbose >= 1 && 0 == ompi_comm_rank(comm)) {
        gr_print("gpuring: off on %s: no other component offers %s", gr_ompi_name(comm), missing);
    }
    mca_coll_gpuring_forget_saved(module);
    return OMPI_ERR_NOT_FOUND;
}

/* Called once, or (up to Open MPI 5.0) once per collective that the module still owns. */
int mca_coll_gpuring_module_disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    mca_coll_gpuring_module_t *module = (mca_coll_gpuring_module_t *) base;

    if (&ompi_mpi_comm_world.comm == comm) {
        mca_coll_gpuring_report_world_ends();
        gr_process.can_message = false;
        /* no op may push to links that are closed */
        mca_coll_gpuring_progress_close();
        gr_net_world_ends();
    }
    if (module->saves) {
        restore(module, comm);
        mca_coll_gpuring_forget_saved(module);
    }
    return OMPI_SUCCESS;
}
