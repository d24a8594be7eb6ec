/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of latencies (latency.h). */
#include "timing/latency.h"

#include "base/errors.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define FS_PER_NS 1000000

int gr_latency_init(struct gr_latency *l, const struct gr_torus *torus, int p, int rank)
{
    int d;

    memset(l, 0, sizeof(*l));
    l->torus = *torus;
    l->rank = rank;
    if (0 == torus->ndims) {
        l->torus.ndims = 1;
        l->torus.dims[0] = p;
        l->torus.mesh = 0;
    }
    for (d = 0; d < l->torus.ndims; d++) {
        size_t n = (size_t) l->torus.dims[d];

        l->ring[d] = gr_calloc(n * n, sizeof(int64_t));
        l->all[d] = gr_calloc(n * n, sizeof(int64_t));
        if (NULL == l->ring[d] || NULL == l->all[d]) {
            gr_latency_free(l);
            return GR_ERR_NOMEM;
        }
    }
    return 0;
}

void gr_latency_free(struct gr_latency *l)
{
    int d;

    for (d = 0; d < GR_MAX_DIMS; d++) {
        free(l->ring[d]);
        free(l->all[d]);
        l->ring[d] = l->all[d] = NULL;
    }
}

int64_t gr_latency_between(const struct gr_latency *l, int d, int x, int y)
{
    return l->ring[d][x * l->torus.dims[d] + y];
}

/* The largest value of a row. */
static int64_t largest(const int64_t *row, int n)
{
    int64_t max = 0;
    int y;

    for (y = 0; y < n; y++) {
        max = row[y] > max ? row[y] : max;
    }
    return max;
}

int64_t gr_latency_farthest(const struct gr_latency *l, int d, int x)
{
    return largest(l->ring[d] + (size_t) x * (size_t) l->torus.dims[d], l->torus.dims[d]);
}

int64_t gr_latency_sync(const struct gr_latency *l)
{
    int64_t sum = 0;
    int d;

    for (d = 0; d < l->torus.ndims; d++) {
        sum += largest(l->all[d], l->torus.dims[d] * l->torus.dims[d]);
    }
    return sum;
}

int64_t gr_latency_message(const struct gr_latency *l, int from, int to, size_t bytes)
{
    int64_t ns = 0, byte_fs = 0;
    int d;

    for (d = 0; d < l->torus.ndims; d++) {
        int x = gr_torus_coord(&l->torus, from, d), y = gr_torus_coord(&l->torus, to, d);

        if (x != y || from == to) {
            ns += l->all[d][x * l->torus.dims[d] + y];
            byte_fs = l->byte_fs[d] > byte_fs ? l->byte_fs[d] : byte_fs;
        }
    }
    return ns + (int64_t) ((double) bytes * (double) byte_fs / FS_PER_NS);
}

void gr_latency_symmetrise(struct gr_latency *l, int d)
{
    int n = l->torus.dims[d], x, y;

    for (x = 0; x < n; x++) {
        for (y = 0; y < x; y++) {
            int64_t *a = &l->ring[d][x * n + y], *b = &l->ring[d][y * n + x];

            *a = *b = *a < *b ? *a : *b;
        }
    }
}

int64_t gr_latency_byte_fs(int64_t empty, int64_t padded, size_t pad)
{
    return padded > empty && pad > 0 ? (padded - empty) * FS_PER_NS / (int64_t) pad : 0;
}
