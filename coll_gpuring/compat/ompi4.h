/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 4.1: what differs from other series. Only mpi/ompi.h includes this, after ompi_config.h.
 */
#ifndef GR_COMPAT_OMPI4_H
#define GR_COMPAT_OMPI4_H

#include "compat/int_counts.h"

#include "opal/mca/pmix/pmix.h"
#include "opal/util/info.h"

#include <stdlib.h>
#include <string.h>

#define GR_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define GR_COMPONENT_EXPORT OMPI_MODULE_DECLSPEC
typedef mca_coll_base_component_2_0_0_t gr_coll_component_t;

/* the type of the extension "shortfloat", half precision */
#define GR_HAVE_SHORT_FLOAT 0

#define GR_COMM_ID(comm) ((unsigned) (comm)->c_contextid)

/* the tags of links to other nodes on MPI_COMM_WORLD */
#define GR_TAG_NET_HEAD gr_runtime_tag(GR_TAGS_NET)
#define GR_TAG_NET_DATA (GR_TAG_NET_HEAD - 1)

/* publish bytes with MPI_Init's exchange of connection data */
#define GR_MODEX_SCOPE OPAL_PMIX_GLOBAL

/* Whether a launcher started this process, which may have bound it to processors. */
static inline bool gr_ompi_may_be_bound(void)
{
    const char *policy = getenv("OMPI_MCA_hwloc_base_binding_policy");

    return NULL != getenv("OMPI_MCA_orte_bound_at_launch") &&
           (NULL == policy || 0 != strncmp(policy, "none", 4));
}

/* The value of an info key; false: there is none. */
static inline bool gr_info_get(struct opal_info_t *info, const char *key, char *value, int size)
{
    int found = 0;

    return OPAL_SUCCESS == opal_info_get(info, key, size - 1, value, &found) && found;
}

#endif
