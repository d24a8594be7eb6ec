/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of torus_sim, each against something simpler: the queue of events against sorting,
 * sizes of messages against blocks that are followed one by one, links against times worked out by
 * hand, the sync against its formula.
 */
#include "schemes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

static void near(double got, double want, const char *what)
{
    if (fabs(got - want) > 1e-6 * (1 + fabs(want))) {
        fail_msg("%s: %.9g, not %.9g", what, got, want);
    }
}

static void events_come_in_order(void **state)
{
    struct random r = random_seeded(7);
    struct events q = {0};
    double last = -1;
    uint32_t last_subject = 0, k, n = 0;

    for (k = 0; k < 20000; k++) { /* few times, so that many events have the same */
        assert_int_equal(
            events_add(&q, last + 1 + floor(10 * random_next(&r)), (int) k % 3, k, (int) k % 5), 0);
        if (random_next(&r) < 0.4) {
            struct event e = events_next(&q);

            assert_true(e.time > last || (e.time == last && e.subject > last_subject));
            assert_true(e.kind == e.subject % 3 && e.hop == e.subject % 5);
            last = e.time;
            last_subject = e.subject;
            n++;
        }
    }
    for (; q.n > 0; n++) {
        struct event e = events_next(&q);

        assert_true(e.time > last || (e.time == last && e.subject > last_subject));
        last = e.time;
        last_subject = e.subject;
    }
    assert_int_equal(n, 20000);
    events_free(&q);
}

/* ---- sizes ---- */

/* The k-th of an exchange's slots. */
static int slot_at(const struct gr_sched *a, const struct gr_slots *slots, int k)
{
    int alike = a->p / slots->radix, rest = k % alike; /* with the same digit */
    int digit = gr_wrap(slots->first + slots->step * (k / alike), slots->radix);

    digit = slots->fold ? gr_fold(slots->radix, digit) : digit;
    return (rest / slots->weight * slots->radix + digit) * slots->weight + rest % slots->weight;
}

/*
 * All blocks of a run, by token (origin), moved as the exchanges say; messages must be as long as
 * traffic.c says.
 */
static void check_sizes(enum gr_algo algo, const struct gr_torus *torus)
{
    struct gr_sched a = {.algo = algo, .p = gr_torus_size(torus), .torus = *torus};
    struct sizes sizes = {.bytes = 3, .uneven = 0.9, .skewed = 0.2, .factor = 7, .seed = 5};
    int p = a.p, lanes = gr_alltoall_lanes(&a), rank, lane, k;
    int *origin = malloc((size_t) (p * p) * sizeof(int)),
        *next = malloc((size_t) (p * p) * sizeof(int));
    double *weights = malloc((size_t) p * sizeof(double));
    struct traffic t;
    uint32_t tick, seen = 0;

    assert_int_equal(traffic_alltoall(&t, algo, torus, &sizes), 0);
    assert_int_equal(t.nticks, gr_alltoall_ticks(&a));
    sizes_weights(&sizes, p, weights);
    for (k = 0; k < p * p; k++) {
        origin[k] = k / p;
    }
    for (tick = 0; tick < t.nticks; tick++) {
        memcpy(next, origin, (size_t) (p * p) * sizeof(int));
        for (rank = 0; rank < p; rank++) {
            assert_int_equal(t.first[(size_t) tick * (size_t) p + (size_t) rank], seen);
            for (lane = 0; lane < lanes; lane++) {
                struct gr_exchange e, theirs;
                double bytes = 0;

                a.pos = rank;
                e = gr_alltoall_step(&a, lane, tick);
                if (e.to < 0) {
                    continue;
                }
                a.pos = e.from;
                theirs = gr_alltoall_step(&a, lane, tick);
                for (k = 0; k < gr_slots_count(&a, &e.slots); k++) {
                    bytes += 3 * weights[origin[rank * p + slot_at(&a, &e.slots, k)]];
                    next[rank * p + slot_at(&a, &e.slots, k)] =
                        origin[e.from * p + slot_at(&a, &theirs.slots, k)];
                }
                assert_true(t.messages[seen].from == rank && t.messages[seen].to == e.to &&
                            t.messages[seen].tick == tick);
                assert_int_equal(t.messages[seen].hops[e.dim], e.hops);
                near(t.messages[seen++].bytes, bytes, "bytes of a message");
            }
        }
        memcpy(origin, next, (size_t) (p * p) * sizeof(int));
    }
    assert_int_equal(seen, t.nmessages);
    memset(next, 0, (size_t) (p * p) * sizeof(int));
    for (k = 0; k < p * p; k++) { /* each rank has a block of each */
        assert_int_equal(next[k / p * p + origin[k]]++, 0);
    }
    traffic_free(&t);
    free(origin);
    free(next);
    free(weights);
}

