/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of an algorithm (tune/select.h): that it depends on nothing but the question, that it stays
 * within bounds, and that it changes with size as it should.
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

/* All questions: collectives, algorithms (also none), ranks, slots, bytes. */
static void for_each_question(visit_fn visit)
{
    struct gr_question q = {.nchannels = 4};
    int coll, p;
    size_t k;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (q.forced = -1; q.forced < GR_NALGOS; q.forced++) {
            if (q.forced >= 0 && !gr_algo_has((enum gr_algo) q.forced, (enum gr_coll) coll)) {
                continue;
            }
            for (p = 1; p <= 64; p += 1 + p / 9) {
                for (k = 0; k < NSLOT_SIZES; k++) {
                    for (q.bytes = 1; q.bytes < MOST_BYTES; q.bytes = next_bytes(q.bytes)) {
                        q.coll = (enum gr_coll) coll;
                        q.p = p;
                        q.slot_bytes = slot_sizes[k];
                        visit(&q);
                    }
                }
            }
        }
    }
}

static void check_bounds(const struct gr_question *q)
{
    struct gr_choice c = gr_select(&gr_costs_host, q), again;
    size_t wanted = 1 + q->bytes / gr_costs_host.channel_bytes;
    struct gr_question other = *q;

    assert_true(gr_algo_has(c.algo, q->coll));
    assert_true(q->forced < 0 || c.algo == (enum gr_algo) q->forced);
    assert_true(c.chunk_bytes >= 1 && c.chunk_bytes <= q->slot_bytes);
    assert_true(isfinite(c.us) && c.us >= 0);
    assert_int_equal(c.nchannels, wanted < q->nchannels ? wanted : q->nchannels);
    if (GR_ALGO_FLAT == c.algo && q->forced < 0) {
        assert_true(q->p <= gr_costs_host.flat_ranks);
    }
    /* the same answer, whatever was asked in between */
    other.bytes = 1 + q->bytes / 2;
    other.p = 64;
    (void) gr_select(&gr_costs_host, &other);
    again = gr_select(&gr_costs_host, q);
    assert_true(again.algo == c.algo && again.nchannels == c.nchannels && again.chunk_bytes == c.chunk_bytes &&
                again.us == c.us);
}

static void choices_are_in_bounds_and_repeatable(void **state)
{
    (void) state;
    for_each_question(check_bounds);
}

/* No algorithm that might have been chosen is expected to be faster. */
static void check_best(const struct gr_question *q)
{
    double us = gr_select(&gr_costs_host, q).us;
    size_t chunk;
    int a;

    for (a = 0; a < GR_NALGOS && q->forced < 0; a++) {
        if (gr_algo_has((enum gr_algo) a, q->coll) && !(GR_ALGO_FLAT == a && q->p > gr_costs_host.flat_ranks)) {
            assert_true(us <= gr_cost(&gr_costs_host, q, (enum gr_algo) a, &chunk));
        }
    }
}

static void the_cheapest_is_chosen(void **state)
{
    (void) state;
    for_each_question(check_best);
}

/*
 * True but where a pipeline's chunk is held at its least length (4 KiB): there, more bytes may be cut into more
 * chunks, which is up to 1.37 times as fast.
 */
static void check_monotone(const struct gr_question *q)
{
    struct gr_question more = *q;
    double us, most, slack;
    size_t chunk;

    if (q->forced < 0) {
        return;
    }
    more.bytes = next_bytes(q->bytes);
    us = gr_cost(&gr_costs_host, q, (enum gr_algo) q->forced, &chunk);
    slack = chunk > 4096 ? 1 + 1e-12 : 1.4;
    most = gr_cost(&gr_costs_host, &more, (enum gr_algo) q->forced, &chunk);
    if (us > most * slack) {
        fail_msg("%s %s p=%d slot=%zu: %zu bytes cost %g us, %zu bytes %g us", gr_algo_name((enum gr_algo) q->forced),
                 gr_coll_name(q->coll), q->p, q->slot_bytes, q->bytes, us, more.bytes, most);
    }
}

static void more_bytes_never_cost_less(void **state)
{
    (void) state;
    for_each_question(check_monotone);
}

/*
 * What is chosen for 64 bytes and for 1 GiB. A broadcast between two ranks is the same by any algorithm. Small
 * allreduces between flat's ranks and 18 go by ring or tree, about equal in the model.
 */
static void small_and_large_take_different_ways(void **state)
{
    static const struct {
        enum gr_coll coll;
        enum gr_algo large;
        int from; /* ranks */
        int tree; /* ranks from which the small ones go by tree */
    } rows[] = {
        {GR_COLL_ALLREDUCE, GR_ALGO_RING, 2, 18},
        {GR_COLL_BCAST, GR_ALGO_CHAIN, 3, 9},
        {GR_COLL_REDUCE, GR_ALGO_CHAIN, 3, 9},
    };
    size_t k;
    int p;

    (void) state;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        for (p = rows[k].from; p <= 64; p++) {
            struct gr_question q = {rows[k].coll, p, 64, -1, 1, SLOT_BYTES};
            enum gr_algo small = gr_select(&gr_costs_host, &q).algo, large;

            q.bytes = (size_t) 1 << 30;
            large = gr_select(&gr_costs_host, &q).algo;
            if (large != rows[k].large || (p <= gr_costs_host.flat_ranks && GR_ALGO_FLAT != small) ||
                (p >= rows[k].tree && GR_ALGO_TREE != small)) {
                fail_msg("%s p=%d: %s, then %s", gr_coll_name(q.coll), p, gr_algo_name(small), gr_algo_name(large));
            }
        }
    }
}

static void blocks_beyond_flat_ranks_go_by_ring(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLGATHER, GR_COLL_REDUCE_SCATTER};
    struct gr_question q = {.forced = -1, .nchannels = 1, .slot_bytes = SLOT_BYTES};
    int k;

    (void) state;
    for (k = 0; k < 2; k++) {
        q.coll = colls[k];
        for (q.p = gr_costs_host.flat_ranks + 1; q.p <= 64; q.p++) {
            for (q.bytes = 1; q.bytes < MOST_BYTES; q.bytes = next_bytes(q.bytes)) {
                assert_int_equal(gr_select(&gr_costs_host, &q).algo, GR_ALGO_RING);
            }
        }
    }
}

static void flat_is_taken_beyond_its_ranks_when_forced(void **state)
{
    struct gr_question q = {GR_COLL_ALLREDUCE, 50, 8, GR_ALGO_FLAT, 1, SLOT_BYTES};
    struct gr_costs costs = gr_costs_host;

    (void) state;
    assert_int_equal(gr_select(&costs, &q).algo, GR_ALGO_FLAT);
    q.forced = -1;
    assert_int_equal(gr_select(&costs, &q).algo, GR_ALGO_TREE);
    costs.flat_ranks = 0;
    q.p = 2;
    assert_int_not_equal(gr_select(&costs, &q).algo, GR_ALGO_FLAT);
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
        struct gr_question q = {GR_COLL_ALLREDUCE, 4, rows[k].bytes, -1, rows[k].most, SLOT_BYTES};

        assert_int_equal(gr_select(&costs, &q).nchannels, rows[k].want);
    }
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
