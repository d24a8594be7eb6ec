/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the proof that gpuring_bench's arithmetic is right, without MPI: factors and bounds against
 * worked examples, the fit and the percentiles against known data, sizes and the test pattern. */
#include "elements.h"
#include "fit.h"
#include "ideal.h"
#include "moves.h"
#include "options.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_RANKS = 64 };

static const double B = 450, I = 100;

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

/* Ranks are placed node by node. */
static struct ideal_layout layout_of(const int *per_node, int nodes)
{
    struct ideal_layout layout;
    int node_of[MAX_RANKS], ranks = 0;

    for (int n = 0; n < nodes; n++) {
        for (int i = 0; i < per_node[n]; i++) {
            node_of[ranks++] = n;
        }
    }
    assert_int_equal(ideal_layout_init(&layout, node_of, ranks), 0);
    return layout;
}

static struct ideal_layout even(int per_node, int nodes)
{
    int counts[MAX_RANKS];

    for (int n = 0; n < nodes; n++) {
        counts[n] = per_node;
    }
    return layout_of(counts, nodes);
}

static void busbw_factors(void **state)
{
    (void)state;
    assert_close(ideal_factor(IDEAL_ALLREDUCE, 4), 1.5);
    assert_close(ideal_factor(IDEAL_SHARES, 4), 0.75);
    assert_close(ideal_factor(IDEAL_ALLTOALL, 8), 0.875);
    assert_close(ideal_factor(IDEAL_ROOTED, 8), 1);
    assert_close(ideal_factor(IDEAL_SENDRECV, 8), 1);
    assert_true(0 == ideal_factor(IDEAL_ALLREDUCE, 1));
    /* 4 nodes x 8 GPUs, 1 GB in 0.1 s */
    assert_close(ideal_busbw(IDEAL_ALLREDUCE, 1000000000, 0.1, 32), 19.375);
}

static void one_node_is_B(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 16; ranks++) {
        struct ideal_layout layout = even(ranks, 1);
        for (int kind = IDEAL_ALLREDUCE; kind <= IDEAL_SENDRECV; kind++) {
            assert_true(B == ideal_bound((enum ideal_kind)kind, &layout, B, NAN));
        }
        assert_close(ideal_published(&layout, B, NAN), B);
    }
}

static void bounds_of_8_x_2(void **state)
{
    struct ideal_layout layout = even(8, 2);

    (void)state;
    assert_close(ideal_bound(IDEAL_ALLREDUCE, &layout, B, I), 187.5);
    assert_close(ideal_bound(IDEAL_SHARES, &layout, B, I), 187.5);
    assert_close(ideal_bound(IDEAL_ROOTED, &layout, B, I), 100);
    assert_close(ideal_bound(IDEAL_ALLTOALL, &layout, B, I), 23.4375);
    /* 4 ranks have a pair on the wire, 12 do not: the mean time is S (4/100 + 12/450) / 16 */
    assert_close(ideal_bound(IDEAL_SENDRECV, &layout, B, I), 240);
    /* the other term, where the wire is no limit */
    assert_close(ideal_bound(IDEAL_ALLREDUCE, &layout, B, 1e9), 450 * 15 / 14.0);
    assert_close(ideal_bound(IDEAL_SHARES, &layout, B, 1e9), 450 * 15 / 14.0);
    assert_close(ideal_bound(IDEAL_ALLTOALL, &layout, B, 1e9), 450 * 15 / 7.0);
    assert_close(450 * 15 / 14.0, 482.14285714285717);
    assert_close(ideal_bound(IDEAL_ROOTED, &layout, 50, I), 50);
}

static void published_formula(void **state)
{
    struct ideal_layout eight_two = even(8, 2), one_each = even(1, 4);

    (void)state;
    assert_close(ideal_published(&eight_two, B, I), 187.5);
    assert_close(ideal_published(&eight_two, B, 1e9), 482.14285714285717);
    assert_close(ideal_published(&one_each, NAN, I), 100); /* the second term does not apply */
}

static void one_rank_per_node_is_I(void **state)
{
    struct ideal_layout layout = even(1, 4);

    (void)state;
    for (int kind = IDEAL_ALLREDUCE; kind <= IDEAL_SENDRECV; kind++) {
        assert_close(ideal_bound((enum ideal_kind)kind, &layout, NAN, I), 100);
    }
}

/* By counting, node by node: 3 ranks and 1 rank. Shares: 3/4 S enter the small node.
 * Alltoall: 3 pairs of S/4 leave either node. Inside: the large node's ranks move 2/3 S each. */
static void uneven_nodes(void **state)
{
    int counts[] = {3, 1};
    struct ideal_layout layout = layout_of(counts, 2);

    (void)state;
    assert_true(ideal_is_uneven(&layout));
    assert_close(ideal_bound(IDEAL_SHARES, &layout, 1e9, I), 100);
    assert_close(ideal_bound(IDEAL_ALLREDUCE, &layout, 1e9, I), 150);
    assert_close(ideal_bound(IDEAL_ALLTOALL, &layout, 1e9, I), 100);
    assert_close(ideal_bound(IDEAL_SHARES, &layout, B, 1e9), 450 * 0.75 / (2 / 3.0));
    assert_close(ideal_bound(IDEAL_SENDRECV, &layout, B, I), 4 / (3 / 100.0 + 1 / 450.0));
}

