/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of fit.h. */
#include "fit.h"

#include <math.h>
#include <stdlib.h>

static double relative_error(double overhead, double per_byte, double bytes, double us)
{
    return (overhead + per_byte * bytes - us) / us;
}

/* Minimises sum(((a + c S) / t - 1)^2): with u = 1/t and v = S/t these are the normal equations
 *     a sum(uu) + c sum(uv) = sum(u),   a sum(uv) + c sum(vv) = sum(v). */
int fit_times(struct fit_line *line, const double *bytes, const double *us, int n)
{
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, squares = 0, largest = 0;
    double det, overhead, per_byte;

    for (int i = 0; i < n; i++) {
        double u = 1 / us[i], v = bytes[i] / us[i];
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    det = uu * vv - uv * uv;
    if (n < 2 || !(det > 1e-12 * uu * vv)) { /* equal sizes leave nothing but rounding */
        return -1;
    }
    overhead = (u1 * vv - v1 * uv) / det;
    per_byte = (v1 * uu - u1 * uv) / det;
    if (!(per_byte > 0)) {
        return -1;
    }
    for (int i = 0; i < n; i++) {
        double e = fabs(relative_error(overhead, per_byte, bytes[i], us[i]));
        squares += e * e;
        largest = e > largest ? e : largest;
    }
    *line = (struct fit_line) {overhead, 1e-3 / per_byte, sqrt(squares / n), largest};
    return 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

void fit_sort(double *values, int n)
{
    qsort(values, (size_t) n, sizeof *values, compare);
}

double fit_percentile(const double *sorted, int n, double percent)
{
    int rank = (int) ceil(percent / 100 * n); /* the nearest-rank definition: counts from 1 */

    return sorted[rank < 1 ? 0 : rank - 1];
}
