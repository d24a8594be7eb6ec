/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of a way (tune/select.h): that it depends on nothing but the question, that it stays within bounds,
 * and that it changes with size as it should.
 */
#include "tune/select.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const size_t slot_sizes[] = {256, 4096, 65536, 1 << 20, 1 << 26};
enum { NSLOT_SIZES = sizeof(slot_sizes) / sizeof(slot_sizes[0]), SLOT_BYTES = 65536 };

/* From 1 byte to 8 GiB, two and a bit sizes per doubling. */
static size_t next_bytes(size_t bytes)
{
    return bytes + bytes / 3 + 1;
}
#define MOST_BYTES ((size_t) 8 << 30)

typedef void (*visit_fn)(const struct gr_question *q);

/* Set the size, and what follows from it. */
static void set_bytes(struct gr_question *q, size_t bytes)
{
    q->bytes = bytes;
    q->post_bytes = GR_COLL_ALLGATHER == q->coll ? (bytes + (size_t) q->p - 1) / (size_t) q->p : bytes;
}

/* All sizes, without and with mailboxes (of two sizes) and direct plans. */
static void for_each_size(struct gr_question q, visit_fn visit)
{
    static const size_t boxes[] = {0, 48, 65536};
    size_t k, bytes;

    for (k = 0; k < 6; k++) {
        q.box_bytes = boxes[k / 2];
        q.direct = (int) (k % 2);
        for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
            set_bytes(&q, bytes);
            visit(&q);
        }
    }
}

static int can(int way, enum gr_coll coll)
{
    return way < 0 || GR_WAY_MAILBOX == way || gr_algo_has((enum gr_algo) way, coll);
}

/* All questions: collectives, ways (also none), ranks, slots, sizes. */
static void for_each_question(visit_fn visit)
{
    struct gr_question q = {.nchannels = 4, .nslots = 4};
    int coll;
    size_t k;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        q.coll = (enum gr_coll) coll;
        for (q.forced = -1; q.forced < GR_NWAYS; q.forced++) {
            for (q.p = 1; q.p <= 64 && can(q.forced, q.coll); q.p += 1 + q.p / 9) {
                q.torus = (struct gr_torus) {.ndims = q.p % 4 ? 1 : 2, .dims = {q.p % 4 ? q.p : q.p / 4, 4}};
                q.torus.ndims = q.p % 3 ? q.torus.ndims : 0;
                for (k = 0; k < NSLOT_SIZES; k++) {
                    q.slot_bytes = slot_sizes[k];
                    for_each_size(q, visit);
                }
            }
        }
    }
}

/* Whether the call can go through mailboxes. */
static int fits(const struct gr_question *q)
{
    return GR_COLL_ALLTOALL != q->coll && q->box_bytes > 0 && q->post_bytes <= q->box_bytes && q->p <= gr_costs_host.mail_ranks;
}

/* Whether what is forced can do it. */
static int possible(const struct gr_question *q)
{
    enum gr_algo algo = (enum gr_algo) q->forced;

    if (GR_WAY_MAILBOX == q->forced || q->forced < 0) {
        return q->forced < 0 || fits(q);
    }
    /* a message of several chunks, of elements of 32 bytes, must leave a slot free */
    return gr_algo_fits(algo, q->p, &q->torus) &&
           (1 == gr_algo_most(algo, q->coll, q->p, &q->torus) ||
            q->slot_bytes / gr_algo_most(algo, q->coll, q->p, &q->torus) * (q->nslots - 1) >= 32);
}

static int same(const struct gr_choice *a, const struct gr_choice *b)
{
    return a->way == b->way && a->nchannels == b->nchannels && a->chunk_bytes == b->chunk_bytes &&
           a->direct == b->direct && a->direct_chunk_bytes == b->direct_chunk_bytes &&
           a->direct_bytes == b->direct_bytes && a->us == b->us;
}

/* A direct plan is chosen only where it may be, with messages that can be sent so. */
static void check_direct(const struct gr_question *q, const struct gr_choice *c)
{
    if (!c->direct) {
        return;
    }
    assert_true(q->direct && q->bytes >= gr_costs_host.direct_from && GR_WAY_MAILBOX != c->way);
    assert_true(gr_algo_may_fetch((enum gr_algo) c->way));
    assert_true(0 == c->direct_bytes || 2 == q->p || GR_COLL_BCAST == q->coll || GR_COLL_ALLGATHER == q->coll ||
                GR_COLL_ALLTOALL == q->coll);
    assert_in_range(c->direct_chunk_bytes, 1, 0 == c->direct_bytes ? q->slot_bytes : c->direct_bytes);
}

