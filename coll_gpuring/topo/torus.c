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

/* ---- orders of ranks ---- */

/*
 * The rank at a position of a snake through the torus: a reflected mixed-radix Gray code. A digit
 * runs backwards where the number formed by the higher digits is odd. So consecutive positions
 * differ by one in one coordinate:
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
            continue; /* the loop below added it with its node's lowest rank */
        }
        for (r = first; r < p; r++) {
            if (node[r] == node[first]) {
                order[n++] = r;
            }
        }
    }
}

/* Whether first_rank(r, n) is the lowest rank of rank r's node, for all ranks. */
static int matches_layout(const uint64_t *node, int p, int n, int (*first_rank)(int r, int n))
{
    int r, k;

    for (r = 0; r < p; r++) {
        for (k = 0; node[k] != node[r]; k++) {
        }
        if (k != first_rank(r, n)) {
            return 0;
        }
    }
    return 1;
}

/* Block layout: n consecutive ranks on each node. */
static int first_of_block(int r, int n)
{
    return r / n * n;
}

/* Cyclic layout: rank r on node r % n. */
static int first_of_cycle(int r, int n)
{
    return r % n;
}

struct gr_torus gr_torus_of_nodes(const uint64_t *node, int p)
{
    struct gr_torus torus = {.ndims = 0};
    int run = 1, period = 1;

    while (run < p && node[run] == node[0]) {
        run++;
    }
    while (period < p && node[period] != node[0]) {
        period++;
    }
    if (run < p && 0 == p % run && matches_layout(node, p, run, first_of_block)) {
        torus = (struct gr_torus) {.ndims = 2, .dims = {run, p / run}, .nested = 1};
    } else if (run < p && 0 == p % period && matches_layout(node, p, period, first_of_cycle)) {
        torus = (struct gr_torus) {.ndims = 2, .dims = {period, p / period}, .nested = 2};
    }
    return torus;
}

void gr_order_invert(const int *order, int p, int *position)
{
    int k;

    for (k = 0; k < p; k++) {
        position[order[k]] = k;
    }
}
