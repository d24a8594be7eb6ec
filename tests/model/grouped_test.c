/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls through the mailboxes of groups (exec/grouped.h) among up to 256 ranks: every collective
 * with data, in seeded orders of scheduling and in threads, across the wrap of epochs. Results show
 * the order of ranks. Seed: GPURING_SEED.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "exec_cases.h"

#include "rng.h"

enum { POOL_BYTES = 64 << 20, MOST_COUNT = 3 };

static uint64_t seed;

/* ---- calls ---- */

/* Teams whose epochs begin after `first`. */
static void open_world(struct ex_world *w, int p, uint32_t nsets, uint64_t first)
{
    struct gr_team_params params = {.p = p,
                                    .nchannels = 1,
                                    .nslots = 2,
                                    .slot_bytes = 64,
                                    .nsets = nsets,
                                    .mailbox_bytes = (size_t) p * (MOST_COUNT + 2) * 12};

    if (0 != ex_open(w, &params, POOL_BYTES, rng_next(&seed))) {
        fail_msg("%s", w->why);
    }
    w->one_in = 3;
    ex_leave(w);
    w->first = first;
    assert_int_equal(ex_team(w), 0);
}

static void run(struct ex_world *w, const struct ex_case *cases, size_t n, enum ex_mode mode)
{
    if (0 != ex_run(w, cases, n, mode)) {
        fail_msg("%s", w->why);
    }
}

/* Without a grid there is no Alltoall; whether all have entered a Barrier shows nowhere in data. */
static void add_calls(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 7 && GR_ALGO_MAILBOX == algo && gr_mailbox_use(coll, w->params.p) >= 0; k++) {
        struct ex_case *c = ex_add(b, w, algo, coll);

        c->kind = 0 == k % 3 ? c->kind : EX_MAPS;
        c->count = 1 + rng_below(&seed, MOST_COUNT);
        c->in_place = k % 2;
        if (GR_COLL_ALLTOALL != coll && ex_has_blocks(coll) && k > 2) {
            ex_make_counts(b, c, w->params.p, 1, k % 2);
        }
    }
}

static void play(int p, uint32_t nsets, uint64_t first, enum ex_mode mode)
{
    struct ex_batch b = {.random = &seed};
    struct ex_world w;

    open_world(&w, p, nsets, first);
    ex_for_each_mode(&b, &w, add_calls);
    ex_shuffle(&b);
    run(&w, b.cases, p > 100 ? b.n / 2 : b.n, mode);
    ex_close(&w);
    free(b.cases);
}

static void calls_are_right_in_any_order_of_ranks(void **state)
{
    static const int sizes[] = {2,  3,  8,  9,  10, 11, 13, 16, 17, 18,  24,  25,  31,  33,  37, 40,
                                48, 63, 64, 65, 66, 72, 73, 74, 81, 100, 127, 128, 200, 255, 256};
    size_t k;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k += GR_SANITIZER(1, 1, 3)) {
        play(sizes[k], 2u << rng_below(&seed, 3), rng_next(&seed), EX_STEPPED);
    }
}

static void epochs_may_wrap_and_sets_are_used_again(void **state)
{
    static const int few[] = {10, 17, 40, 81};
    uint32_t nsets;
    int k;

    for (k = 0; k < 4; k++) {
        for (nsets = 2; nsets <= GR_SETS; nsets *= 2) {
            play(few[k], nsets, UINT64_MAX - rng_below(&seed, 20), EX_STEPPED);
        }
    }
}

static void calls_are_right_in_threads(void **state)
{
    static const int few[] = {3, 10, 17, 25};
    int k;

    for (k = 0; k < 4; k++) {
        play(few[k], 2u << rng_below(&seed, 3), rng_next(&seed), EX_THREADS);
    }
}

/* ---- by hand ---- */

enum { BY_HAND = 40 };

static struct hand {
    struct gr_grouped_call call;
    struct ex_buffers buffers;
    int done;
} hands[BY_HAND];

