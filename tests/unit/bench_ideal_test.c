/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_bench's arithmetic, without MPI: factors and bounds against worked examples, the fit and
 * the percentiles against known data; sizes and lists on the command line.
 */
#include "common/fit.h"
#include "common/ideal.h"
#include "common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

enum { MAX_RANKS = 64 };

static const double B = 450, I = 100;

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

/* Ranks are placed node by node. */
static struct ideal_layout rooted(const int *per_node, int nodes, int root)
{
    struct ideal_layout layout;
    int node_of[MAX_RANKS], ranks = 0;

    for (int n = 0; n < nodes; n++) {
        for (int i = 0; i < per_node[n]; i++) {
            node_of[ranks++] = n;
        }
    }
    assert_int_equal(ideal_layout_init(&layout, node_of, ranks, root), 0);
    return layout;
}

static struct ideal_layout layout_of(const int *per_node, int nodes)
{
    return rooted(per_node, nodes, 0);
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
    assert_close(ideal_factor(IDEAL_ALLREDUCE, 4), 1.5);
    assert_close(ideal_factor(IDEAL_SHARES, 4), 0.75);
    assert_close(ideal_factor(IDEAL_ALLTOALL, 8), 0.875);
    assert_close(ideal_factor(IDEAL_ROOTED, 8), 1);
    assert_close(ideal_factor(IDEAL_SENDRECV, 8), 1);
    assert_close(ideal_factor(IDEAL_ROOT_SHARES, 4), 0.75);
    assert_close(ideal_factor(IDEAL_SCAN, 4), 1);
    assert_true(0 == ideal_factor(IDEAL_ALLREDUCE, 1));
    /* 4 nodes x 8 GPUs, 1 GB in 0.1 s */
    assert_close(ideal_busbw(IDEAL_ALLREDUCE, 1000000000, 0.1, 32), 19.375);
}

static void one_node_is_B(void **state)
{
    for (int ranks = 2; ranks <= 16; ranks++) {
        struct ideal_layout layout = even(ranks, 1);
        for (int kind = IDEAL_ALLREDUCE; kind <= IDEAL_SENDRECV; kind++) {
            assert_true(B == ideal_bound((enum ideal_kind) kind, &layout, B, NAN));
        }
    }
}

static void bounds_of_8_x_2(void **state)
{
    struct ideal_layout layout = even(8, 2);

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
    /* 8 of 16 blocks cross the root's node's link; 7, its own */
    assert_close(ideal_bound(IDEAL_ROOT_SHARES, &layout, B, I), 187.5);
    assert_close(ideal_bound(IDEAL_ROOT_SHARES, &layout, B, 1e9), 450 * 15 / 7.0);
    assert_close(ideal_bound(IDEAL_SCAN, &layout, B, I), 100);
}

/* By counting bytes, of 4 ranks with S = 1 at 3000 GB/s: the factor times 3000 over the bytes. */
static void one_pass_over_a_shared_device(void **state)
{
    /* each rank reads 1 and writes 1 */
    assert_close(ideal_one_pass(IDEAL_ALLREDUCE, 4, false, 3000), 1.5 * 3000 / 8);
    assert_close(ideal_one_pass(IDEAL_ALLREDUCE, 4, true, 3000), 1.5 * 3000 / 8);
    /* an allgather reads 4 blocks of 1/4, and writes 1 at each rank; in place 3/4 at each */
    assert_close(ideal_one_pass(IDEAL_SHARES, 4, false, 3000), 0.75 * 3000 / 5);
    assert_close(ideal_one_pass(IDEAL_SHARES, 4, true, 3000), 0.75 * 3000 / 4);
    /* a bcast reads 1 and writes it at 3 ranks */
    assert_close(ideal_one_pass(IDEAL_ROOTED, 4, false, 3000), 750);
    /* a gather reads 1/4 at each rank, and writes 1 at the root */
    assert_close(ideal_one_pass(IDEAL_ROOT_SHARES, 4, false, 3000), 0.75 * 3000 / 2);
    assert_close(ideal_one_pass(IDEAL_ROOT_SHARES, 4, true, 3000), 0.75 * 3000 / 1.5);
    assert_close(ideal_one_pass(IDEAL_ALLTOALL, 4, false, 3000), 0.75 * 3000 / 8);
    assert_close(ideal_one_pass(IDEAL_SCAN, 4, false, 3000), 500);
    assert_close(ideal_one_pass(IDEAL_SENDRECV, 4, false, 3000), 375);
    assert_true(isnan(ideal_one_pass(IDEAL_ALLREDUCE, 1, false, 3000)));
    assert_true(isnan(ideal_one_pass(IDEAL_ALLREDUCE, 4, false, NAN)));
}

