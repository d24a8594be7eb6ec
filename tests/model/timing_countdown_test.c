/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start-time unification (timing/countdown.h) on a virtual clock, where the true instants are
 * known: on tori of all shapes, with any skew of entering, ranks whose clocks have nothing in
 * common begin at one instant; with estimates that are wrong by e, within 2e per dimension. The
 * countdown is compiled into this file with a hook in the place of the table, to inject errors.
 * Seed: GPURING_SEED.
 */
#include "timing_world.h"

#include "rng.h"

static int64_t hooked_between(const struct gr_latency *l, int d, int x, int y);

#define gr_latency_between hooked_between
#include "timing/countdown.c"
#undef gr_latency_between

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_test.h"

static int64_t until_skew; /* the largest of the last run */
static int nap_in_countdown;
/* of estimates of L_ji: one sign at even receivers, the other at odd ones */
static int64_t largest_error;
static uint64_t seed;

static int64_t hooked_between(const struct gr_latency *l, int d, int x, int y)
{
    return gr_latency_between(l, d, x, y) - (y % 2 ? largest_error : -largest_error);
}

struct node {
    struct gr_latency latency;
    struct gr_countdown countdown;
    int64_t enters;  /* the world's time; */
    int64_t through; /* and when it was through, by its clock */
    int left;        /* countdowns */
};

static struct tw_world world;
static struct node nodes[TW_MAX_RANKS];
static int64_t instants[64][TW_MAX_RANKS]; /* [countdown][rank]: the instant by the world's clock */

static int64_t untils[64][TW_MAX_RANKS]; /* the same, of what the countdown says that it was */

static int64_t skew_of(const int64_t *of)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    int r;

    for (r = 0; r < world.p; r++) {
        least = of[r] < least ? of[r] : least;
        most = of[r] > most ? of[r] : most;
    }
    return most - least;
}

/* Poll one rank; after a countdown it enters the next one at once, or up to `pause` later. */
static void poll_node(int r, int n, int64_t pause)
{
    const int64_t value[GR_SYNC_VALUES] = {r + 7, -r};
    struct node *node = &nodes[r];
    struct gr_countdown *c = &node->countdown;
    struct gr_note note;
    int64_t at;

    while (1 == world.ranks[r].port.poll(&world.ranks[r], &note, &at)) {
        assert_int_equal(gr_countdown_receive(c, &note, at), 0);
    }
    if (0 == node->left || world.now < node->enters) {
        return;
    }
    if (!c->running) {
        gr_countdown_begin(c, value);
    }
    if (nap_in_countdown && 0 == rng_below(&world.random, 150)) {
        node->enters = world.now + 10000;
    }
    if (1 == gr_countdown_poll(c)) {
        node->left--;
        instants[n - 1 - node->left][r] = world.now;
        untils[n - 1 - node->left][r] = c->instant - world.ranks[r].clock;
        assert_int_equal(c->value[0], world.p + 6);
        assert_int_equal(c->value[1], 0);
        assert_true(world.now + world.ranks[r].clock - c->instant >= 0);
        node->enters = world.now + (pause > 0 ? (int64_t) rng_below(&world.random, pause) : 0);
    }
}

/* n countdowns of all ranks, who enter within `pause`. Returns the largest skew. */
static int64_t run(int n, int64_t pause, int common)
{
    int64_t end = world.now + 1000000000, worst = 0;
    int r, left;

    until_skew = 0;
    for (r = 0; r < world.p; r++) {
        tw_fill(&world, &nodes[r].latency, r);
        nodes[r].latency.common_clock = common;
        gr_countdown_init(&nodes[r].countdown, &world.ranks[r].port, &nodes[r].latency);
        nodes[r].left = n;
        nodes[r].enters = world.now + (pause > 0 ? (int64_t) rng_below(&world.random, pause) : 0);
    }
    do {
        for (r = 0, left = 0; r < world.p; r++) {
            poll_node(r, n, pause);
            left += nodes[r].left;
        }
        world.now += world.quantum;
        assert_true(world.now < end);
    } while (left > 0);
    for (r = 0; r < world.p; r++) {
        gr_latency_free(&nodes[r].latency);
    }
    for (r = 0; r < n; r++) {
        worst = skew_of(instants[r]) > worst ? skew_of(instants[r]) : worst;
        until_skew = skew_of(untils[r]) > until_skew ? skew_of(untils[r]) : until_skew;
    }
    return worst;
}

/* Polls add a quantum per dimension that is more than one rank long. */
static int64_t grain(void)
{
    int64_t n = 1;
    int d;

    for (d = 0; d < world.torus.ndims; d++) {
        n += world.torus.dims[d] > 1;
    }
    return n * world.quantum;
}

/* N (A - 1) notes per dimension, summed. */
static uint64_t notes_expected(void)
{
    uint64_t n = 0;
    int d;

    for (d = 0; d < world.torus.ndims; d++) {
        n += (uint64_t) (world.p * (world.torus.dims[d] - 1));
    }
    return n;
}

static void check_shape(const char *torus)
{
    int64_t pauses[] = {0, 500, 20000}, skew;
    size_t k;

    for (k = 0; k < 3; k++) {
        tw_open(&world, torus, 1000, 20, 0, rng_next(&seed));
        skew = run(4, pauses[k], 0);
        if (skew > grain()) {
            fail_msg("%s, entering within %lld ns: skew %lld ns", torus, (long long) pauses[k],
                     (long long) skew);
        }
        assert_int_equal(world.sent[GR_NOTE_SYNC], 4 * notes_expected());
        tw_close(&world);
    }
}