static void check_bounds(const struct gr_question *q)
{
    struct gr_choice c = gr_select(&gr_costs_host, q), again;
    size_t wanted = 1 + q->bytes / gr_costs_host.channel_bytes;
    struct gr_question other = *q;

    assert_true(c.way >= 0 && can(c.way, q->coll));
    /* along a torus only where it is forced */
    assert_true(GR_WAY_MAILBOX == c.way || c.way == q->forced || !gr_algo_is_along((enum gr_algo) c.way));
    assert_true(GR_WAY_MAILBOX != c.way || fits(q));
    assert_true(q->forced < 0 || c.way == q->forced || !possible(q));
    assert_true(GR_WAY_MAILBOX == c.way || (c.chunk_bytes >= 1 && c.chunk_bytes <= q->slot_bytes));
    check_direct(q, &c);
    assert_true(isfinite(c.us) && c.us >= 0);
    assert_int_equal(c.nchannels, wanted < q->nchannels ? wanted : q->nchannels);
    if (q->forced != c.way) {
        assert_true(GR_ALGO_FLAT != c.way || q->p <= gr_costs_host.flat_ranks);
        assert_true(GR_ALGO_ONESHOT != c.way && GR_ALGO_TWOSHOT != c.way); /* those are for devices */
    }
    /* the same answer, whatever was asked in between */
    other.bytes = 1 + q->bytes / 2;
    other.p = 64;
    (void) gr_select(&gr_costs_host, &other);
    again = gr_select(&gr_costs_host, q);
    assert_true(same(&c, &again));
    if (!possible(q)) { /* as if nothing was forced */
        other = *q;
        other.forced = -1;
        again = gr_select(&gr_costs_host, &other);
        assert_true(same(&c, &again));
    }
}

static void choices_are_in_bounds_and_repeatable(void **state)
{
    (void) state;
    for_each_question(check_bounds);
}

/* No way that might have been chosen is expected to be faster; and this one, to be as fast as it says. */
static void check_best(const struct gr_question *q)
{
    struct gr_choice c = gr_select(&gr_costs_host, q);
    size_t chunk;
    int a, direct, directs = q->direct && q->bytes >= gr_costs_host.direct_from;

    if (GR_WAY_MAILBOX == c.way) {
        assert_true(c.us == gr_cost_mailbox(&gr_costs_host, q));
    } else {
        assert_true(c.us == gr_cost(&gr_costs_host, q, (enum gr_algo) c.way, (enum gr_means) c.direct, &chunk));
    }
    if (q->forced >= 0 && possible(q)) {
        return;
    }
    assert_true(!fits(q) || c.us <= gr_cost_mailbox(&gr_costs_host, q));
    for (a = 0; a < GR_NALGOS; a++) {
        if (gr_algo_has((enum gr_algo) a, q->coll) &&
            (GR_ALGO_FLAT != a || q->p <= gr_costs_host.flat_ranks) && GR_ALGO_ONESHOT != a && GR_ALGO_TWOSHOT != a &&
            !gr_algo_is_along((enum gr_algo) a)) {
            for (direct = 0; direct <= directs; direct++) {
                assert_true(c.us <= gr_cost(&gr_costs_host, q, (enum gr_algo) a, (enum gr_means) direct, &chunk));
            }
        }
    }
}

static void the_cheapest_is_chosen(void **state)
{
    (void) state;
    for_each_question(check_best);
}

/* Of the way that is forced. */
static double cost_of(const struct gr_question *q, size_t *chunk)
{
    *chunk = SIZE_MAX;
    return GR_WAY_MAILBOX == q->forced ? gr_cost_mailbox(&gr_costs_host, q) :
                                         gr_cost(&gr_costs_host, q, (enum gr_algo) q->forced, (enum gr_means) q->direct, chunk);
}

/*
 * True but where a pipeline's chunk is held at its least length (4 KiB; 64 KiB in direct plans): there, more bytes may
 * be cut into more chunks, which is up to 1.37 times as fast.
 */