static void sizes_are_those_of_the_blocks(void **state)
{
    check_sizes(GR_ALGO_SUH_SHIN, &(struct gr_torus) {.ndims = 3, .dims = {8, 4, 12}});
    check_sizes(GR_ALGO_SUH_SHIN, &(struct gr_torus) {.ndims = 2, .dims = {16, 12}});
    check_sizes(GR_ALGO_SUH_SHIN, &(struct gr_torus) {.ndims = 4, .dims = {4, 8, 2, 4}});
    check_sizes(GR_ALGO_ORDERED, &(struct gr_torus) {.ndims = 3, .dims = {5, 4, 7}});
    check_sizes(GR_ALGO_ORDERED, &(struct gr_torus) {.ndims = 3, .dims = {5, 4, 6}, .mesh = 5});
}

static void weights_are_as_asked(void **state)
{
    struct sizes sizes = {.uneven = 0.5, .seed = 1};
    double w[4096], least = 9, most = 0, sum = 0;
    int k, heavy = 0;

    sizes_weights(&sizes, 4096, w);
    for (k = 0; k < 4096; k++) {
        least = fmin(least, w[k]);
        most = fmax(most, w[k]);
        sum += w[k];
    }
    assert_true(least >= 0.5 && least < 0.502 && most <= 1.5 && most > 1.498 &&
                fabs(sum / 4096 - 1) < 0.02);
    sizes = (struct sizes) {.skewed = 0.01, .factor = 10};
    sizes_weights(&sizes, 4096, w);
    for (k = 0; k < 4096; k++) {
        assert_true(1 == w[k] || 10 == w[k]);
        heavy += 10 == w[k];
    }
    assert_in_range(heavy, 40, 42);
}

/* ---- links ---- */

/*
 * A ring of 8, 10 ns per hop, 1 byte per ns; messages of one tick: A from 0 to 3 and B from 1 to 3.
 */
static double run_two(const struct model *model, double packet, double a_bytes, double b_bytes,
                      uint64_t *conflicts)
{
    struct machine m = {.torus = {.ndims = 1, .dims = {8}}, .hop = {10}, .bandwidth = 1};
    struct message messages[2] = {{.from = 0, .to = 3, .hops = {3}, .bytes = a_bytes},
                                  {.from = 1, .to = 3, .hops = {2}, .bytes = b_bytes}};
    uint32_t first[9] = {0, 1, 2, 2, 2, 2, 2, 2, 2};
    struct traffic t = {
        .nranks = 8, .nticks = 1, .messages = messages, .first = first, .nmessages = 2};
    struct noise perfect = {0};
    struct outcome o;

    assert_int_equal(scheme_run(&m, &t, model, packet, SCHEME_SYNC_START, &perfect, NULL, NULL, &o),
                     0);
    near(o.sync_ns, 70, "sync around a ring of 8");
    *conflicts = o.conflicts;
    return o.ns - o.sync_ns;
}

static void whole_messages_wait_for_each_other(void **state)
{
    uint64_t conflicts;

    near(run_two(&model_fifo, 0, 100, 0, &conflicts), 130, "3 hops and 100 bytes, alone");
    /*
     * B holds 1-2 until 100; A's head came there at 10, leaves at 100, then 2 hops and its length;
     * 2-3 is B's until 110
     */
    near(run_two(&model_fifo, 0, 100, 100, &conflicts), 220, "A behind B");
    assert_int_equal(conflicts, 1);
}

