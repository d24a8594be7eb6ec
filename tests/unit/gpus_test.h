/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of device orders: comparison of round trips, independent of the code under test. */
#ifndef GR_TESTS_GPUS_TEST_H
#define GR_TESTS_GPUS_TEST_H

#include "rng.h"
#include "topo/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

enum { MOST_PLACES = 64 };

static inline int descending(const void *a, const void *b)
{
    return *(const int *) b - *(const int *) a;
}

/* The classes of all hops of a trip, worst first: trips compare like these lists do. */
static inline void trip_hops(const unsigned char *between, int n, const int *trip, int *hops)
{
    int k;

    for (k = 0; k < n; k++) {
        hops[k] = between[trip[k] * n + trip[(k + 1) % n]];
    }
    qsort(hops, (size_t) n, sizeof(*hops), descending);
}

/* Negative if trip a is the better one. */
static inline int compare_trips(const unsigned char *between, int n, const int *a, const int *b)
{
    int x[MOST_PLACES], y[MOST_PLACES], k;

    trip_hops(between, n, a, x);
    trip_hops(between, n, b, y);
    for (k = 0; k < n && x[k] == y[k]; k++) {
    }
    return k == n ? 0 : x[k] - y[k];
}

static inline void check_order(const int *order, int p)
{
    unsigned char seen[256] = {0};
    int k;

    assert_int_equal(order[0], 0);
    for (k = 0; k < p; k++) {
        assert_in_range(order[k], 0, p - 1);
        assert_int_equal(seen[order[k]]++, 0);
    }
}

static inline void expect_order(const int *order, const int *want, int p)
{
    int k;

    for (k = 0; k < p; k++) {
        if (order[k] != want[k]) {
            fail_msg("position %d has rank %d and should have %d", k, order[k], want[k]);
        }
    }
}

/* numbers[first..n-1] = first..n-1 in random order. */
static inline void shuffle(int *numbers, int first, int n, uint64_t *state)
{
    int k, m, keep;

    for (k = first; k < n; k++) {
        numbers[k] = k;
    }
    for (k = n - 1; k > first; k--) {
        m = first + (int) rng_below(state, (uint64_t) (k - first + 1));
        keep = numbers[k];
        numbers[k] = numbers[m];
        numbers[m] = keep;
    }
}

#endif
