/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips over devices (topo/gpus.c): the best for few, compared with all trips; for
 * many, rings and trees. Seed: GPURING_SEED.
 */
#include "gpus_test.h"

static unsigned char between[MOST_PLACES * MOST_PLACES];

static void join(int n, int a, int b, int distance)
{
    between[a * n + b] = between[b * n + a] = (unsigned char) distance;
}

/* The next permutation of numbers[1..n-1] in ascending order; 0 after the last. */
static int next_permutation(int *numbers, int n)
{
    int k, m, keep;

    for (k = n - 2; k >= 1 && numbers[k] > numbers[k + 1]; k--) {
    }
    if (k < 1) {
        return 0;
    }
    for (m = n - 1; numbers[m] < numbers[k]; m--) {
    }
    keep = numbers[k];
    numbers[k] = numbers[m];
    numbers[m] = keep;
    for (k++, m = n - 1; k < m; k++, m--) {
        keep = numbers[k];
        numbers[k] = numbers[m];
        numbers[m] = keep;
    }
    return 1;
}

/* The first best of all trips. */
static void try_all(int n, int *best)
{
    int trial[MOST_PLACES], k;

    for (k = 0; k < n; k++) {
        best[k] = trial[k] = k;
    }
    while (next_permutation(trial, n)) {
        if (compare_trips(between, n, trial, best) < 0) {
            memcpy(best, trial, sizeof(trial));
        }
    }
}

static void few_devices_get_the_first_best_trip(void **state)
{
    int trip[MOST_PLACES], again[MOST_PLACES], best[MOST_PLACES], n, round, a, b, classes;
    uint64_t random = rng_seed();

    for (n = 1; n <= 8; n++) {
        for (round = 0; round < (n < 8 ? 60 : 8); round++) {
            classes = 2 + round % (GR_DISTANCES - 2);
            for (a = 0; a < n; a++) {
                for (b = 0; b < a; b++) {
                    join(n, a, b,
                         GR_DISTANCES - 1 - (int) rng_below(&random, (uint64_t) (classes - 1)));
                }
            }
            try_all(n, best);
            gr_ring_order(between, n, trip);
            gr_ring_order(between, n, again);
            expect_order(trip, best, n);
            expect_order(again, trip, n);
        }
    }
}

/*
 * The exact search at its largest, where all trips are equal, and where one is better than all
 * others.
 */
static void the_exact_search_goes_up_to_its_bound(void **state)
{
    static const int ring[GR_RING_ORDER_EXACT] = {0, 5, 3, 8, 1, 7, 2, 6, 4};
    int trip[MOST_PLACES], k;

    memset(between, GR_DISTANCE_LINKS(18), sizeof(between));
    gr_ring_order(between, GR_RING_ORDER_EXACT, trip);
    for (k = 0; k < GR_RING_ORDER_EXACT; k++) {
        assert_int_equal(trip[k], k);
    }
    memset(between, GR_DISTANCE_SYSTEM, sizeof(between));
    for (k = 0; k < GR_RING_ORDER_EXACT; k++) {
        join(GR_RING_ORDER_EXACT, ring[k], ring[(k + 1) % GR_RING_ORDER_EXACT],
             GR_DISTANCE_LINKS(1));
    }
    gr_ring_order(between, GR_RING_ORDER_EXACT, trip);
    assert_int_equal(trip[1], 4);
    for (k = 1; k < GR_RING_ORDER_EXACT; k++) {
        /* the direction with the lower numbers first */
        assert_int_equal(trip[k], ring[GR_RING_ORDER_EXACT - k]);
    }
}

/* One ring of NVLinks, its devices numbered at random: it is found. */
static void a_ring_among_many_is_found(void **state)
{
    int ring[MOST_PLACES], trip[MOST_PLACES], n, k;
    uint64_t random = rng_seed();

    for (n = GR_RING_ORDER_EXACT + 1; n <= MOST_PLACES; n++) {
        memset(between, GR_DISTANCE_NODE, sizeof(between));
        shuffle(ring, 0, n, &random);
        for (k = 0; k < n; k++) {
            join(n, ring[k], ring[(k + 1) % n], GR_DISTANCE_LINKS(2));
        }
        gr_ring_order(between, n, trip);
        check_order(trip, n);
        for (k = 0; k < n; k++) {
            assert_int_equal(between[trip[k] * n + trip[(k + 1) % n]], GR_DISTANCE_LINKS(2));
        }
    }
}

/*
 * In a tree the leaves from left to right are a best trip; the numbers of the leaves say nothing of
 * it.
 */
static void a_tree_is_walked_branch_by_branch(void **state)
{
    static const int class_of_bit[6] = {GR_DISTANCE_SWITCH,  GR_DISTANCE_SWITCHES,
                                        GR_DISTANCE_BRIDGE,  GR_DISTANCE_NODE,
                                        GR_DISTANCE_PACKAGE, GR_DISTANCE_SYSTEM};
    int leaf[MOST_PLACES], in_tree[MOST_PLACES], trip[MOST_PLACES], n, a, b, bit;
    uint64_t random = rng_seed();

    for (n = 4; n <= MOST_PLACES; n++) {
        shuffle(leaf, 0, n, &random);
        for (a = 0; a < n; a++) {
            in_tree[leaf[a]] = a;
            for (b = 0; b < a; b++) {
                for (bit = 5; 0 == ((leaf[a] ^ leaf[b]) >> bit & 1); bit--) {
                }
                join(n, a, b, class_of_bit[bit]);
            }
        }
        gr_ring_order(between, n, trip);
        check_order(trip, n);
        assert_int_equal(compare_trips(between, n, trip, in_tree), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_devices_get_the_first_best_trip),
        cmocka_unit_test(the_exact_search_goes_up_to_its_bound),
        cmocka_unit_test(a_ring_among_many_is_found),
        cmocka_unit_test(a_tree_is_walked_branch_by_branch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
