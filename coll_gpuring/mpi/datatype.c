/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI's datatypes, as the files that move data ask about them. */
#include "mpi/datatype.h"

#include "opal/datatype/opal_convertor.h"

ptrdiff_t mca_coll_gpuring_type_extent(struct ompi_datatype_t *type)
{
    ptrdiff_t extent;

    ompi_datatype_type_extent(type, &extent);
    return extent;
}

int mca_coll_gpuring_convert(void *buf, struct ompi_datatype_t *type, size_t count,
                             unsigned char *packed, bool pack)
{
    opal_convertor_t convertor;
    size_t bytes = count * mca_coll_gpuring_type_size(type), done = 0, max;
    struct iovec iov;
    uint32_t niov;
    int rc;

    if (0 == bytes) {
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    if (pack) {
        rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count,
                                                      buf, 0, &convertor);
    } else {
        rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count,
                                                      buf, 0, &convertor);
    }
    while (OPAL_SUCCESS == rc && done < bytes) {
        niov = 1;
        iov.iov_base = (IOVBASE_TYPE *) (packed + done);
        iov.iov_len = max = bytes - done;
        if (0 > (pack ? opal_convertor_pack(&convertor, &iov, &niov, &max)
                      : opal_convertor_unpack(&convertor, &iov, &niov, &max)) ||
            0 == max) {
            rc = OMPI_ERROR;
        }
        done += max;
    }
    OBJ_DESTRUCT(&convertor);
    return rc;
}
