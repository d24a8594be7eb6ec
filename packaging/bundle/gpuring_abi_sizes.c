/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the file `abi` of a bundle's variant: what this component was built for. It is compiled as
 * the component is, and linked with no Open MPI.
 */
#include "mpi/abi.h"

#include <stdio.h>

#define LINE(type) printf("class " #type " %zu\n", sizeof(type));

/* the first release of the layout that it was built for */
static int first_release(void)
{
    return 0 == strcmp(GR_LAYOUT, "B") ? 7 : 0 == strcmp(GR_LAYOUT, "C") ? 10 : 0;
}

int main(void)
{
    int major = 0, minor = 0;

    (void) sscanf(GR_BUILT_FOR, "%d.%d", &major, &minor);
    printf("built-for %s\n", GR_BUILT_FOR);
    printf("layout %s\n", GR_LAYOUT);
    printf("from %d.%d.%d\n", major, minor, first_release());
    GR_ABI_CLASSES(LINE)
    return 0;
}
