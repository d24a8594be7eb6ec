/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is measured of a machine (tune/measure.h), the constants made of it (tune/machine.h), and
 * what may depend on them: how bytes are copied, but never the order in which more than two ranks
 * reduce.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/errors.h"
#include "exec/reduce.h"
#include "select_questions.h"
#include "tune/machine.h"
#include "tune/measure.h"

/* bytes per microsecond through slots and by single copy; 0: refused */
static struct gr_machine machine_of(double exchange, double slots, double fetch, double call)
{
    struct gr_machine m = {.exchange = (float) exchange,
                           .reduce = (float) ((double) gr_machine_bytes[0] / 100000),
                           .call = (float) (fetch > 0 ? call : 0)};
    int k;

    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        m.one_way[k] = (float) ((double) gr_machine_bytes[k] / slots);
        m.two_way[k] = (float) ((double) gr_machine_bytes[k] / slots);
        m.fetch[k] = (float) (fetch > 0 ? call + (double) gr_machine_bytes[k] / fetch : 0);
        m.fetch_new[k] = m.fetch[k];
    }
    return m;
}

static struct gr_costs costs_of(const struct gr_machine *m, enum gr_coll coll, int p, size_t bytes)
{
    struct gr_select_args q = host_question(coll, p);

    set_bytes(&q, bytes);
    return gr_machine_costs(m, &gr_costs_host, &q);
}

/* ---- what is believed ---- */

static void nothing_measured_is_not_good(void **state)
{
    struct gr_machine m = {.exchange = 0}, good = machine_of(0.2, 10000, 10000, 1);
    struct gr_costs costs;

    (void) state;
    assert_true(gr_machine_good(&good));
    assert_false(gr_machine_good(&m));
    costs = costs_of(&m, GR_COLL_BCAST, 2, 1 << 20);
    assert_memory_equal(&costs, &gr_costs_host, sizeof(costs));
}

static void impossible_times_are_not_good(void **state)
{
    static const float bad[] = {0, -1, NAN, INFINITY, 1e-9F, 1e9F};
    size_t k, at;

    (void) state;
    for (k = 0; k < COUNT_OF(bad); k++) {
        for (at = 0; at < sizeof(struct gr_machine) / sizeof(float); at++) {
            struct gr_machine m = machine_of(0.2, 10000, 10000, 1);

            memcpy((char *) &m + at * sizeof(float), &bad[k], sizeof(float));
            /* single copy may have been refused */
            assert_int_equal(gr_machine_good(&m), 0 == m.call);
        }
    }
}

/* ---- constants ---- */

static void constants_are_the_measured_ones(void **state)
{
    struct gr_machine m = machine_of(0.4, 5000, 20000, 1.5), faster = machine_of(0.1, 5000, 0, 0);
    struct gr_costs costs, other;
    size_t bytes;

    (void) state;
    for (bytes = 1; bytes <= MOST_BYTES; bytes = next_bytes(bytes)) {
        costs = costs_of(&m, GR_COLL_BCAST, 3, bytes);
        other = costs_of(&faster, GR_COLL_BCAST, 3, bytes);
        /* the call is not counted twice */
        assert_true(fabs(costs.by[GR_BY_FETCHING].byte * 20000 - 1) < 0.001);
        assert_true(fabs(costs.by[GR_BY_FETCHING].step - 2 * costs.by[GR_BY_SLOTS].step - 1.5) <
                    0.001);
        /* a time of slots has the step that the first message takes, but for most of it bytes */
        assert_true(costs.by[GR_BY_SLOTS].byte * 5000 > 0.1 &&
                    costs.by[GR_BY_SLOTS].byte * 5000 <= 1.001);
        assert_true(fabs(costs.by[GR_BY_SLOTS].step / other.by[GR_BY_SLOTS].step - 4) < 0.001);
        assert_true(fabs(costs.mailbox / other.mailbox - 4) < 0.001);
        /* refused: those of the base are as good as any */
        assert_true(other.by[GR_BY_FETCHING].byte == gr_costs_host.by[GR_BY_FETCHING].byte);
        /* what decides the order of reduction stays */
        assert_true(costs.flat_ranks == gr_costs_host.flat_ranks &&
                    costs.by[GR_BY_SLOTS].channel_bytes ==
                        gr_costs_host.by[GR_BY_SLOTS].channel_bytes &&
                    costs.mailbox_ranks == gr_costs_host.mailbox_ranks);
        /* what is fetched has to be combined besides */
        costs = costs_of(&m, GR_COLL_REDUCE, 3, bytes);
        assert_true(fabs(costs.by[GR_BY_FETCHING].byte - 1.0 / 20000 - 1.0 / 100000) < 1e-7);
    }
}

