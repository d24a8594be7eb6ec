/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classes of Open MPI by whose sizes layouts of its structures differ: those that are part of
 * gpuring's structures, or whose fields gpuring uses. ompi_proc_t is not among them: its length
 * depends on the networks that Open MPI was configured for, and gpuring uses its first part only,
 * opal_proc_t.
 */
#ifndef GR_MPI_ABI_CLASSES_H
#define GR_MPI_ABI_CLASSES_H

#include "mpi/ompi.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

/* DO(TYPE) for each: libmpi or libopen-pal exports TYPE_class */
#define GR_ABI_CLASSES(DO)               \
    DO(mca_coll_base_module_t)           \
    DO(ompi_communicator_t)              \
    DO(ompi_group_t)                     \
    DO(opal_proc_t)                      \
    DO(ompi_request_t)                   \
    DO(ompi_coll_base_nbc_request_t)     \
    DO(ompi_datatype_t)                  \
    DO(ompi_op_t)                        \
    DO(opal_datatype_t)                  \
    DO(opal_convertor_t)                 \
    DO(opal_mutex_t)                     \
    DO(mca_base_component_list_item_t)   \
    DO(mca_topo_base_module_t)           \
    DO(mca_topo_base_comm_cart_2_2_0_t)  \
    DO(mca_topo_base_comm_graph_2_2_0_t) \
    DO(mca_topo_base_comm_dist_graph_2_2_0_t)

#endif
