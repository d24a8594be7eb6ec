/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks (topo/order.h): the text of a torus, and the snake along it.
 *
 * What is true of the snake's closing edge: the last position lies at the far end of the highest dimension that
 * is longer than 1; where that extent is even, or no other is longer than 1, this is a neighbour of position 0
 * by the wrap-around link. Otherwise (3x2 is fine, 2x3 and 3x3 are not) the ring closes over a diagonal.
 */
#include "topo/order.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_P = 6 * 6 * 6 * 6 };

static void good_texts_are_parsed(void **state)
{
    static const struct {
        const char *text;
        struct gr_torus want;
    } rows[] = {
        {"", {0, {0}}},
        {"1", {1, {1}}},
        {"8", {1, {8}}},
        {"4x4x2", {3, {4, 4, 2}}},
        {"2x3x4x5", {4, {2, 3, 4, 5}}},
        {"1x1x1x1", {4, {1, 1, 1, 1}}},
        {"2147483647", {1, {INT_MAX}}},
        {"65536x32767", {2, {65536, 32767}}},
        {"04x2", {2, {4, 2}}},
    };
    struct gr_torus t;
    size_t k;
    int d, size;

    (void) state;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        assert_int_equal(gr_torus_parse(rows[k].text, &t), 0);
        assert_int_equal(t.ndims, rows[k].want.ndims);
        for (d = 0, size = t.ndims > 0; d < t.ndims; d++) {
            assert_int_equal(t.dims[d], rows[k].want.dims[d]);
            size *= t.dims[d];
        }
        assert_int_equal(gr_torus_size(&t), size);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "x", "4x", "x4", "4xx4", "4x4x2x2x1", "0", "4x0", "-4", "4x-2", "+4", " 4", "4 ", "4 x4", "4X4", "4,4", "four",
        "4.0", "2147483648", "65536x32768", "99999999999999999999", "4x99999999999999999999", "0x4",
    };
    struct gr_torus t;
    size_t k;

    (void) state;
    for (k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        t.ndims = 3;
        if (-1 != gr_torus_parse(texts[k], &t) || 0 != t.ndims) {
            fail_msg("\"%s\" was taken for a torus", texts[k]);
        }
    }
}

/* ---- rings ---- */

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

    (void) state;
    for (a = 1; a <= 6; a++) {
        for (b = 1; b <= 6; b++) {
            for (c = 1; c <= 6; c++) {
                for (d = 1; d <= 6; d++) {
                    t = (struct gr_torus) {4, {a, b, c, d}};
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

    (void) state;
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

    (void) state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_are_parsed),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_snake_is_as_it_is_drawn),
        cmocka_unit_test(a_snake_goes_from_neighbour_to_neighbour),
        cmocka_unit_test(without_a_torus_of_that_size_ranks_stand_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