static void enter(struct ex_world *w, const struct ex_case *c, int r)
{
    struct hand *h = &hands[r];

    ex_buffers_make(&h->buffers, c, w->params.p, r);
    h->call.whole = ex_mail(c, &h->buffers);
    h->done = 0;
    gr_grouped_prepare(&h->call, w->ranks[r].team);
    gr_grouped_begin(&h->call);
}

/* Poll all ranks but one often enough for anything. Returns how many are through. */
static int poll_all(int p, int but)
{
    uint64_t moved = 0;
    int k, n = 0;

    for (k = 0; k < 100 * p; k++) {
        struct hand *h = &hands[k % p];

        if (k % p != but && !h->done && gr_grouped_poll(&h->call, &moved)) {
            h->done = 1;
            n++;
        }
    }
    return n;
}

static void leave(int p)
{
    int r;

    for (r = 0; r < p; r++) {
        ex_buffers_free(&hands[r].buffers);
    }
}

/* An Allreduce, a Reduce to any rank and a Reduce_scatter combine in one order. */
static void all_reductions_give_the_same_bits(void **state)
{
    enum { P = BY_HAND };
    struct ex_case c = {.algo = GR_ALGO_MAILBOX, .kind = EX_F32_SUM, .seed = 12345};
    float bits[P];
    struct ex_world w;
    int k, r;

    open_world(&w, P, 4, 1);
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), 0);
    for (k = 0; k < 2 + P; k++) {
        c.coll = 0 == k ? GR_COLL_ALLREDUCE : 1 == k ? GR_COLL_REDUCE_SCATTER : GR_COLL_REDUCE;
        c.root = k < 2 ? 0 : k - 2;
        c.count = 1 == k ? 1 : P;
        for (r = 0; r < P; r++) {
            enter(&w, &c, r);
        }
        assert_int_equal(poll_all(P, -1), P);
        if (0 == k) {
            memcpy(bits, hands[0].buffers.out, sizeof(bits));
        }
        for (r = 0; r < P; r++) {
            if (NULL != hands[r].buffers.out) {
                assert_memory_equal(hands[r].buffers.out, &bits[1 == k ? r : 0],
                                    1 == k ? sizeof(float) : sizeof(bits));
            }
        }
        leave(P);
    }
    ex_close(&w);
}

/* Nobody leaves a barrier before the last has entered, and who waits names whom its group misses. */
static void a_missing_rank_is_waited_for_by_its_group(void **state)
{
    enum { P = 20, NAMED = 11 };
    struct ex_case c = {
        .coll = GR_COLL_BARRIER, .algo = GR_ALGO_MAILBOX, .kind = EX_F32_MAX, .count = 1};
    struct ex_world w;
    int late, r, ranks[GR_GROUP_MOST];

    open_world(&w, P, 2, 1);
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), 0);
    for (late = 0; late < P; late++) {
        for (r = 0; r < P; r++) {
            if (r != late) {
                enter(&w, &c, r);
            }
        }
        assert_int_equal(poll_all(P, late), 0);
        for (r = 0; r < P && NAMED == late; r++) {
            const struct gr_grouped_call *call = &hands[r].call;
            const struct gr_group *g;

            if (r == late) {
                continue;
            }
            g = &gr_grouped_at(call)->group;
            assert_int_equal(gr_mailbox_waits_for(&gr_grouped_at(call)->box, &call->now, ranks), 1);
            /* the leader of its group for it, rank 0 for that leader, all others for their leader */
            assert_int_equal(g->first + ranks[0] * g->step, 8 == r              ? late
                                                            : 0 == r || 16 == r ? 8
                                                                                : r / 8 * 8);
        }
        enter(&w, &c, late);
        assert_int_equal(poll_all(P, -1), P);
        leave(P);
    }
    ex_close(&w);
}

/* ---- shapes ---- */