static void one_rank_per_node_is_I(void **state)
{
    struct ideal_layout layout = even(1, 4);

    for (int kind = IDEAL_ALLREDUCE; kind <= IDEAL_SENDRECV; kind++) {
        assert_close(ideal_bound((enum ideal_kind) kind, &layout, NAN, I), 100);
    }
}

/* By counting, node by node: 3 ranks and 1 rank. Shares: 3/4 S enter the small node.
 * Alltoall: 3 pairs of S/4 leave either node. Inside: the large node's ranks move 2/3 S each. */
static void uneven_nodes(void **state)
{
    int counts[] = {3, 1};
    struct ideal_layout layout = layout_of(counts, 2);

    assert_true(ideal_is_uneven(&layout));
    assert_close(ideal_bound(IDEAL_SHARES, &layout, 1e9, I), 100);
    assert_close(ideal_bound(IDEAL_ALLREDUCE, &layout, 1e9, I), 150);
    assert_close(ideal_bound(IDEAL_ALLTOALL, &layout, 1e9, I), 100);
    assert_close(ideal_bound(IDEAL_SHARES, &layout, B, 1e9), 450 * 0.75 / (2 / 3.0));
    assert_close(ideal_bound(IDEAL_SENDRECV, &layout, B, I), 4 / (3 / 100.0 + 1 / 450.0));
}

/*
 * Gather and scatter by counting, with each rank as the root: of 3 + 1 + 2 ranks, what is not on
 * the root's node crosses its link, t = S/6 (N-P)/I. Inside, (P-1) blocks cross the root's own,
 * which has none where it is alone.
 */
static void bounds_depend_on_the_root(void **state)
{
    static const int counts[] = {3, 1, 2}, node_of[] = {0, 0, 0, 1, 2, 2};

    for (int root = 0; root < 6; root++) {
        struct ideal_layout layout = rooted(counts, 3, root);
        int p = counts[node_of[root]];
        assert_close(ideal_bound(IDEAL_ROOT_SHARES, &layout, 1e9, I), 100 * 5.0 / (6 - p));
        if (p > 1) {
            assert_close(ideal_bound(IDEAL_ROOT_SHARES, &layout, B, 1e9), 450 * 5.0 / (p - 1));
            assert_true(isnan(ideal_bound(IDEAL_ROOT_SHARES, &layout, NAN, I)));
        } else {
            assert_close(ideal_bound(IDEAL_ROOT_SHARES, &layout, NAN, I), 100);
        }
    }
}

/*
 * Each time that the row of ranks leaves a node, or enters it, another sum crosses its link: here
 * three leave node 0; then two leave and two enter node 1, where the row begins and ends; then two
 * enter node 1; then one each.
 */
static void scans_by_the_order_of_ranks(void **state)
{
    static const int thrice[] = {0, 1, 0, 1, 0, 2}, ends[] = {1, 0, 1, 0, 0, 1},
                     enters[] = {0, 1, 2, 2, 1, 1}, once[] = {2, 2, 0, 0, 0, 1};
    struct ideal_layout layout;

    assert_int_equal(ideal_layout_init(&layout, thrice, 6, 0), 0);
    assert_close(ideal_bound(IDEAL_SCAN, &layout, B, I), 100 / 3.0);
    assert_int_equal(ideal_layout_init(&layout, ends, 6, 0), 0);
    assert_close(ideal_bound(IDEAL_SCAN, &layout, B, I), 50);
    assert_int_equal(ideal_layout_init(&layout, enters, 6, 0), 0);
    assert_close(ideal_bound(IDEAL_SCAN, &layout, B, I), 50);
    assert_int_equal(ideal_layout_init(&layout, once, 6, 0), 0);
    assert_close(ideal_bound(IDEAL_SCAN, &layout, B, I), 100);
}