/* Two ranks of a rooted collective move bytes in one direction; all others in both. */
static void directions_count(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 10000, 0.5);
    int coll, p, k;

    (void) state;
    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        m.two_way[k] *= 2;
    }
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (p = 2; p <= 4; p++) {
            int rooted = GR_COLL_BCAST == coll || GR_COLL_REDUCE == coll;
            double byte = costs_of(&m, (enum gr_coll) coll, p, 8 << 20).by[GR_BY_SLOTS].byte;

            assert_int_equal(byte * 10000 > 1.5, !(rooted && 2 == p));
        }
    }
}

/* What a rank forwards was just written: only the first hop reads what was read before. */
static void new_data_counts(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 20000, 0.5);
    double one, two, three;
    int k;

    (void) state;
    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        m.fetch_new[k] = (float) (0.5 + (double) gr_machine_bytes[k] / 5000);
    }
    one = costs_of(&m, GR_COLL_BCAST, 2, 1 << 20).by[GR_BY_FETCHING].byte;
    two = costs_of(&m, GR_COLL_BCAST, 3, 1 << 20).by[GR_BY_FETCHING].byte;
    three = costs_of(&m, GR_COLL_BCAST, 4, 1 << 20).by[GR_BY_FETCHING].byte;
    assert_true(fabs(one - 1.0 / 20000) < 1e-7);
    assert_true(fabs(two - (1.0 / 20000 + 1.0 / 5000) / 2) < 1e-7);
    assert_true(fabs(three - (1.0 / 20000 + 2.0 / 5000) / 3) < 1e-7);
    /* an Allreduce on two ranks gathers what they have reduced */
    two = costs_of(&m, GR_COLL_ALLREDUCE, 2, 1 << 20).by[GR_BY_FETCHING].byte;
    assert_true(two > (1.0 / 20000 + 1.0 / 5000) / 2);
}

/* Between two sizes a constant lies between theirs; beyond the sizes it is that of the last one. */
static void constants_follow_the_size(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 10000, 0.5);
    double last = 0, byte;
    size_t bytes;
    int k;

    (void) state;
    for (k = 0; k < GR_MACHINE_SIZES; k++) { /* larger ones are slower */
        m.fetch_new[k] = (float) (0.5 + (double) gr_machine_bytes[k] / (20000 >> k));
        m.fetch[k] = m.fetch_new[k];
    }
    for (bytes = 1; bytes <= MOST_BYTES; bytes = next_bytes(bytes)) {
        byte = costs_of(&m, GR_COLL_ALLGATHER, 3, bytes).by[GR_BY_FETCHING].byte;
        assert_true(byte >= last);
        last = byte;
        for (k = 0; k < GR_MACHINE_SIZES; k++) {
            assert_true(bytes > gr_machine_bytes[k] || byte * (20000 >> k) < 1.001);
            assert_true(bytes < gr_machine_bytes[k] || byte * (20000 >> k) > 0.999);
        }
    }
}

/* ---- the choice ---- */

/* Machines of every kind: slots or single copy much faster or slower, lines near or far. */
static struct gr_machine machines[] = {
    {.exchange = 0}, {.exchange = 0}, {.exchange = 0}, {.exchange = 0}, {.exchange = 0}};

static void make_machines(void)
{
    machines[0] = machine_of(0.2, 1000, 100000, 0.2);
    machines[1] = machine_of(0.2, 100000, 1000, 0.2);
    machines[2] = machine_of(0.02, 20000, 20000, 5);
    machines[3] = machine_of(2, 20000, 20000, 0.2);
    machines[4] = machine_of(0.2, 10000, 0, 0);
}

static int reduces(enum gr_coll coll)
{
    return GR_COLL_ALLREDUCE == coll || GR_COLL_REDUCE == coll || GR_COLL_REDUCE_SCATTER == coll;
}

