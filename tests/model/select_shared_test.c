/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a way between nodes whose ranks share cores (tune/far.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nodes_questions.h"

/* Where ranks share cores a hop inside a node takes a while, so that there should be few; where not it is next to nothing. */
static void ranks_that_share_cores_take_few_hops(void **state)
{
    struct gr_question q = question(GR_COLL_BCAST, 3, 2, 1024);
    size_t chunk;
    double us;

    (void) state;
    q.far.byte = 0.04;
    assert_int_equal(way_of(q), GR_ALGO_CHAIN);
    us = gr_cost_far(&gr_costs_host, &q, GR_ALGO_CHAIN, 1, &chunk);
    q.far.shared = 1;
    assert_int_equal(way_of(q), GR_ALGO_TWO_LEVEL);
    assert_true(gr_cost_far(&gr_costs_host, &q, GR_ALGO_CHAIN, 1, &chunk) > us + 3 * 4); /* three of them */
}

/* What ranks of a node send one after the other there, others wait for: less so at the beginning, or where there is one exchange. */
static void ranks_that_share_cores_leave_messages_to_leaders(void **state)
{
    struct gr_question q;
    size_t bytes, chunk;
    double us;
    int k;

    (void) state;
    for (bytes = 32; bytes <= 1024; bytes *= 2) {
        for (k = 0; k < 3; k++) {
            q = question(colls[k], 4, 2, bytes);
            q.far.byte = 0.04;
            q.far.shared = 1;
            assert_int_equal(way_of(q), GR_COLL_REDUCE_SCATTER == colls[k] ? GR_ALGO_DOUBLING : GR_ALGO_TWO_LEVEL);
        }
    }
    for (k = 0; k < 3; k++) {
        q = question(colls[k], 2, 2, 16);
        q.far.shared = 1;
        assert_int_equal(way_of(q), GR_ALGO_DOUBLING);
        q = question(colls[k], 2, 3, 24);
        us = gr_cost_far(&gr_costs_host, &q, GR_ALGO_BUCKET, 1, &chunk);
        q.far.shared = 1;
        assert_int_equal(way_of(q), GR_ALGO_TWO_LEVEL);
        assert_true(gr_cost_far(&gr_costs_host, &q, GR_ALGO_BUCKET, 1, &chunk) > us + 2 * 4 + 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_share_cores_take_few_hops),
        cmocka_unit_test(ranks_that_share_cores_leave_messages_to_leaders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