/* An exchange takes 0.5 us; copies of up to 64 KiB run at 10 GB/s, of 1 MiB and more at 20. */
static struct ideal_rates rates_of_a_node(void)
{
    struct ideal_rates rates = {.exchange_us = 0.5};

    for (int k = 0; k < IDEAL_SIZES; k++) {
        rates.GBs[k] = ideal_sizes[k] <= 64 << 10 ? 10 : ideal_sizes[k] < 1 << 20 ? 15 : 20;
    }
    return rates;
}

/* Microseconds that the limit allows. */
static double limit_us(enum ideal_kind kind, int ranks, size_t bytes)
{
    struct ideal_rates rates = rates_of_a_node();

    return (double) bytes * ideal_factor(kind, ranks) / ideal_limit(kind, ranks, &rates, bytes) *
           1e-3;
}

static void limits_of_a_size(void **state)
{
    struct ideal_rates rates = rates_of_a_node();

    /* as many bytes as S pass to each of two ranks, half of them in a bcast */
    assert_close(limit_us(IDEAL_ALLREDUCE, 2, 10000), 0.5 + 1);
    assert_close(limit_us(IDEAL_ROOTED, 2, 10000), 0.25 + 0.5);
    assert_close(limit_us(IDEAL_SHARES, 4, 40000), 0.5 + 3);
    assert_close(limit_us(IDEAL_ALLREDUCE, 4, 40000), 0.5 + 6);
    assert_close(limit_us(IDEAL_ALLTOALL, 4, 40000), 0.5 + 3);
    assert_close(limit_us(IDEAL_ROOT_SHARES, 4, 16000), 0.125 + 0.3);
    assert_close(limit_us(IDEAL_SENDRECV, 4, 10000), 0.5 + 1);
    assert_close(limit_us(IDEAL_SCAN, 2, 20000), 0.25 + 1);
    /* beyond the last size, and between two */
    assert_close(limit_us(IDEAL_ALLREDUCE, 2, (size_t) 1 << 30), 0.5 + (1 << 30) / 20e3);
    assert_close(limit_us(IDEAL_ALLREDUCE, 2, 128 << 10), 0.5 + (128 << 10) / 12.5e3);
    assert_true(isnan(ideal_limit(IDEAL_ALLREDUCE, 1, &rates, 1000)));
    rates.exchange_us = NAN;
    assert_true(isnan(ideal_limit(IDEAL_ALLREDUCE, 2, &rates, 1000)));
}

static void unknown_links(void **state)
{
    struct ideal_layout one = even(1, 1), many = even(3, 2);
    int bad[] = {0, 2};

    assert_true(isnan(ideal_bound(IDEAL_ALLREDUCE, &one, B, I)));
    for (int kind = IDEAL_ALLREDUCE; kind <= IDEAL_SENDRECV; kind++) {
        assert_true(IDEAL_SCAN == kind ||
                    isnan(ideal_bound((enum ideal_kind) kind, &many, NAN, I)));
        assert_true(isnan(ideal_bound((enum ideal_kind) kind, &many, B, NAN)));
    }
    assert_close(ideal_bound(IDEAL_SCAN, &many, NAN, I), 100); /* B does not matter */
    assert_int_equal(ideal_layout_init(&one, bad, 2, 0), -1);
}

/* Ranks dealt out to the nodes in turn: every pair of neighbours crosses, two share each wire, and
 * the two done in order wait 1 and 2 transfers. */
static void sendrecv_round_robin(void **state)
{
    int node_of[] = {0, 1, 0, 1};
    struct ideal_layout layout;

    assert_int_equal(ideal_layout_init(&layout, node_of, 4, 0), 0);
    assert_close(ideal_bound(IDEAL_SENDRECV, &layout, B, I), 100 / 1.5);
}

static void fit_of_a_line(void **state)
{
    double bytes[20], us[20];
    struct fit_line line;

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

    assert_int_equal(fit_times(&line, bytes, us, 4), 0);
    assert_true(fabs(line.overhead_us + 1000 / line.bandwidth_GBs * 1e-3 - 10 * shrink) < 1e-9);
    assert_true(fabs(line.residual_max - (high > low ? high : low)) < 1e-9);
    assert_true(fabs(line.residual_rms - sqrt((high * high + low * low) / 2)) < 1e-9);
}

