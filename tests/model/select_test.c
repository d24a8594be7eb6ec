/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A choice (tune/select.h) is valid, depends on its arguments only, respects forced algorithms
 * where possible, and has the lowest predicted time of all possible ones.
 */
#include <math.h>

#include "cmocka_test.h"

#include "select_questions.h"

/* Regret that is allowed. */
#define REGRET 1.01

static int same(const struct gr_choice *a, const struct gr_choice *b)
{
    return a->algo == b->algo && a->nchannels == b->nchannels && a->chunk_bytes == b->chunk_bytes &&
           a->direct == b->direct && a->direct_chunk_bytes == b->direct_chunk_bytes &&
           a->protocol == b->protocol && a->threads == b->threads &&
           a->direct_bytes == b->direct_bytes && a->us == b->us;
}

/* Whether what is forced can do it by some method; nothing can always. */
static int possible(const struct gr_costs *costs, const struct gr_select_args *q)
{
    int m, found = q->forced < 0 || (GR_ALGO_MAILBOX == q->forced && fits_mailbox(costs, q));

    for (m = 0; m < GR_NCOPY_METHODS && GR_ALGO_MAILBOX != q->forced; m++) {
        found |= q->forced >= 0 && can_so(costs, q, q->forced, m);
    }
    return found;
}

/* A direct plan is chosen only where it may be, with messages that can be sent so. */
static void check_direct(const struct gr_costs *costs, const struct gr_select_args *q,
                         const struct gr_choice *c)
{
    assert_true(may_move(costs, q, GR_BY_FETCHING) && gr_algo_may_fetch((enum gr_algo) c->algo));
    assert_true(0 == c->direct_bytes || 2 == q->p || GR_COLL_BCAST == q->coll ||
                GR_COLL_ALLGATHER == q->coll || GR_COLL_ALLTOALL == q->coll);
    assert_in_range(c->direct_chunk_bytes, 1,
                    0 == c->direct_bytes ? q->slot_bytes : c->direct_bytes);
}

/*
 * Channels come with bytes, on all rails alike; threads with bytes, too, in whole warps, 16 bytes
 * for each.
 */
static void check_width(const struct gr_costs *costs, const struct gr_select_args *q,
                        const struct gr_choice *c)
{
    int lines = GR_PROTOCOL_SIMPLE != c->protocol;
    size_t wanted = 1 + q->bytes / costs->by[method_of(c->protocol)].channel_bytes;
    size_t most = wanted < q->nchannels ? wanted : q->nchannels, share = q->bytes / c->nchannels;

    assert_in_range(c->nchannels, most, q->nchannels);
    assert_true(q->internode.rails > 1 || c->nchannels == most);
    assert_true(0 == c->threads % 32 && c->threads <= q->threads &&
                (lines || q->threads == c->threads));
    share /=
        lines && GR_BLOCKS == gr_algo_layout((enum gr_algo) c->algo, q->coll) ? (size_t) q->p : 1;
    assert_true(0 == q->threads || c->threads == q->threads ||
                (c->threads >= 32 && (size_t) c->threads * 16 >= share));
}

/* Nothing else that may be chosen is much cheaper. */
static void check_regret(const struct gr_costs *costs, const struct gr_select_args *q,
                         const struct gr_choice *c)
{
    int a, m;

    assert_true(!fits_mailbox(costs, q) || c->us <= REGRET * gr_cost_mailbox(costs, q));
    for (a = 0; a < GR_NALGOS; a++) {
        for (m = 0; m < GR_NCOPY_METHODS; m++) {
            if (can_so(costs, q, a, m) && may_choose(q, (enum gr_algo) a) &&
                c->us > REGRET * cost_of(costs, q, a, m)) {
                fail_msg("%s p=%d nodes=%d %zu bytes: %s for %g us, not %s", gr_coll_name(q->coll),
                         q->p, q->internode.nodes, q->bytes, gr_use_name(c->algo), c->us,
                         gr_algo_name((enum gr_algo) a));
            }
        }
    }
}