static void packets_take_turns(void **state)
{
    uint64_t conflicts;

    near(run_two(&model_packets, 1000, 100, 0, &conflicts), 130, "one packet: as a message");
    near(run_two(&model_packets, 10, 100, 0, &conflicts), 130, "ten packets alone: cut-through");
    /*
     * both have 10 packets; 1-2 serves B's first at 0, then A, B by turns: busy until 200, then a
     * hop and one packet's hop
     */
    near(run_two(&model_packets, 10, 100, 100, &conflicts), 220, "by turns");
    assert_in_range(conflicts, 15, 20);
}

/* ---- sync and prediction ---- */

/*
 * The end of a dimension's sync is the latest of s_j + F_j, and the same at all, with exact
 * latencies.
 */
static void a_sync_ends_at_once(void **state)
{
    struct machine m = {.torus = {.ndims = 3, .dims = {5, 4, 3}, .mesh = 4}, .hop = {3, 5, 7}};
    struct random r = random_seeded(3);
    double times[60], last = 0, want;
    int k, shortest;

    for (shortest = 0; shortest < 2; shortest++) {
        for (last = 0, k = 0; k < 60; k++) {
            times[k] = 1000 * random_next(&r);
            last = fmax(last, times[k]);
        }
        sync_run(&m, NULL, shortest, times);
        /* a middle rank of the line is nearer to all than its ends: exact bounds for its part */
        want = last + (shortest ? 2 * 3 + 2 * 5 : 4 * 3 + 3 * 5);
        for (k = 0; k < 60; k++) {
            near(times[k], times[0], "everybody at once");
            assert_true(times[k] >= want + 1 * 7 - 1e-9 && times[k] <= want + 2 * 7 + 1e-9);
        }
    }
}

/* 2 x the sum of errors bounds the skew; and it is there. */
static void errors_of_estimates_skew_the_end(void **state)
{
    struct machine m = {.torus = {.ndims = 2, .dims = {8, 8}}, .hop = {100, 100}};
    struct random r = random_seeded(3);
    double times[64] = {0}, estimates[128], least = 1e9, most = 0;
    int k;

    for (k = 0; k < 128; k++) {
        estimates[k] = 1 + 0.1 * (2 * random_next(&r) - 1);
    }
    sync_run(&m, estimates, 0, times);
    for (k = 0; k < 64; k++) {
        least = fmin(least, times[k]);
        most = fmax(most, times[k]);
    }
    assert_true(most - least > 10 && most - least <= 2 * 2 * 0.1 * 700);
}

static void predictions_are_the_slowest_message(void **state)
{
    struct machine m = {.torus = {.ndims = 2, .dims = {4, 4}}, .hop = {10, 30}, .bandwidth = 2};
    struct message messages[4] = {{.from = 0, .to = 1, .hops = {1}, .bytes = 100},
                                  {.from = 1, .to = 0, .hops = {-1}, .bytes = 90},
                                  {.from = 2, .to = 6, .hops = {0, 1}, .bytes = 70},
                                  {.from = 0, .to = 5, .tick = 1, .hops = {1, -1}, .bytes = 8}};
    uint32_t first[33];
    struct traffic t = {
        .nranks = 16, .nticks = 2, .messages = messages, .first = first, .nmessages = 4};
    double estimates[2] = {2, 1};
    struct predictor *p;
    int k;

    for (k = 0; k < 33; k++) {
        first[k] = k == 0 ? 0 : k == 1 ? 1 : k == 2 ? 2 : k <= 16 ? 3 : 4;
    }
    p = predictor_make(&t);
    assert_non_null(p);
    near(predictor_tick(p, &m, 0, NULL), 65, "30 + 70/2");
    near(predictor_tick(p, &m, 0, estimates), 70, "2 x 10 + 100/2");
    near(predictor_tick(p, &m, 1, NULL), 44, "10 + 30 + 8/2");
    predictor_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(sizes_are_those_of_the_blocks),
        cmocka_unit_test(weights_are_as_asked),
        cmocka_unit_test(whole_messages_wait_for_each_other),
        cmocka_unit_test(packets_take_turns),
        cmocka_unit_test(a_sync_ends_at_once),
        cmocka_unit_test(errors_of_estimates_skew_the_end),
        cmocka_unit_test(predictions_are_the_slowest_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
