/* SPDX-License-Identifier: BSD-3-Clause */
/* The class of abi_guard.h. */
#include "ompi_config.h"

#include "ompi/mca/coll/coll.h"

extern opal_class_t gr_other_release_class;
opal_class_t gr_other_release_class = {.cls_name = "mca_coll_base_module_t",
                                       .cls_sizeof = sizeof(mca_coll_base_module_t) + 8};
