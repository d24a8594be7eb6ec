/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice (tune/select.h) has the lowest predicted time of all possible choices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "select_questions.h"

/* Regret that is allowed. */
#define REGRET 1.01

/* The time of a choice by its own account. */
static double cost_of(const struct gr_costs *costs, const struct gr_select_args *q,
                      const struct gr_choice *c)
{
    enum gr_copy_method method = c->direct ? GR_BY_FETCHING : method_of(c->protocol);
    size_t chunk;

    return GR_WAY_MAILBOX == c->way ? gr_cost_mailbox(costs, q)
                                    : gr_cost(costs, q, (enum gr_algo) c->way, method, &chunk);
}

static void check_regret(const struct gr_costs *costs, const struct gr_select_args *without)
{
    struct gr_select_args q = *without;
    size_t bytes, chunk;
    int a, m;

    for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
        struct gr_choice c;

        set_bytes(&q, bytes);
        c = gr_select(costs, &q);
        assert_true(c.us == cost_of(costs, &q, &c));
        assert_true(!fits_mailbox(costs, &q) || c.us <= REGRET * gr_cost_mailbox(costs, &q));
        for (a = 0; a < GR_NALGOS; a++) {
            for (m = 0; m < GR_NCOPY_METHODS; m++) {
                if (may_move(costs, &q, (enum gr_copy_method) m) &&
                    can_do(&q, (enum gr_algo) a, (enum gr_copy_method) m) &&
                    may_choose(costs, &q, (enum gr_algo) a) &&
                    c.us > REGRET * gr_cost(costs, &q, (enum gr_algo) a, (enum gr_copy_method) m,
                                            &chunk)) {
                    fail_msg("%s p=%d nodes=%d %zu bytes: %s for %g us, not %s",
                             gr_coll_name(q.coll), q.p, q.internode.nodes, bytes,
                             gr_way_name(c.way), c.us, gr_algo_name((enum gr_algo) a));
                }
            }
        }
    }
}

static void the_cheapest_is_chosen(void **state)
{
    (void) state;
    for_each_question(check_regret);
}

/*
 * Between two ranks and more, whatever links are like: small messages in lines, large ones in slots
 * by all channels.
 */
static void lines_are_for_small_messages(void **state)
{
    int path, p, coll;

    (void) state;
    for (path = 0; path < GR_NPATHS_NEAR; path++) {
        for (p = 2; p <= 16; p++) {
            for (coll = 0; coll < GR_NCOLLS; coll++) {
                struct gr_select_args q =
                    device_question((enum gr_coll) coll, p, (enum gr_path) path);
                struct gr_choice c;

                set_bytes(&q, 8);
                c = gr_select(&gr_costs_device[path], &q);
                assert_true(GR_PROTOCOL_LL == c.protocol && 32 == c.threads && 1 == c.nchannels);
                set_bytes(&q, (size_t) 1 << 30);
                c = gr_select(&gr_costs_device[path], &q);
                assert_true(GR_PROTOCOL_SIMPLE == c.protocol && THREADS == c.threads &&
                            q.nchannels == c.nchannels);
            }
        }
    }
}

/*
 * Mailboxes and fetching are taken where they cost nothing, and not where they cost a lot, or may
 * not be taken.
 */
static void mailboxes_and_fetching_go_by_their_price(void **state)
{
    struct gr_select_args q = host_question(GR_COLL_ALLREDUCE, 4);
    struct gr_costs costs = gr_costs_host;

    (void) state;
    q.direct = 1;
    costs.by[GR_BY_FETCHING].from = 5000;
    costs.by[GR_BY_FETCHING].step = costs.by[GR_BY_FETCHING].byte = 1e-9;
    set_bytes(&q, 4999);
    assert_false(gr_select(&costs, &q).direct);
    set_bytes(&q, 5000);
    assert_true(gr_select(&costs, &q).direct);
    costs.by[GR_BY_FETCHING].step = costs.by[GR_BY_FETCHING].byte = 1e6;
    assert_false(gr_select(&costs, &q).direct);
    q.mailbox_bytes = 8192;
    costs.mailbox = costs.mailbox_byte = 0;
    assert_int_equal(gr_select(&costs, &q).way, GR_WAY_MAILBOX);
    costs.mailbox = 1e6;
    assert_int_not_equal(gr_select(&costs, &q).way, GR_WAY_MAILBOX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_is_chosen),
        cmocka_unit_test(lines_are_for_small_messages),
        cmocka_unit_test(mailboxes_and_fetching_go_by_their_price),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