static void unknown_links(void **state)
{
    struct ideal_layout one = even(1, 1), many = even(3, 2);
    int bad[] = {0, 2};

    (void)state;
    assert_true(isnan(ideal_bound(IDEAL_ALLREDUCE, &one, B, I)));
    assert_true(isnan(ideal_published(&one, B, I)));
    for (int kind = IDEAL_ALLREDUCE; kind <= IDEAL_SENDRECV; kind++) {
        assert_true(isnan(ideal_bound((enum ideal_kind)kind, &many, NAN, I)));
        assert_true(isnan(ideal_bound((enum ideal_kind)kind, &many, B, NAN)));
    }
    assert_int_equal(ideal_layout_init(&one, bad, 2), -1);
}

/* Ranks dealt out to the nodes in turn: every pair of neighbours crosses, two share each wire, and
 * the two done in order wait 1 and 2 transfers. */
static void sendrecv_round_robin(void **state)
{
    int node_of[] = {0, 1, 0, 1};
    struct ideal_layout layout;

    (void)state;
    assert_int_equal(ideal_layout_init(&layout, node_of, 4), 0);
    assert_close(ideal_bound(IDEAL_SENDRECV, &layout, B, I), 100 / 1.5);
}

static void fit_of_a_line(void **state)
{
    double bytes[20], us[20];
    struct fit_line line;

    (void)state;
    for (int i = 0; i < 20; i++) { /* 5 us + S / 2 GB/s */
        bytes[i] = 8.0 * (1 << i);
        us[i] = 5 + bytes[i] / 2e3;
    }
    assert_int_equal(fit_times(&line, bytes, us, 20), 0);
    assert_true(fabs(line.overhead_us - 5) < 1e-6);
    assert_true(fabs(line.bandwidth_GBs - 2) < 1e-6);
    assert_true(line.residual_rms < 1e-9 && line.residual_max < 1e-9);
}

/* Two measurements at each of two sizes, 10% above and below: the best line has weights 1/t^2, so
 * each size's middle is t (1-d^2)/(1+d^2), and the errors follow. */
static void fit_residual(void **state)
{
    double d = 0.1, shrink = (1 - d * d) / (1 + d * d);
    double bytes[] = {1000, 1000, 1e6, 1e6};
    double us[] = {10 * (1 + d), 10 * (1 - d), 100 * (1 + d), 100 * (1 - d)};
    double high = 1 - shrink / (1 + d), low = shrink / (1 - d) - 1;
    struct fit_line line;

    (void)state;
    assert_int_equal(fit_times(&line, bytes, us, 4), 0);
    assert_true(fabs(line.overhead_us + 1000 / line.bandwidth_GBs * 1e-3 - 10 * shrink) < 1e-9);
    assert_true(fabs(line.residual_max - (high > low ? high : low)) < 1e-9);
    assert_true(fabs(line.residual_rms - sqrt((high * high + low * low) / 2)) < 1e-9);
}

static void fit_refuses(void **state)
{
    double bytes[] = {8, 16, 32}, same[] = {8, 8, 8}, us[] = {3, 2, 1};
    struct fit_line line;

    (void)state;
    assert_int_equal(fit_times(&line, bytes, us, 0), -1);
    assert_int_equal(fit_times(&line, bytes, us, 1), -1);
    assert_int_equal(fit_times(&line, same, us, 3), -1);
    assert_int_equal(fit_times(&line, bytes, us, 3), -1); /* shrinking times */
}