static void fit_refuses(void **state)
{
    double bytes[] = {8, 16, 32}, same[] = {8, 8, 8}, us[] = {3, 2, 1};
    struct fit_line line;

    assert_int_equal(fit_times(&line, bytes, us, 0), -1);
    assert_int_equal(fit_times(&line, bytes, us, 1), -1);
    assert_int_equal(fit_times(&line, same, us, 3), -1);
    assert_int_equal(fit_times(&line, bytes, us, 3), -1); /* shrinking times */
}

static void percentiles(void **state)
{
    double values[100], one[] = {7};

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
        {"1", 1},
        {"64k", 65536},
        {"64K", 65536},
        {"3M", 3145728},
        {"2g", 2147483648u},
        {"0", 0},
        {"", 0},
        {"k", 0},
        {"-1", 0},
        {" 1", 0},
        {"1kk", 0},
        {"1T", 0},
        {"1.5k", 0},
        {"99999999999999999999", 0},
        {"18446744073709551615k", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t bytes = 0;
        assert_int_equal(cli_whole(rows[i].text, 1, SIZE_MAX, NULL, &bytes), rows[i].bytes > 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void parse(struct options *options, const char *devices, int expected, char *error)
{
    char program[] = "gpuring_bench", option[] = "-d", collective[] = "bcast";
    char value[1024], *argv[] = {program, option, value, collective, NULL};
    const char *names[] = {"bcast", "all", NULL};

    strcpy(value, devices);
    *options = options_default();
    assert_int_equal(options_parse(options, NULL, NULL, 4, argv, names, error), expected);
}

/* Each rank takes one of the list, in turn. */
static void device_lists(void **state)
{
    static const enum device_kind four[] = {DEVICE_PINNED, DEVICE_CUDA, DEVICE_HOST,
                                            DEVICE_MANAGED};
    static const char *const bad[] = {"",    ",",        "cuda,",     ",host", "cuda,,host",
                                      "hos", "hostcuda", "host cuda", "Host"};
    char error[CLI_ERROR_CHARS], many[1024] = "cuda";
    struct options o;

    parse(&o, "pinned,cuda,host,managed", 0, error);
    assert_int_equal(o.device, DEVICE_MIXED);
    for (int r = 0; r < 9; r++) {
        assert_int_equal(options_device_of(&o, r), four[r % 4]);
    }
    parse(&o, "managed", 0, error);
    assert_int_equal(o.device, DEVICE_MANAGED);
    assert_int_equal(options_device_of(&o, 5), DEVICE_MANAGED);
    parse(&o, "cuda,cuda", 0, error);
    assert_int_equal(o.device, DEVICE_CUDA);
    for (int i = 1; i < OPTIONS_MAX_DEVICES; i++) {
        strcat(many, ",host");
    }
    parse(&o, many, 0, error);
    assert_int_equal(options_device_of(&o, OPTIONS_MAX_DEVICES), DEVICE_CUDA);
    parse(&o, strcat(many, ",host"), -1, error);
    assert_non_null(strstr(error, "up to 64"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        parse(&o, bad[i], -1, error);
        assert_non_null(strstr(error, "allowed: host cuda managed pinned, or"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busbw_factors),
        cmocka_unit_test(one_node_is_B),
        cmocka_unit_test(bounds_of_8_x_2),
        cmocka_unit_test(one_pass_over_a_shared_device),
        cmocka_unit_test(one_rank_per_node_is_I),
        cmocka_unit_test(uneven_nodes),
        cmocka_unit_test(bounds_depend_on_the_root),
        cmocka_unit_test(scans_by_the_order_of_ranks),
        cmocka_unit_test(limits_of_a_size),
        cmocka_unit_test(unknown_links),
        cmocka_unit_test(sendrecv_round_robin),
        cmocka_unit_test(fit_of_a_line),
        cmocka_unit_test(fit_residual),
        cmocka_unit_test(fit_refuses),
        cmocka_unit_test(percentiles),
        cmocka_unit_test(sizes),
        cmocka_unit_test(device_lists),
    };

    return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
