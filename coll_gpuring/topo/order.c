/* SPDX-License-Identifier: BSD-3-Clause */
/* The orders of order.h. */
#include "topo/order.h"

/*
 * Position -> rank along a snake: a reflected Gray code in mixed radix. A digit runs backwards
 * where the number formed by the higher digits is odd, so one step changes one coordinate by one:
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

/* Whether like(r, n) is the first rank of rank r's node, for all. */
static int lie_so(const uint64_t *node, int p, int n, int (*like)(int r, int n))
{
    int r, k;

    for (r = 0; r < p; r++) {
        for (k = 0; node[k] != node[r]; k++) {
        }
        if (k != like(r, n)) {
            return 0;
        }
    }
    return 1;
}

static int behind(int r, int n)
{
    return r / n * n;
}

static int in_turns(int r, int n)
{
    return r % n;
}

struct gr_torus gr_torus_of_nodes(const uint64_t *node, int p)
{
    struct gr_torus torus = {.ndims = 0};
    int run = 1, turn = 1;

    while (run < p && node[run] == node[0]) {
        run++;
    }
    while (turn < p && node[turn] != node[0]) {
        turn++;
    }
    if (run < p && 0 == p % run && lie_so(node, p, run, behind)) {
        torus = (struct gr_torus) {.ndims = 2, .dims = {run, p / run}, .nested = 1};
    } else if (run < p && 0 == p % turn && lie_so(node, p, turn, in_turns)) {
        torus = (struct gr_torus) {.ndims = 2, .dims = {turn, p / turn}, .nested = 2};
    }
    return torus;
}

void gr_order_invert(const int *order, int p, int *where)
{
    int k;

    for (k = 0; k < p; k++) {
        where[order[k]] = k;
    }
}
