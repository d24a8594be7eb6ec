/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers of a libmpi of another release. component_test.sh compiles mpi/abi.c to call these
 * functions instead of libmpi's. -DGR_OTHER=TYPE: the structure that has another size, by
 * GR_OTHER_BYTES. -DGR_OTHER_VERSION: the release.
 */
#include "ompi_config.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
#include "opal/datatype/opal_convertor.h"

#include <string.h>

#if !defined(GR_OTHER_BYTES)
#define GR_OTHER_BYTES 24 /* as no layout of 5.0 differs from another */
#endif
#if !defined(GR_OTHER_VERSION)
#define GR_OTHER_VERSION "3.9.1"
#endif

extern opal_class_t gr_other_release_class;
opal_class_t gr_other_release_class = {.cls_sizeof = sizeof(GR_OTHER) + GR_OTHER_BYTES};

int gr_other_release_version(char *version, int *length);
int gr_other_release_version(char *version, int *length)
{
    strcpy(version, "Open MPI v" GR_OTHER_VERSION ", package: another one");
    *length = (int) strlen(version);
    return MPI_SUCCESS;
}
