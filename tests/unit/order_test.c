/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks (topo/torus.h): the snake along a torus.
 *
 * What is true of the snake's closing edge: the last position lies at the far end of the highest
 * dimension that is longer than 1; where that extent is even, or no other is longer than 1, this is
 * a neighbour of position 0 by the wrap-around link. Otherwise (3x2 is fine, 2x3 and 3x3 are not)
 * the ring closes over a diagonal.
 */
#include "rng.h"
#include "topo/torus.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_test.h"

enum { MAX_P = 6 * 6 * 6 * 6 };

/* Torus distance of two ranks, and in how many dimensions they differ. */
static int distance(const struct gr_torus *t, int a, int b, int *differ)
{
    int sum = 0, d, x;

    *differ = 0;
    for (d = 0; d < t->ndims; d++) {
        x = abs(a % t->dims[d] - b % t->dims[d]);
        x = x < t->dims[d] - x ? x : t->dims[d] - x;
        sum += x;
        *differ += x > 0;
        a /= t->dims[d];
        b /= t->dims[d];
    }
    return sum;
}

static void check_permutation(const int *order, int p)
{
    static int where[MAX_P];
    static unsigned char seen[MAX_P];
    int k;

    for (k = 0; k < p; k++) {
        seen[k] = 0;
    }
    for (k = 0; k < p; k++) {
        assert_in_range(order[k], 0, p - 1);
        assert_int_equal(seen[order[k]]++, 0);
    }
    gr_order_invert(order, p, where);
    for (k = 0; k < p; k++) {
        assert_int_equal(where[order[k]], k);
        assert_int_equal(order[where[k]], k);
    }
}

static int closes(const struct gr_torus *t)
{
    int highest = -1, longer = 0, d;

    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] > 1) {
            highest = d;
            longer++;
        }
    }
    return longer <= 1 || 0 == t->dims[highest] % 2;
}

static void check_torus(const struct gr_torus *t)
{
    static int order[MAX_P], back[MAX_P];
    int p = gr_torus_size(t), k, differ;

    gr_order_ring(t, p, 0, order);
    gr_order_ring(t, p, 1, back);
    check_permutation(order, p);
    assert_int_equal(order[0], 0);
    for (k = 0; k < p; k++) {
        assert_int_equal(back[k], order[(p - k) % p]);
    }
    for (k = 1; k < p; k++) {
        assert_int_equal(distance(t, order[k - 1], order[k], &differ), 1);
    }
    if (p > 1) {
        assert_int_equal(1 == distance(t, order[p - 1], order[0], &differ), closes(t));
    }
}

static void a_snake_goes_from_neighbour_to_neighbour(void **state)
{
    struct gr_torus t;
    int a, b, c, d;

    for (a = 1; a <= 6; a++) {
        for (b = 1; b <= 6; b++) {
            for (c = 1; c <= 6; c++) {
                for (d = 1; d <= 6; d++) {
                    t = (struct gr_torus) {.ndims = 4, .dims = {a, b, c, d}};
                    for (t.ndims = 1; t.ndims <= 4; t.ndims++) {
                        check_torus(&t);
                    }
                }
            }
        }
    }
}

static void a_snake_is_as_it_is_drawn(void **state)
{
    static const int want[8] = {0, 1, 2, 3, 7, 6, 5, 4};
    struct gr_torus t;
    int order[8], k;

    assert_int_equal(gr_torus_parse("4x2", &t), 0);
    gr_order_ring(&t, 8, 0, order);
    for (k = 0; k < 8; k++) {
        assert_int_equal(order[k], want[k]);
    }
}

static void without_a_torus_of_that_size_ranks_stand_in_order(void **state)
{
    static const char *const texts[] = {"", "3x2", "7x2"};
    struct gr_torus t;
    int order[13], p, reverse, k;
    size_t n;

    for (n = 0; n < sizeof(texts) / sizeof(texts[0]); n++) {
        assert_int_equal(gr_torus_parse(texts[n], &t), 0);
        for (p = 7; p <= 13; p++) {
            for (reverse = 0; reverse < 2; reverse++) {
                gr_order_ring(&t, p, reverse, order);
                for (k = 0; k < p; k++) {
                    assert_int_equal(order[k], reverse ? (p - k) % p : k);
                }
            }
        }
    }
}