static void check_monotone(const struct gr_question *q)
{
    struct gr_question more = *q;
    double us, most, slack;
    size_t chunk;

    if (q->forced < 0 || !possible(q)) {
        return;
    }
    set_bytes(&more, next_bytes(q->bytes));
    us = cost_of(q, &chunk);
    slack = chunk > (q->direct ? 65536 : 4096) ? 1 + 1e-12 : 1.4;
    most = cost_of(&more, &chunk);
    if (us > most * slack) {
        fail_msg("%s %s p=%d slot=%zu direct=%d: %zu bytes cost %g us, %zu bytes %g us", gr_way_name(q->forced),
                 gr_coll_name(q->coll), q->p, q->slot_bytes, q->direct, q->bytes, us, more.bytes, most);
    }
}

static void more_bytes_never_cost_less(void **state)
{
    (void) state;
    for_each_question(check_monotone);
}

/*
 * What is chosen for 64 bytes and for 1 GiB, copied through links. Between two ranks all algorithms are about the
 * same. Small allreduces between flat's ranks and 18 go by ring or tree, about equal in the model.
 */
static void small_and_large_take_different_ways(void **state)
{
    static const struct {
        enum gr_coll coll;
        enum gr_algo large;
        int from; /* ranks */
        int tree; /* ranks from which the small ones go by tree */
    } rows[] = {
        {GR_COLL_ALLREDUCE, GR_ALGO_RING, 3, 18},
        {GR_COLL_BCAST, GR_ALGO_CHAIN, 3, 9},
        {GR_COLL_REDUCE, GR_ALGO_CHAIN, 3, 9},
    };
    size_t k;
    int p;

    (void) state;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        for (p = rows[k].from; p <= 64; p++) {
            struct gr_question q = {.coll = rows[k].coll, .p = p, .bytes = 64, .forced = -1, .nchannels = 1,
                                    .slot_bytes = SLOT_BYTES, .post_bytes = 64};
            int small = gr_select(&gr_costs_host, &q).way, large;

            q.bytes = (size_t) 1 << 30;
            large = gr_select(&gr_costs_host, &q).way;
            if (large != (int) rows[k].large || (p <= gr_costs_host.flat_ranks && GR_ALGO_FLAT != small) ||
                (p >= rows[k].tree && GR_ALGO_TREE != small)) {
                fail_msg("%s p=%d: %s, then %s", gr_coll_name(q.coll), p, gr_way_name(small), gr_way_name(large));
            }
        }
    }
}

static void blocks_beyond_flat_ranks_go_by_ring(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLGATHER, GR_COLL_REDUCE_SCATTER};
    struct gr_question q = {.forced = -1, .nchannels = 1, .slot_bytes = SLOT_BYTES, .post_bytes = 1};
    int k;

    (void) state;
    for (k = 0; k < 2; k++) {
        q.coll = colls[k];
        for (q.p = gr_costs_host.flat_ranks + 1; q.p <= 64; q.p++) {
            for (q.bytes = 1; q.bytes < MOST_BYTES; q.bytes = next_bytes(q.bytes)) {
                assert_int_equal(gr_select(&gr_costs_host, &q).way, GR_ALGO_RING);
            }
        }
    }
}

static void flat_is_taken_beyond_its_ranks_when_forced(void **state)
{
    struct gr_question q = {.coll = GR_COLL_ALLREDUCE, .p = 50, .bytes = 8, .forced = GR_ALGO_FLAT, .nchannels = 1,
                            .slot_bytes = SLOT_BYTES, .post_bytes = 8};
    struct gr_costs costs = gr_costs_host;

    (void) state;
    assert_int_equal(gr_select(&costs, &q).way, GR_ALGO_FLAT);
    q.forced = -1;
    assert_int_equal(gr_select(&costs, &q).way, GR_ALGO_TREE);
    costs.flat_ranks = 0;
    q.p = 2;
    assert_int_not_equal(gr_select(&costs, &q).way, GR_ALGO_FLAT);
}

