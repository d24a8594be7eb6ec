/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `mpirun --mca coll gpuring` alone.
 *
 * Such a selection names one component, and Open MPI would end in MPI_Init because no component
 * offers the other collectives. While gpuring's parameters are being registered, the framework's
 * selection can still be changed: the components that complete it are appended to the list and
 * loaded.
 */
#include "mpi/params.h"

#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/mca/base/mca_base_framework.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/argv.h"

#include <stdlib.h>

/*
 * basic and libnbc are needed; the others make what is left to the saved collective as good as
 * without gpuring.
 */
static const char *const companions[] = {"basic", "libnbc", "self", "inter", "tuned", NULL};

/* The names of a selection; to be freed. NULL: there is none, it only excludes, or no memory. */
static char **named_components(void)
{
    const char *selection = ompi_coll_base_framework.framework_selection;

    if (NULL == selection || '^' == selection[0]) {
        return NULL;
    }
    return opal_argv_split(selection, ',');
}

static bool is_named(char **names, const char *name)
{
    int k;

    for (k = 0; NULL != names && NULL != names[k]; k++) {
        if (0 == strcmp(names[k], name)) {
            return true;
        }
    }
    return false;
}

bool mca_coll_gpuring_selection_names_it(void)
{
    char **names = named_components();
    bool named = is_named(names, "gpuring");

    opal_argv_free(names);
    return named;
}

static bool is_loaded(const char *name)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components,
                      mca_base_component_list_item_t)
    {
        if (0 == strcmp(item->cli_component->mca_component_name, name)) {
            return true;
        }
    }
    return false;
}

/*
 * The selection with the missing companions at its end; to be freed. NULL: there is none, or it
 * names basic and is left as it is, or no memory.
 */
static char *completed_selection(void)
{
    char **names = named_components();
    char *text = NULL;
    int k, missing = 0;
    bool complete = is_named(names, "basic");

    for (k = 0; !complete && NULL != names && NULL != companions[k]; k++) {
        if (!is_named(names, companions[k]) &&
            OPAL_SUCCESS == opal_argv_append_nosize(&names, companions[k])) {
            missing++;
        }
    }
    if (missing > 0) {
        text = opal_argv_join(names, ',');
    }
    opal_argv_free(names);
    return text;
}

/* Register the components behind `last`, as the running registration loop will not reach them. */
static void register_after(opal_list_item_t *last)
{
    opal_list_t *list = &ompi_coll_base_framework.framework_components;
    opal_list_item_t *item, *next;

    for (item = opal_list_get_next(last); item != opal_list_get_end(list); item = next) {
        mca_base_component_list_item_t *cli = (mca_base_component_list_item_t *) item;
        const mca_base_component_t *component = cli->cli_component;

        next = opal_list_get_next(item);
        if (NULL != component->mca_register_component_params &&
            OPAL_SUCCESS != component->mca_register_component_params()) {
            opal_list_remove_item(list, item);
            OBJ_RELEASE(item);
        }
    }
}

int mca_coll_gpuring_selection_complete(void)
{
    mca_base_framework_t *framework = &ompi_coll_base_framework;
    opal_list_item_t *last;
    char *text;
    int var, rc;

    /* without a selection, or with one that only excludes, everything is there */
    text = completed_selection();
    if (NULL == text) {
        return OMPI_SUCCESS;
    }
    var = mca_base_var_find("ompi", "coll", NULL, NULL);
    if (0 > var) {
        free(text);
        return OMPI_SUCCESS;
    }
    rc = mca_base_var_set_value(var, text, strlen(text) + 1, MCA_BASE_VAR_SOURCE_SET, NULL);
    free(text);
    /* MPI_T_init_thread and ompi_info have loaded all components; opening obeys the selection */
    if (OPAL_SUCCESS != rc || is_loaded("basic")) {
        return rc;
    }
    last = opal_list_get_last(&framework->framework_components);
    rc = mca_base_component_find(NULL, framework, false, true);
    if (OPAL_SUCCESS == rc) {
        register_after(last);
    }
    return rc;
}
