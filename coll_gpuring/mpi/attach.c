/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Open MPI that was configured with --disable-dlopen, as the wheels of PyPI are, opens no
 * component from a file. It has a list of the components that are built in, which it reads in
 * MPI_Init. A process that loads this component before that (LD_PRELOAD, or the .pth file of
 * gpuring's wheel) finds it on that list.
 */
#include "mpi/abi.h"
#include "mpi/component.h"

#include <stdlib.h>
#include <string.h>

/* The built-in components of the framework that opens files. Without it, no file is opened. */
OPAL_DECLSPEC extern gr_built_in_t mca_dl_base_static_components[];

__attribute__((constructor)) static void attach(void)
{
    static const mca_base_component_t *own = &mca_coll_gpuring_component.collm_version;
    gr_built_in_t *built_in, *list;
    size_t n;

    /* the structure of the framework is that of its series */
    if (NULL != mca_dl_base_static_components[0] || GR_ABI_OTHER == mca_coll_gpuring_abi()) {
        return;
    }
    built_in = ompi_coll_base_framework.framework_static_components;
    if (NULL == built_in) {
        return;
    }
    for (n = 0; NULL != built_in[n]; n++) {
        if (0 == strcmp(GR_BUILT_IN_COMPONENT(built_in[n])->mca_component_name,
                        own->mca_component_name)) {
            return;
        }
    }
    list = malloc((n + 2) * sizeof(*list)); /* lives as long as the process */
    if (NULL == list) {
        return;
    }
    memcpy(list, built_in, n * sizeof(*list));
    list[n] = GR_BUILT_IN_ENTRY(own);
    list[n + 1] = NULL;
    ompi_coll_base_framework.framework_static_components = list;
}
