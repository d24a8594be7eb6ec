/* SPDX-License-Identifier: BSD-3-Clause */
/* The orders of order.h. */
#include "order.h"

/*
 * Position -> rank along a snake: a reflected Gray code in mixed radix. A digit runs backwards where the
 * number formed by the higher digits is odd, so one step changes one coordinate by one:
 *
 *      0  1  2  3
 *      7  6  5  4       4 x 2
 */
static int snake_rank(const struct gr_torus *t, int position)
{
    int rank = 0, stride = 1, d, digit;

    for (d = 0; d < t->ndims; d++) {
        digit = position % t->dims[d];
        position /= t->dims[d];
        rank += stride * (position % 2 ? t->dims[d] - 1 - digit : digit);
        stride *= t->dims[d];
    }
    return rank;
}

void gr_order_ring(const struct gr_torus *torus, int p, int reverse, int *order)
{
    int snake = gr_torus_size(torus) == p;
    int k, position;

    for (k = 0; k < p; k++) {
        position = reverse ? (p - k) % p : k;
        order[k] = snake ? snake_rank(torus, position) : position;
    }
}

void gr_order_nodes(const uint64_t *node, int p, int *order)
{
    int first, r, n = 0;

    for (first = 0; first < p; first++) {
        for (r = 0; r < first && node[r] != node[first]; r++) {
        }
        if (r < first) {
            continue; /* with its node's lowest */
        }
        for (r = first; r < p; r++) {
            if (node[r] == node[first]) {
                order[n++] = r;
            }
        }
    }
}

struct gr_torus gr_torus_of_nodes(const uint64_t *node, int p)
{
    struct gr_torus none = {.ndims = 0}, torus = {.ndims = 2, .nested = 1};
    int n = 1, r, k;

    while (n < p && node[n] == node[0]) {
        n++;
    }
    if (n == p || 0 != p % n) {
        return none;
    }
    for (r = 0; r < p; r++) {
        for (k = 0; k < r / n * n && node[k] != node[r]; k += n) {
        }
        if (node[r] != node[r / n * n] || k < r / n * n) { /* not with its node, or that was there before */
            return none;
        }
    }
    torus.dims[0] = n;
    torus.dims[1] = p / n;
    return torus;
}

void gr_order_invert(const int *order, int p, int *where)
{
    int k;

    for (k = 0; k < p; k++) {
        where[order[k]] = k;
    }
}