static void percentiles(void **state)
{
    double values[100], one[] = {7};

    (void)state;
    for (int i = 0; i < 100; i++) {
        values[i] = 100 - i;
    }
    fit_sort(values, 100);
    assert_true(50 == fit_percentile(values, 100, 50));
    assert_true(99 == fit_percentile(values, 100, 99));
    assert_true(1 == fit_percentile(values, 100, 0));
    assert_true(100 == fit_percentile(values, 100, 100));
    assert_true(7 == fit_percentile(one, 1, 99));
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: refused */
    } rows[] = {
        {"1", 1}, {"64k", 65536}, {"64K", 65536}, {"3M", 3145728}, {"2g", 2147483648u}, {"0", 0},
        {"", 0}, {"k", 0}, {"-1", 0}, {" 1", 0}, {"1kk", 0}, {"1T", 0}, {"1.5k", 0},
        {"99999999999999999999", 0}, {"18446744073709551615k", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t bytes = 0;
        assert_int_equal(options_size(rows[i].text, &bytes), rows[i].bytes > 0 ? 0 : -1);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

/* S is a whole number of elements for every rank, and at least one. */
static void shapes(void **state)
{
    struct shape s = moves_shape(&moves_reduce_scatter, 1 << 20, 4, 3, 2, 0, false);

    (void)state;
    assert_int_equal(s.total * s.element, 1048572);
    assert_int_equal(s.in_count, s.total);
    assert_int_equal(s.out_count, s.total / 3);
    s = moves_shape(&moves_allgather, 4, 8, 4, 3, 0, true);
    assert_int_equal(s.total * s.element, 32);
    assert_int_equal(s.in_at, 3);
    s = moves_shape(&moves_reduce, 64, 8, 4, 1, 0, true);
    assert_int_equal(s.out_count, 0);
    assert_false(s.shared);
}

/* Sums and products in single precision, from the last rank to the first, are what the rule says. */
static void float_reductions_are_exact(void **state)
{
    static float input[ELEMENT_TILE], reduced[ELEMENT_TILE];

    (void)state;
    for (int ranks = 1; ranks <= 40; ranks += 13) {
        float sum[ELEMENT_TILE] = {0}, prod[ELEMENT_TILE];
        struct element_rule rule = {&element_types[ELEMENT_FLOAT], ELEMENT_SUM, ranks, 0};
        for (int r = ranks; r-- > 0;) {
            element_tile_input(&rule, r, input);
            for (int i = 0; i < ELEMENT_TILE; i++) {
                sum[i] += input[i];
            }
        }
        element_tile_reduced(&rule, reduced);
        assert_memory_equal(sum, reduced, sizeof sum);
        rule.op = ELEMENT_PROD;
        for (int i = 0; i < ELEMENT_TILE; i++) {
            prod[i] = 1;
        }
        for (int r = ranks; r-- > 0;) {
            element_tile_input(&rule, r, input);
            for (int i = 0; i < ELEMENT_TILE; i++) {
                prod[i] *= input[i];
            }
        }
        element_tile_reduced(&rule, reduced);
        assert_memory_equal(prod, reduced, sizeof prod);
    }
}

/* The reduction over one rank less differs somewhere, so a lost contribution is noticed. (Not for
 * band and bor, whose inputs depend on the number of ranks.) */
static void every_rank_matters(void **state)
{
    static int64_t all[ELEMENT_TILE], fewer[ELEMENT_TILE];

    (void)state;
    for (int type = 0; type < ELEMENT_TYPES; type++) {
        for (int op = 0; op < ELEMENT_OPS; op++) {
            struct element_rule rule = {&element_types[type], (enum element_op)op, 9, 3};
            size_t bytes = ELEMENT_TILE * rule.type->size;
            if (ELEMENT_BAND == op || ELEMENT_BOR == op) {
                continue;
            }
            element_tile_reduced(&rule, all);
            rule.ranks = 8;
            element_tile_reduced(&rule, fewer);
            assert_int_not_equal(memcmp(all, fewer, bytes), 0);
        }
    }
}

static void checks_see_errors(void **state)
{
    struct element_rule rule = {&element_types[ELEMENT_INT16], ELEMENT_MOVE, 2, 0};
    struct shape s = moves_shape(&moves_sendrecv, 40000, 2, 2, 0, 0, false);
    struct buffers b;

    (void)state;
    assert_int_equal(moves_alloc(&b, &memory_host, &s), 0);
    moves_prepare(&b, &s, &rule);
    assert_true(moves_check(&b, &s, &rule) > 19900); /* nothing arrived; some are poison by chance */
    element_tile_input(&rule, 1, b.tile);
    for (size_t i = 0; i < s.total; i++) {
        memcpy(b.recv + 2 * i, b.tile + i % ELEMENT_TILE * 2, 2);
    }
    assert_int_equal(moves_check(&b, &s, &rule), 0);
    moves_corrupt(&b, &s);
    assert_int_equal(moves_check(&b, &s, &rule), 1);
    b.recv[2 * s.total]++; /* one beyond the end */
    assert_int_equal(moves_check(&b, &s, &rule), 2);
    b.send[5]++; /* an input that was written */
    assert_int_equal(moves_check(&b, &s, &rule), 3);
    moves_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busbw_factors),
        cmocka_unit_test(one_node_is_B),
        cmocka_unit_test(bounds_of_8_x_2),
        cmocka_unit_test(published_formula),
        cmocka_unit_test(one_rank_per_node_is_I),
        cmocka_unit_test(uneven_nodes),
        cmocka_unit_test(unknown_links),
        cmocka_unit_test(sendrecv_round_robin),
        cmocka_unit_test(fit_of_a_line),
        cmocka_unit_test(fit_residual),
        cmocka_unit_test(fit_refuses),
        cmocka_unit_test(percentiles),
        cmocka_unit_test(sizes),
        cmocka_unit_test(shapes),
        cmocka_unit_test(float_reductions_are_exact),
        cmocka_unit_test(every_rank_matters),
        cmocka_unit_test(checks_see_errors),
    };

    return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
