/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI's datatypes and operations, as the files that move data ask about them. */
#ifndef GR_MPI_DATATYPE_H
#define GR_MPI_DATATYPE_H

#include "mpi/ompi.h"

#include "exec/reduce.h"

/* Bytes of an element's data, and from one element to the next. */
static inline size_t mca_coll_gpuring_type_size(struct ompi_datatype_t *type)
{
    return type->super.size;
}
ptrdiff_t mca_coll_gpuring_type_extent(struct ompi_datatype_t *type);

/* Bytes at an element's end that hold no data: those of the last one may not be the buffer's. */
static inline size_t mca_coll_gpuring_type_tail(struct ompi_datatype_t *type)
{
    return (size_t) (type->super.ub - type->super.true_ub);
}

/*
 * Whether `count` elements are one run of bytes; then, the first byte of the data of a buffer of
 * them.
 */
static inline bool mca_coll_gpuring_is_contiguous(struct ompi_datatype_t *type, size_t count)
{
    /* asking for two is enough; the function takes an int */
    return 0 != ompi_datatype_is_contiguous_memory_layout(type, count > 1 ? 2 : 1);
}
static inline bool mca_coll_gpuring_is_gapless(struct ompi_datatype_t *type)
{
    return mca_coll_gpuring_is_contiguous(type, 2);
}
static inline unsigned char *mca_coll_gpuring_contiguous_start(const void *buf,
                                                               struct ompi_datatype_t *type)
{
    return (unsigned char *) buf + type->super.true_lb;
}

/*
 * Pack `count` elements of a buffer in host memory into bytes, or unpack them again. OMPI error
 * code.
 */
int mca_coll_gpuring_convert(void *buf, struct ompi_datatype_t *type, size_t count,
                             unsigned char *packed, bool pack);

/* The core's type and operation for MPI's, *_OTHER where it has none. */
enum gr_type mca_coll_gpuring_type(struct ompi_datatype_t *type);
enum gr_redop mca_coll_gpuring_redop(struct ompi_op_t *op);

#endif
