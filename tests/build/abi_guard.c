/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers of a libmpi of another release. component_test.sh compiles mpi/abi.c to read these
 * instead of libmpi's. -DGR_OTHER=TYPE: the structure that has another size, by
 * GR_OTHER_BYTES. -DGR_OTHER_VERSION: the release.
 */
#include "ompi_config.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
#include "opal/datatype/opal_convertor.h"

#if !defined(GR_OTHER_BYTES)
#define GR_OTHER_BYTES 24 /* as no layout of 5.0 differs from another */
#endif
#if !defined(GR_OTHER_VERSION)
#define GR_OTHER_VERSION "3.9.1"
#endif

extern opal_class_t gr_other_release_class;
opal_class_t gr_other_release_class = {.cls_sizeof = sizeof(GR_OTHER) + GR_OTHER_BYTES};

extern const char gr_other_release_version[];
const char gr_other_release_version[] = GR_OTHER_VERSION;
