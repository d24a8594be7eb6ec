/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 6.0: what differs from other series. Only mpi/ompi.h includes this, after ompi_config.h.
 */
#ifndef GR_COMPAT_OMPI6_H
#define GR_COMPAT_OMPI6_H

#include "compat/from5.h"

#include "ompi/util/count_disp_array.h"

#define GR_COLL_VERSION MCA_COLL_BASE_VERSION_3_0_0

/*
 * Counts of the collective interface are size_t. An array of counts or displacements is an integer:
 * its address, with the lowest bit set where the entries are int. Without it they are size_t, or
 * ptrdiff_t.
 */
typedef size_t gr_count_t;
typedef ompi_count_array_t gr_counts_t; /* counts, or displacements in elements */
typedef ompi_disp_array_t gr_offsets_t; /* displacements in bytes */
_Static_assert(_Generic((gr_counts_t) 0, gr_offsets_t : 1, default : 0), "one representation");
_Static_assert(sizeof(MPI_Aint) == sizeof(ptrdiff_t), "arrays of MPI_Aint are wide");

/* An entry of an array. */
#define GR_COUNT_AT(counts, i) ompi_count_array_get(counts, (size_t) (i))
#define GR_DISP_AT(disps, i) ompi_disp_array_get(disps, (size_t) (i))
#define GR_OFFSET_AT(offsets, i) ompi_disp_array_get(offsets, (size_t) (i))

/* Set an entry of an array of gpuring's own to zero. */
#define GR_COUNT_CLEAR(counts, i) opal_count_array_set(counts, (size_t) (i), 0)

/*
 * Any of these arrays: whether there is one, its address, the size of an entry, the same array at
 * another address, and what stands for an array of gr_count_t or MPI_Aint in a call.
 */
#define GR_ARRAY_IS(array) (NULL != ompi_count_array_ptr(array))
#define GR_ARRAY_AT(array) ompi_count_array_ptr(array)
#define GR_ARRAY_ENTRY(array) opal_count_array_sizeof(array)
#define GR_ARRAY_MOVED(array, address) ((intptr_t) (address) | ((array) &1))
#define GR_ARRAY_OF(array) ((intptr_t) (array))

/*
 * An entry of a framework's list of built-in components, which is where a pointer to the component
 * lies: its component, and the entry for one.
 */
typedef const mca_base_component_t **gr_built_in_t;
#define GR_BUILT_IN_COMPONENT(entry) (*(entry))
#define GR_BUILT_IN_ENTRY(pointer) (&(pointer))

/* A module installs its functions itself, when it is enabled, and takes them back when disabled. */
#define GR_INSTALL(comm, name, function, module) \
    MCA_COLL_INSTALL_API(comm, name, function, module, "gpuring")

#endif