static void keeps_the_order(const struct gr_costs *costs, const struct gr_select_args *shape)
{
    struct gr_select_args q = *shape;
    struct gr_choice plain, c;
    size_t bytes, k;

    if (q.p <= 2 || !reduces(q.coll) || 0 != q.threads || q.internode.nodes > 1) {
        return;
    }
    for (bytes = 1; bytes <= MOST_BYTES; bytes = 3 * bytes + 1) {
        set_bytes(&q, bytes);
        plain = gr_select(costs, &q);
        for (k = 0; k < COUNT_OF(machines); k++) {
            struct gr_costs measured = gr_machine_costs(&machines[k], costs, &q);

            c = gr_select_measured(costs, &measured, &q);
            assert_int_equal(c.way, plain.way);
            assert_int_equal(c.nchannels, plain.nchannels);
            if (GR_WAY_MAILBOX != c.way &&
                GR_BLOCKS != gr_algo_layout((enum gr_algo) c.way, q.coll)) {
                assert_int_equal(c.direct, plain.direct);
                assert_int_equal(c.chunk_bytes, plain.chunk_bytes);
                assert_int_equal(c.direct_chunk_bytes, plain.direct_chunk_bytes);
            }
        }
    }
}

static void reductions_keep_their_order(void **state)
{
    int coll;

    (void) state;
    make_machines();
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for_each_host((enum gr_coll) coll, keeps_the_order);
    }
}

/* Large messages are copied as is fastest here: on two ranks, and wherever nothing is reduced. */
static void copies_as_is_fastest(void **state)
{
    int coll, p, k;

    (void) state;
    make_machines();
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (p = 2; p <= 8; p += 3) {
            if (GR_COLL_ALLTOALL == coll || GR_COLL_BARRIER == coll ||
                (p > 2 && reduces((enum gr_coll) coll))) {
                continue;
            }
            for (k = 0; k < 2; k++) {
                struct gr_select_args q = host_question((enum gr_coll) coll, p);
                struct gr_costs measured;

                q.direct = 1;
                set_bytes(&q, 8 << 20);
                measured = gr_machine_costs(&machines[k], &gr_costs_host, &q);
                assert_int_equal(gr_select_measured(&gr_costs_host, &measured, &q).direct, 0 == k);
            }
        }
    }
}

/* ---- the measurement ---- */

static int threads_of_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = -2; /* "." and ".." */

    assert_non_null(tasks);
    for (; NULL != readdir(tasks); n++) {
    }
    closedir(tasks);
    return n;
}

static void measures_and_leaves_nothing(void **state)
{
    struct gr_machine m;
    cpu_set_t before, after;
    char text[512];
    int threads, rc, tries;

    (void) state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    /* a sanitizer has a thread of its own from the first that is created on */
    (void) gr_machine_measure(0, gr_reduce_find(GR_TYPE_F32, GR_OP_SUM), &m);
    threads = threads_of_process();
    for (tries = 0, rc = GR_ERR_TIMEOUT; tries < 20 && GR_ERR_TIMEOUT == rc; tries++) {
        rc = gr_machine_measure(2, gr_reduce_find(GR_TYPE_F32, GR_OP_SUM), &m);
    }
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(threads_of_process(), threads);
    if (GR_ERR_NOT_SUPPORTED == rc) {
        skip(); /* one processor */
    }
    assert_int_equal(rc, 0);
    assert_true(gr_machine_good(&m));
    print_message("# %s\n", gr_machine_text(&m, text, sizeof(text)));
}

static void ends_when_the_time_is_over(void **state)
{
    struct gr_machine m = machine_of(1, 1, 1, 1), none = {.exchange = 0};
    int threads = threads_of_process();
    int rc = gr_machine_measure(0, gr_reduce_find(GR_TYPE_F32, GR_OP_SUM), &m);

    (void) state;
    assert_true(GR_ERR_TIMEOUT == rc || GR_ERR_NOT_SUPPORTED == rc);
    assert_memory_equal(&m, &none, sizeof(m));
    assert_int_equal(threads_of_process(), threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_measured_is_not_good),
        cmocka_unit_test(impossible_times_are_not_good),
        cmocka_unit_test(constants_are_the_measured_ones),
        cmocka_unit_test(directions_count),
        cmocka_unit_test(new_data_counts),
        cmocka_unit_test(constants_follow_the_size),
        cmocka_unit_test(reductions_keep_their_order),
        cmocka_unit_test(copies_as_is_fastest),
        cmocka_unit_test(measures_and_leaves_nothing),
        cmocka_unit_test(ends_when_the_time_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