/* Each rank is in one group of each level up to its highest; the members speak for all ranks. */
static void groups_hold_all_ranks_once(void **state)
{
    int p, r, k, level, levels;

    for (p = 2; p <= GR_GROUPED_MOST; p++) {
        levels = gr_group_levels(p);
        assert_in_range(levels, 1, GR_GROUP_LEVELS);
        assert_int_equal(levels > 1, p > GR_GROUP_MOST);
        for (r = 0; r < p; r++) {
            for (level = 0; level < levels; level++) {
                struct gr_group g = gr_group_at(p, r, level), leader;

                if (0 == g.n) { /* it leads no group of the level below */
                    assert_true(level > 0 && 0 != gr_group_at(p, r, level - 1).me);
                    break;
                }
                assert_true(0 == level || 0 == gr_group_at(p, r, level - 1).me);
                assert_in_range(g.n, 2, GR_GROUP_MOST);
                assert_int_equal(g.first + g.me * g.step, r);
                leader = gr_group_at(p, g.first, level);
                assert_true(0 == leader.me && leader.n == g.n && leader.end == g.end);
                assert_int_equal(gr_group_next(&g, g.n - 1), g.end);
                for (k = 0; k < g.n; k++) {
                    int first = g.first + k * g.step;

                    assert_true(gr_group_at(p, first, level).me == k);
                    assert_int_equal(gr_group_member(&g, first), k);
                    assert_int_equal(gr_group_member(&g, gr_group_next(&g, k) - 1), k);
                }
                assert_int_equal(gr_group_member(&g, g.first - 1), -1);
                assert_int_equal(gr_group_member(&g, g.end), -1);
                assert_true(level + 1 < levels || (0 == g.first && p == g.end));
                assert_int_equal(level + 1 == levels, 0 == gr_group_at(p, 0, level + 1).n);
            }
        }
    }
}

static void grids_have_all_ranks_in_a_row_and_a_column(void **state)
{
    int p, r, columns;

    for (p = 2; p <= GR_GRID_SIDE * GR_GRID_SIDE + 1; p++) {
        columns = gr_grid_columns(p);
        if (0 == columns) {
            for (r = 1; r <= GR_GRID_SIDE; r++) {
                assert_true(0 != p % r || p / r > GR_GRID_SIDE);
            }
            assert_int_equal(gr_grid_row(p, 0).n, 0);
            assert_int_equal(gr_grid_column(p, 0).n, 0);
            continue;
        }
        assert_true(columns <= GR_GRID_SIDE && 0 == p % columns && columns * columns >= p);
        for (r = 0; r < p; r++) {
            struct gr_group row = gr_grid_row(p, r), column = gr_grid_column(p, r);

            assert_int_equal(row.n, columns);
            assert_int_equal(row.first + row.me * row.step, r);
            assert_int_equal(row.first / columns, r / columns);
            assert_int_equal(column.n, p == columns ? 0 : p / columns);
            assert_true(0 == column.n || column.first + column.me * column.step == r);
        }
    }
    assert_int_equal(gr_grid_columns(64), 8);
    assert_int_equal(gr_grid_columns(31), 31);
    assert_int_equal(gr_grid_columns(37), 0);
}

static void a_way_is_there_where_its_boards_are(void **state)
{
    assert_int_equal(gr_mailbox_use(GR_COLL_ALLTOALL, 9), GR_ALGO_MAILBOX);
    assert_int_equal(gr_mailbox_use(GR_COLL_ALLTOALL, 10), GR_USE_GRID);
    assert_int_equal(gr_mailbox_use(GR_COLL_ALLTOALL, 37), -1);
    assert_int_equal(gr_mailbox_use(GR_COLL_BCAST, 37), GR_ALGO_MAILBOX);
    assert_int_equal(gr_mailbox_use(GR_COLL_BCAST, GR_GROUPED_MOST), GR_ALGO_MAILBOX);
    assert_int_equal(gr_mailbox_use(GR_COLL_BCAST, GR_GROUPED_MOST + 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_hold_all_ranks_once),
        cmocka_unit_test(grids_have_all_ranks_in_a_row_and_a_column),
        cmocka_unit_test(a_way_is_there_where_its_boards_are),
        cmocka_unit_test(calls_are_right_in_any_order_of_ranks),
        cmocka_unit_test(epochs_may_wrap_and_sets_are_used_again),
        cmocka_unit_test(calls_are_right_in_threads),
        cmocka_unit_test(all_reductions_give_the_same_bits),
        cmocka_unit_test(a_missing_rank_is_waited_for_by_its_group),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
