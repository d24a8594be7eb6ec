/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the Open MPI that loads the component is the one that it was built for. */
#ifndef GR_MPI_ABI_H
#define GR_MPI_ABI_H

#include "mpi/ompi.h"

#include "ompi/mca/topo/base/base.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

enum gr_abi {
    GR_ABI_FITS,
    GR_ABI_LAYOUT, /* libmpi is of the same series, and some structures have other sizes */
    GR_ABI_OTHER   /* libmpi is of another series, or of none that is known and has other sizes */
};

/*
 * Whether the libmpi of this process is the one that this was built for. Where it is not, rank 0
 * says why in one line, once. Before that answer nothing may read or write a structure of Open MPI.
 * May be called before MPI_Init.
 */
enum gr_abi mca_coll_gpuring_abi(void);

/*
 * The classes of Open MPI by whose sizes layouts of its structures differ: those that are part of
 * gpuring's structures, or whose fields gpuring uses. ompi_proc_t is not among them: its length
 * depends on the networks that Open MPI was configured for, and gpuring uses its first part only,
 * opal_proc_t. DO(TYPE) for each: libmpi or libopen-pal exports TYPE_class.
 */
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