static void channels_come_with_bytes(void **state)
{
    static const struct {
        size_t bytes;
        uint32_t most, want;
    } rows[] = {
        {1, 8, 1},       {999, 8, 1},  {1000, 8, 2},           {6999, 8, 7},
        {7000, 8, 8},    {8000, 8, 8}, {(size_t) 1 << 40, 8, 8}, {(size_t) 1 << 40, 1, 1},
    };
    struct gr_costs costs = gr_costs_host;
    size_t k;

    (void) state;
    costs.channel_bytes = 1000;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct gr_question q = {.coll = GR_COLL_ALLREDUCE, .p = 4, .bytes = rows[k].bytes, .forced = -1,
                                .nchannels = rows[k].most, .slot_bytes = SLOT_BYTES, .post_bytes = rows[k].bytes};

        assert_int_equal(gr_select(&costs, &q).nchannels, rows[k].want);
    }
}

/* ---- mailboxes and direct plans ---- */

static void a_few_bytes_among_a_few_ranks_go_by_mailbox(void **state)
{
    struct gr_question q = {.forced = -1, .nchannels = 1, .slot_bytes = SLOT_BYTES, .box_bytes = 4096};
    int coll;

    (void) state;
    for (coll = 0; coll < GR_COLL_ALLTOALL; coll++) { /* that has none */
        q.coll = (enum gr_coll) coll;
        for (q.p = 2; q.p <= 8; q.p++) {
            set_bytes(&q, 8);
            assert_int_equal(gr_select(&gr_costs_host, &q).way, GR_WAY_MAILBOX);
        }
    }
}

/* Up to the last byte and the last rank that fit; beyond, another way, whatever it costs and is forced. */
static void mailboxes_are_left_where_a_call_does_not_fit(void **state)
{
    struct gr_question q = {.coll = GR_COLL_ALLGATHER, .p = 5, .nchannels = 1, .slot_bytes = SLOT_BYTES,
                            .box_bytes = 1000};
    struct gr_costs costs = gr_costs_host;
    size_t per_rank;

    (void) state;
    costs.mail = costs.mail_byte = 0; /* nothing is cheaper */
    costs.mail_ranks = 5;
    for (q.forced = -1; q.forced < GR_NWAYS; q.forced += 1 + GR_WAY_MAILBOX) { /* none, mailboxes */
        for (per_rank = 990; per_rank < 1010; per_rank++) {
            set_bytes(&q, 5 * per_rank);
            assert_int_equal(GR_WAY_MAILBOX == gr_select(&costs, &q).way, per_rank <= 1000);
        }
        set_bytes(&q, 5);
        for (q.p = 2; q.p < 9; q.p++) {
            assert_int_equal(GR_WAY_MAILBOX == gr_select(&costs, &q).way, q.p <= 5);
        }
        q.p = 5;
        q.box_bytes = 0;
        assert_int_not_equal(gr_select(&costs, &q).way, GR_WAY_MAILBOX);
        q.box_bytes = 1000;
    }
}

static void data_are_fetched_where_it_pays(void **state)
{
    struct gr_question q = {.coll = GR_COLL_ALLREDUCE, .p = 4, .forced = -1, .nchannels = 1, .slot_bytes = SLOT_BYTES,
                            .direct = 1};
    struct gr_costs costs = gr_costs_host;

    (void) state;
    costs.direct_from = 5000;
    costs.direct_step = costs.direct_byte = 0;
    set_bytes(&q, 4999);
    assert_int_equal(gr_select(&costs, &q).direct, 0);
    set_bytes(&q, 5000);
    assert_int_equal(gr_select(&costs, &q).direct, 1);
    q.direct = 0;
    assert_int_equal(gr_select(&costs, &q).direct, 0);
    q.direct = 1;
    costs.direct_step = costs.direct_byte = 1e6;
    assert_int_equal(gr_select(&costs, &q).direct, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_in_bounds_and_repeatable),
        cmocka_unit_test(the_cheapest_is_chosen),
        cmocka_unit_test(more_bytes_never_cost_less),
        cmocka_unit_test(small_and_large_take_different_ways),
        cmocka_unit_test(blocks_beyond_flat_ranks_go_by_ring),
        cmocka_unit_test(flat_is_taken_beyond_its_ranks_when_forced),
        cmocka_unit_test(channels_come_with_bytes),
        cmocka_unit_test(a_few_bytes_among_a_few_ranks_go_by_mailbox),
        cmocka_unit_test(mailboxes_are_left_where_a_call_does_not_fit),
        cmocka_unit_test(data_are_fetched_where_it_pays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
