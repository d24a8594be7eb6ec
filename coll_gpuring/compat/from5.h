/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Open MPI 5.0 and 6.0 share, and 4.1 does not.
 */
#ifndef GR_COMPAT_FROM5_H
#define GR_COMPAT_FROM5_H

#include "opal/mca/pmix/pmix-internal.h"
#include "opal/util/info.h"
#include "opal/util/proc.h"
#include "opal/util/string_copy.h"

#define GR_COMPONENT_EXPORT OMPI_DECLSPEC
typedef mca_coll_base_component_t gr_coll_component_t;

/* the type of the extension "shortfloat", half precision */
#if defined(HAVE_OPAL_SHORT_FLOAT_T)
#define GR_HAVE_SHORT_FLOAT 1
OMPI_DECLSPEC extern struct ompi_predefined_datatype_t ompi_mpi_short_float;
#else
#define GR_HAVE_SHORT_FLOAT 0
#endif

#define GR_COMM_ID(comm) ((unsigned) (comm)->c_index)
#if OPAL_ENABLE_FT_MPI
#define GR_COMM_REVOKED(comm) ompi_comm_is_revoked(comm)
#define GR_OMPI_REVOKED MPI_ERR_REVOKED
#define GR_COMM_LOST_RANK(comm) ompi_comm_coll_revoked(comm)
#define GR_RANK_IS_LOST(comm, rank) (!ompi_comm_is_proc_active(comm, rank, false))
#define GR_OMPI_LOST_RANK MPI_ERR_PROC_FAILED
#endif

/*
 * The tags of links to other nodes on MPI_COMM_WORLD. Once a rank has died, Open MPI takes all
 * negative tags for those of collectives, and refuses them, but for a few that ULFM reserves. It
 * does not use the first and the last of these itself.
 */
#define GR_TAG_NET_HEAD MCA_COLL_BASE_TAG_FT_BASE
#define GR_TAG_NET_DATA MCA_COLL_BASE_TAG_FT_END

/* publish bytes with MPI_Init's exchange of connection data */
#define GR_MODEX_SCOPE PMIX_GLOBAL

/* Whether a launcher has bound this process to processors. */
static inline bool gr_ompi_may_be_bound(void)
{
    return opal_process_info.proc_is_bound;
}

/* The value of an info key; false: there is none. */
static inline bool gr_info_get(struct opal_info_t *info, const char *key, char *value, int size)
{
    opal_cstring_t *text;
    int found = 0;

    if (OPAL_SUCCESS != opal_info_get(info, key, &text, &found) || !found) {
        return false;
    }
    opal_string_copy(value, text->string, (size_t) size);
    OBJ_RELEASE(text);
    return true;
}

#endif
