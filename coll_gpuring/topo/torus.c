/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of torus.h that only host code calls. */
#include "topo/torus.h"

#include <limits.h>
#include <stdlib.h>

int gr_torus_parse(const char *text, struct gr_torus *torus)
{
    long product = 1, extent;
    char *end;

    torus->ndims = 0;
    torus->mesh = 0;
    torus->nested = 0;
    if ('\0' == *text) {
        return 0;
    }
    for (;; text = end + 1) {
        if (*text < '0' || *text > '9' || torus->ndims == GR_MAX_DIMS) {
            break;
        }
        extent = strtol(text, &end, 10);
        if (extent < 1 || extent > INT_MAX / product) {
            break;
        }
        product *= extent;
        torus->dims[torus->ndims++] = (int) extent;
        if ('\0' == *end) {
            return 0;
        }
        if ('x' != *end) {
            break;
        }
    }
    torus->ndims = 0;
    return -1;
}

int gr_torus_size(const struct gr_torus *torus)
{
    return torus->ndims > 0 ? gr_torus_stride(torus, torus->ndims) : 0;
}

int gr_torus_links(const struct gr_torus *torus)
{
    return 2 * torus->ndims * gr_torus_size(torus);
}
