/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the Open MPI that loads the component is the one that it was built for. */
#include "mpi/abi.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

#include <stdio.h>
#include <string.h>

/*
 * The ABI guard. Structures have changed between releases that claim the same interface version. So
 * the sizes of those that are part of ours, or whose fields are used here, are compared with what
 * libmpi itself says. A structure that has changed and kept its size is not found.
 */
#define CLASS(type)                        \
    {                                      \
#type, sizeof(type), &type##_class \
    }
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

/*
 * libmpi's version as text; whether it is of the series that this was built for, or does not say.
 */
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
            snprintf(why, size, "%s: %zu bytes built, %zu loaded", classes[k].name,
                     classes[k].built, classes[k].loaded->cls_sizeof);
            return true;
        }
    }
    return false;
}