static void check_choice(const struct gr_costs *costs, const struct gr_select_args *q)
{
    struct gr_choice c = gr_select(costs, q), again;
    struct gr_select_args other = *q;
    int lines = GR_PROTOCOL_SIMPLE != c.protocol;
    enum gr_copy_method method = c.direct ? GR_BY_FETCHING : method_of(c.protocol);

    assert_true(isfinite(c.us) && c.us >= (q->internode.nodes > 1 ? q->internode.step : 0));
    assert_in_range(c.protocol, 0, GR_NPROTOCOLS - 1);
    if (GR_ALGO_MAILBOX == c.algo) {
        assert_true(fits_mailbox(costs, q) && !c.direct);
    } else {
        assert_true(c.algo < GR_NALGOS && can_do(q, (enum gr_algo) c.algo, method));
        assert_true(c.algo == q->forced || may_choose(q, (enum gr_algo) c.algo));
        assert_true(!lines || q->line_bytes[c.protocol] > 0);
        assert_in_range(c.chunk_bytes, 1, lines ? q->line_bytes[c.protocol] : q->slot_bytes);
    }
    assert_true(q->protocol < 0 || (q->protocol > 0 && 0 == q->line_bytes[q->protocol]) ||
                c.protocol == q->protocol);
    if (c.direct) {
        check_direct(costs, q, &c);
    }
    check_width(costs, q, &c);
    assert_true(c.us == cost_of(costs, q, c.algo, method));
    if (q->forced < 0) {
        check_regret(costs, q, &c);
    }
    assert_true(c.algo == q->forced || q->forced < 0 || !possible(costs, q));
    /*
     * the same answer, whatever was asked in between; and as if nothing were forced, where that
     * cannot be
     */
    other.bytes = 1 + q->bytes / 2;
    (void) gr_select(costs, &other);
    other = *q;
    other.forced = possible(costs, q) ? q->forced : -1;
    again = gr_select(costs, &other);
    assert_true(same(&c, &again));
}

static void check_all_ways(const struct gr_costs *costs, const struct gr_select_args *without)
{
    struct gr_select_args q = *without;
    size_t bytes;

    for (q.forced = -1; q.forced < GR_NALGOS_ALL; q.forced++) {
        if (q.forced < 0 || GR_ALGO_MAILBOX == q.forced ||
            gr_algo_has((enum gr_algo) q.forced, q.coll)) {
            for (bytes = 1; bytes < MOST_BYTES;
                 bytes = q.forced < 0 ? next_bytes(bytes) : 2 * bytes + 1) {
                set_bytes(&q, bytes);
                check_choice(costs, &q);
            }
        }
    }
}

static void choices_are_legal_repeatable_and_cheap(void **state)
{
    for_each_question(check_all_ways);
}

/* What is said of nodes, rails, or the torus counts only where there are several, or is one. */
static void check_what_is_not_there(const struct gr_costs *costs, const struct gr_select_args *q)
{
    struct gr_select_args plain = *q, other = *q;
    struct gr_choice a, b;

    set_bytes(&plain, 100000);
    set_bytes(&other, 100000);
    if (q->internode.nodes < 2) {
        other.internode = (struct gr_internode) {
            .nodes = 1, .ranks = q->p, .step = 20, .byte = 1, .rails = 1, .oversubscribed = 1};
    } else if (1 == q->internode.rails) {
        other.internode.rails = 0;
    }
    a = gr_select(costs, &plain);
    b = gr_select(costs, &other);
    assert_true(same(&a, &b));
}

static void what_is_not_there_does_not_count(void **state)
{
    for_each_question(check_what_is_not_there);
}

/*
 * Up to the last byte and the last rank that fit; beyond, another way, whatever it costs and is
 * forced.
 */
static void mailboxes_are_left_where_a_call_does_not_fit(void **state)
{
    struct gr_select_args q = host_question(GR_COLL_ALLGATHER, 5);
    struct gr_costs costs = gr_costs_host;
    size_t per_rank;

    costs.mailbox = costs.mailbox_byte = 0; /* nothing is cheaper */
    costs.mailbox_ranks = 5;
    for (q.forced = -1; q.forced < GR_NALGOS_ALL;
         q.forced += 1 + GR_ALGO_MAILBOX) { /* none, mailboxes */
        q.mailbox_bytes = 1000;
        for (per_rank = 990; per_rank < 1010; per_rank++) {
            set_bytes(&q, 5 * per_rank);
            assert_int_equal(GR_ALGO_MAILBOX == gr_select(&costs, &q).algo, per_rank <= 1000);
        }
        set_bytes(&q, 5);
        for (q.p = 2; q.p < 9; q.p++) {
            assert_int_equal(GR_ALGO_MAILBOX == gr_select(&costs, &q).algo, q.p <= 5);
        }
        q.p = 5;
        q.mailbox_bytes = 0;
        assert_int_not_equal(gr_select(&costs, &q).algo, GR_ALGO_MAILBOX);
    }
}

/*
 * Between two ranks and more, whatever links are like: small messages in lines, large ones in slots
 * by all channels.
 */
static void lines_are_for_small_messages(void **state)
{
    int path, p, coll;

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
    assert_int_equal(gr_select(&costs, &q).algo, GR_ALGO_MAILBOX);
    costs.mailbox = 1e6;
    assert_int_not_equal(gr_select(&costs, &q).algo, GR_ALGO_MAILBOX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_legal_repeatable_and_cheap),
        cmocka_unit_test(what_is_not_there_does_not_count),
        cmocka_unit_test(mailboxes_are_left_where_a_call_does_not_fit),
        cmocka_unit_test(lines_are_for_small_messages),
        cmocka_unit_test(mailboxes_and_fetching_go_by_their_price),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
