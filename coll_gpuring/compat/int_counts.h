/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI up to 5.0. Counts of the collective interface are int. Arrays of counts and displacements
 * are pointers; displacements in bytes are MPI_Aint.
 */
#ifndef GR_COMPAT_INT_COUNTS_H
#define GR_COMPAT_INT_COUNTS_H

typedef int gr_count_t;               /* one count */
typedef const int *gr_counts_t;       /* counts, or displacements in elements */
typedef const MPI_Aint *gr_offsets_t; /* displacements in bytes */

/* An entry of an array. */
#define GR_COUNT_AT(counts, i) ((size_t) (counts)[i])
#define GR_DISP_AT(disps, i) ((ptrdiff_t) (disps)[i])
#define GR_OFFSET_AT(offsets, i) ((ptrdiff_t) (offsets)[i])

/* Set an entry of an array of gpuring's own to zero. */
#define GR_COUNT_CLEAR(counts, i) (((gr_count_t *) (counts))[i] = 0)

/*
 * Any of these arrays: whether there is one, its address, the size of an entry, the same array at
 * another address, and what stands for an array of gr_count_t or MPI_Aint in a call.
 */
#define GR_ARRAY_IS(array) (NULL != (array))
#define GR_ARRAY_AT(array) ((const void *) (array))
#define GR_ARRAY_ENTRY(array) sizeof((array)[0])
#define GR_ARRAY_MOVED(array, address) (address)
#define GR_ARRAY_OF(array) (array)

/* An entry of a framework's list of built-in components: its component, and the entry for one. */
typedef const mca_base_component_t *gr_built_in_t;
#define GR_BUILT_IN_COMPONENT(entry) (entry)
#define GR_BUILT_IN_ENTRY(pointer) (pointer)

/* Open MPI copies a module's functions into the communicator when it has enabled the module. */
#define GR_INSTALL(comm, name, function, module) ((void) 0)

#endif