/* Wherever the ranks are, a ring leaves each node once. */
static void a_ring_enters_each_node_once(void **state)
{
    static const int want[7] = {0, 3, 5, 1, 4, 6, 2};
    static const uint64_t scattered[7] = {9, 2, UINT64_MAX, 9, 2, 9, 2};
    uint64_t node[12];
    int order[12], p, k, left, nodes, round;
    uint64_t random = rng_seed();

    gr_order_nodes(scattered, 7, order);
    for (k = 0; k < 7; k++) {
        assert_int_equal(order[k], want[k]);
    }
    for (round = 0; round < 1000; round++) {
        unsigned seen = 0;

        p = 1 + round % 12;
        for (k = 0; k < p; k++) {
            node[k] = (uint64_t) rng_below(&random, 5);
            seen |= 1u << node[k];
        }
        gr_order_nodes(node, p, order);
        check_permutation(order, p);
        for (k = 0, left = 0; k < p; k++) {
            left += node[order[k]] != node[order[(k + 1) % p]];
        }
        for (nodes = 0; 0 != seen; seen &= seen - 1) {
            nodes++;
        }
        assert_int_equal(left, 1 == nodes ? 0 : nodes);
        assert_int_equal(order[0], 0);
    }
}

/*
 * Ranks of a node x nodes, where they are as many everywhere and lie one behind the other, or in
 * turns.
 */
static void nodes_alike_are_a_torus(void **state)
{
    static const struct {
        int p, nested, extent; /* 0: no torus; of dimension 0 */
        uint64_t node[8];
    } rows[] = {
        {4, 1, 2, {7, 7, 3, 3}},
        {6, 1, 3, {0, 0, 0, 9, 9, 9}},
        {8, 1, 2, {1, 1, 2, 2, 3, 3, 4, 4}},
        {4, 2, 2, {7, 3, 7, 3}},
        {6, 2, 2, {7, 3, 7, 3, 7, 3}},
        {6, 2, 3, {1, 2, 3, 1, 2, 3}},
        {4, 1, 1, {1, 2, 3, 4}},       /* one each */
        {6, 0, 0, {1, 1, 2, 2, 1, 1}}, /* one that comes again */
        {6, 0, 0, {1, 2, 3, 1, 3, 2}}, /* another turn */
        {8, 0, 0, {1, 1, 2, 2, 1, 1, 2, 2}},
        {4, 0, 0, {1, 2, 1, 1}},
        {3, 0, 0, {1, 2, 1}},
        {4, 0, 0, {5, 5, 5, 5}}, /* all on one */
        {4, 0, 0, {1, 1, 1, 2}},
        {6, 0, 0, {1, 1, 2, 2, 2, 2}},
        {6, 0, 0, {1, 1, 2, 2, 2, 3}},
        {5, 0, 0, {1, 1, 2, 2, 3}},
        {6, 0, 0, {1, 1, 2, 3, 4, 4}},
    };
    struct gr_torus t;
    size_t n;

    for (n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
        t = gr_torus_of_nodes(rows[n].node, rows[n].p);
        assert_int_equal(t.ndims, 0 == rows[n].nested ? 0 : 2);
        if (0 != t.ndims) {
            assert_int_equal(t.nested, rows[n].nested);
            assert_int_equal(t.dims[0], rows[n].extent);
            assert_int_equal(gr_torus_size(&t), rows[n].p);
            assert_int_equal(t.mesh, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snake_is_as_it_is_drawn),
        cmocka_unit_test(a_snake_goes_from_neighbour_to_neighbour),
        cmocka_unit_test(without_a_torus_of_that_size_ranks_stand_in_order),
        cmocka_unit_test(a_ring_enters_each_node_once),
        cmocka_unit_test(nodes_alike_are_a_torus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
