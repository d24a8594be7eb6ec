/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers of a libmpi of another release. component_test.sh compiles coll_gpuring_abi.c to call
 * these functions instead of libmpi's. -DGR_OTHER=TYPE: the structure that has another size.
 */
#include "ompi_config.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
#include "opal/datatype/opal_convertor.h"

#include <string.h>

extern opal_class_t gr_other_release_class;
opal_class_t gr_other_release_class = {.cls_sizeof = sizeof(GR_OTHER) + 8};

int gr_other_release_version(char *version, int *length);
int gr_other_release_version(char *version, int *length)
{
    strcpy(version, "Open MPI v3.9.1, package: another one");
    *length = (int) strlen(version);
    return MPI_SUCCESS;
}
