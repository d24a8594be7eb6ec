/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that were measured at some sizes, for sizes in between. */
#ifndef GR_BASE_INTERPOLATE_H
#define GR_BASE_INTERPOLATE_H

#include <math.h>
#include <stddef.h>

/*
 * The value at `bytes` of n >= 1 values at growing sizes: linear in the logarithm of the size;
 * beyond the first or the last size the value there.
 */
static inline double gr_interpolate(const size_t *sizes, const double *values, int n, double bytes)
{
    double below, share;
    int k = 0;

    if (bytes <= (double) sizes[0]) {
        return values[0];
    }
    while (k < n && (double) sizes[k] < bytes) {
        k++;
    }
    if (n == k) {
        return values[n - 1];
    }
    below = (double) sizes[k - 1];
    share = log(bytes / below) / log((double) sizes[k] / below);
    return values[k - 1] + share * (values[k] - values[k - 1]);
}

#endif