static void test_shapes(void **state)
{
    static const char *const more[] = {"4x4x4", "5x3x2",   "2x2x2",   "1x4x3",
                                       "3x1x1", "2x3x2x3", "2x2x2x2", "8x8"};
    char text[32];
    int x, y;
    size_t k;

    for (x = 1; x <= 9; x++) {
        snprintf(text, sizeof(text), "%d", x);
        check_shape(text);
    }
    for (x = 1; x <= 5; x++) {
        for (y = 1; y <= 5; y++) {
            snprintf(text, sizeof(text), "%dx%d", x, y);
            check_shape(text);
        }
    }
    for (k = 0; k < sizeof(more) / sizeof(more[0]); k++) {
        check_shape(more[k]);
    }
}

/* Estimates that are wrong by e in opposite directions: up to 2e per dimension, and no more. */
static void test_errors(void **state)
{
    static const char *const shapes[] = {"2", "5", "8", "2x2", "4x3", "2x2x2", "3x3x2", "2x3x2x3"};
    int64_t errors[] = {100, 400, 900}, skew, bound;
    size_t k, e;
    int d, long_dims;

    for (k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        for (e = 0; e < 3; e++) {
            tw_open(&world, shapes[k], 2000, 20, 0, rng_next(&seed));
            largest_error = errors[e];
            skew = run(12, 3000, 0);
            for (d = 0, long_dims = 0; d < world.torus.ndims; d++) {
                long_dims += world.torus.dims[d] > 1;
            }
            bound = 2 * errors[e] * long_dims + grain();
            if (skew > bound || skew < errors[e] / 2) {
                fail_msg("%s, e = %lld ns: skew %lld ns, bound %lld ns", shapes[k],
                         (long long) errors[e], (long long) skew, (long long) bound);
            }
            tw_close(&world);
        }
    }
    largest_error = 0;
}

/* With one clock for all, estimates do not matter. */
static void test_common_clock(void **state)
{
    tw_open(&world, "4x3", 2000, 20, 1, rng_next(&seed));
    largest_error = 900;
    assert_true(run(8, 5000, 1) <= grain());
    largest_error = 0;
    tw_close(&world);
}

/* Who sleeps between two dimensions starts late, but the instant is the same for all. */
static void test_naps(void **state)
{
    tw_open(&world, "4x3x2", 2000, 20, 0, rng_next(&seed));
    nap_in_countdown = 1;
    run(6, 5000, 0);
    nap_in_countdown = 0;
    assert_true(until_skew <= grain());
    tw_close(&world);
}

/* Jitter of notes adds at most itself per dimension. */
static void test_jitter(void **state)
{
    int64_t skew;

    tw_open(&world, "4x4", 2000, 20, 0, rng_next(&seed));
    world.jitter = 300;
    skew = run(20, 5000, 0);
    assert_true(skew <= 2 * world.jitter + grain());
    tw_close(&world);
}

/* Ports without room hold notes up, but none is lost or sent twice. */
static void test_no_room(void **state)
{
    tw_open(&world, "4x3x2", 2000, 20, 0, rng_next(&seed));
    world.refuse = 3;
    run(8, 5000, 0);
    assert_int_equal(world.sent[GR_NOTE_SYNC], 8 * notes_expected());
    tw_close(&world);
}

/* Notes that no rank may send at this time are refused, and change nothing. */
static void test_bad_notes(void **state)
{
    const int64_t value[GR_SYNC_VALUES] = {0, 0};
    struct gr_countdown c, before;
    struct gr_latency l;
    struct gr_note note = {.seq = 1, .from = 1, .kind = GR_NOTE_SYNC, .dim = 0};
    static const struct {
        uint64_t seq;
        int from, dim;
    } bad[] = {{0, 1, 0}, {3, 1, 0}, {1, 0, 0}, {1, -1, 0},
               {1, 9, 0}, {1, 4, 0}, {1, 1, 1}, {1, 1, 2}};
    size_t k;

    tw_open(&world, "3x3", 2000, 20, 0, rng_next(&seed));
    tw_fill(&world, &l, 0);
    gr_countdown_init(&c, &world.ranks[0].port, &l);
    gr_countdown_begin(&c, value);
    for (k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        note.seq = bad[k].seq;
        note.from = bad[k].from;
        note.dim = (uint8_t) bad[k].dim;
        before = c;
        assert_int_equal(gr_countdown_receive(&c, &note, 0), -1);
        assert_memory_equal(&before, &c, sizeof(c));
    }
    note =
        (struct gr_note) {.seq = 1, .from = 2, .kind = GR_NOTE_SYNC, .dim = 0, .sent = INT64_MIN};
    assert_int_equal(gr_countdown_receive(&c, &note, 0), -1); /* no clock says so */
    note.sent = 0;
    note.value[GR_SYNC_VALUES] = INT64_MIN;
    assert_int_equal(gr_countdown_receive(&c, &note, 0), -1);
    note.value[GR_SYNC_VALUES] = 0;
    assert_int_equal(gr_countdown_missing(&c), 2);
    assert_int_equal(gr_countdown_receive(&c, &note, 0), 0);
    assert_int_equal(gr_countdown_missing(&c), 1);
    note.from = 1;
    note.seq = 2; /* of a rank that is ahead */
    assert_int_equal(gr_countdown_receive(&c, &note, 0), 0);
    assert_int_equal(gr_countdown_missing(&c), 1);
    note.seq = 1;
    assert_int_equal(gr_countdown_receive(&c, &note, 0), 0);
    assert_int_equal(gr_countdown_receive(&c, &note, 0), -1); /* more than there are */
    gr_latency_free(&l);
    tw_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_common_clock), cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_bad_notes),    cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_naps),
    };

    seed = rng_seed();
    return cmocka_run_group_tests_name("countdown", tests, NULL, NULL);
}
