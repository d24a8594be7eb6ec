/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Step timing among processes whose notes a relay delays by milliseconds per dimension, as between
 * distant hosts: nobody leaves a countdown before all have entered, and timed collectives are right
 * with late and stopped ranks and wrong latencies. CLOCK_MONOTONIC is common to all processes, so
 * the true instants are known; the ranks' own clocks are off by seconds. Prints, and does not
 * judge, the start skew of the countdown and the exit skew of a dissemination barrier over the same
 * notes: timing_countdown_test.c judges it on a virtual clock.
 */
#include "timing_relay.h"

#include "exec/host.h"
#include "timing/timer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 24, CALLS = 16, ELEMS = 4096, SLOT_BYTES = 2048, SLOTS = 4 };
enum { BARRIER_NOTE = 40 };

struct times {
    int64_t entered[ROUNDS][P], left[ROUNDS][P];
};

static struct shared {
    _Atomic int arrived, generation;
    struct times barrier, countdown, wrong;
    _Atomic int calls_done[P];
    int wrong_results[P];
    struct gr_timing_report reports[P];
} * shared;
static unsigned char *links; /* P * P */

/* All ranks meet in shared memory. */
static void meet(void)
{
    int generation = shared->generation;

    if (P == atomic_fetch_add(&shared->arrived, 1) + 1) {
        shared->arrived = 0;
        shared->generation = generation + 1;
        return;
    }
    while (shared->generation == generation) {
        relay_nap(50000);
    }
}

static void take(struct relay_rank *r, struct gr_measure *m, struct gr_countdown *c)
{
    struct gr_note note;
    int64_t at;
    int rc;

    while (1 == relay_poll(r, &note, &at)) {
        if (BARRIER_NOTE == note.kind) {
            r->heard[note.seq % 16]++;
            continue;
        }
        rc = GR_NOTE_SYNC == note.kind ? gr_countdown_receive(c, &note, at)
                                       : gr_measure_receive(m, &note, at);
        if (rc < 0) {
            _exit(3);
        }
    }
}

/* Dissemination: in round k to the rank 2^k further on, and from the one 2^k before. */
static void barrier(struct relay_rank *r, struct gr_measure *m, struct gr_countdown *c, int number)
{
    int k;

    for (k = 0; 1 << k < P; k++) {
        struct gr_note note = {
            .seq = (uint64_t) (2 * number + k), .from = r->rank, .kind = BARRIER_NOTE};

        while (1 != relay_send(r, (r->rank + (1 << k)) % P, &note)) {
            relay_rest(r);
        }
        while (0 == r->heard[(2 * number + k) % 16]) {
            take(r, m, c);
            relay_rest(r);
        }
        r->heard[(2 * number + k) % 16]--;
    }
}

/* Rounds of one kind of start: everybody enters within a millisecond. */
static void rounds(struct relay_rank *r, struct gr_measure *m, struct gr_countdown *c,
                   struct times *times, int counts_down)
{
    const int64_t value[GR_SYNC_VALUES] = {0, 0};
    int k;

    for (k = 0; k < ROUNDS; k++) {
        meet();
        relay_nap((r->rank * 7919 + k * 104729) % 1000 * 1000);
        times->entered[k][r->rank] = relay_now();
        if (!counts_down) {
            barrier(r, m, c, k);
        } else {
            gr_countdown_begin(c, value);
            while (1 != gr_countdown_poll(c)) {
                relay_rest(r);
                take(r, m, c);
            }
        }
        times->left[k][r->rank] = relay_now();
    }
    meet();
}

/* This rank's own F is wrong by half a millisecond, up or down. */
static void spoil(struct gr_latency *l)
{
    int d, x, y;

    for (d = 0; d < 2; d++) {
        x = gr_latency_coord(l, d);
        for (y = 0; y < 2; y++) {
            l->ring[d][x * 2 + y] += x == y ? 0 : l->rank % 2 ? 500000 : -500000;
        }
    }
}

static void run_skews(struct relay_rank *r)
{
    struct gr_latency latency;
    struct gr_measure measure;
    struct gr_countdown countdown;

    if (0 != gr_latency_init(&latency, &torus, P, r->rank) ||
        0 != gr_measure_init(&measure, &r->port, &latency)) {
        _exit(2);
    }
    gr_countdown_init(&countdown, &r->port, &latency);
    gr_measure_begin(&measure);
    while (1 != gr_measure_poll(&measure)) {
        relay_rest(r);
        take(r, &measure, &countdown);
    }
    if (latency.common_clock) {
        _exit(4); /* clocks are seconds apart */
    }
    rounds(r, &measure, &countdown, &shared->barrier, 0);
    rounds(r, &measure, &countdown, &shared->countdown, 1);
    spoil(&latency);
    rounds(r, &measure, &countdown, &shared->wrong, 1);
    gr_measure_free(&measure);
    gr_latency_free(&latency);
}

/* ---- timed collectives ---- */

static const struct gr_gate gate = {gr_timer_may_begin, gr_timer_begins, gr_timer_ended,
                                    gr_timer_finished};

static struct gr_sched sched_of(const void *ctx, int rank, uint32_t channel)
{
    const struct gr_plan *plan = ctx;

    (void) channel;
    return (struct gr_sched) {.coll = GR_COLL_ALLREDUCE,
                              .algo = GR_ALGO_RING,
                              .p = P,
                              .pos = rank,
                              .nchunks = plan->split.nchunks};
}

static void attach(struct gr_link *in, struct gr_link *out, int rank)
{
    size_t bytes = gr_link_bytes(SLOTS, SLOT_BYTES);
    int k;

    for (k = 0; k < P; k++) {
        gr_link_attach(&in[k], (void *) (links + (size_t) (k * P + rank) * bytes), 0, SLOTS,
                       SLOT_BYTES);
        gr_link_attach(&out[k], (void *) (links + (size_t) (rank * P + k) * bytes), 0, SLOTS,
                       SLOT_BYTES);
    }
}

/*
 * One rank comes late in every fourth call; after half of the calls latencies are wrong everywhere.
 */
static void disturb(struct gr_timer *t, int rank, int call)
{
    int d, k;

    if (2 == rank && 3 == call % 4) {
        relay_nap(30000000);
    }
    for (d = 0; d < 2 && CALLS / 2 == call; d++) {
        for (k = 0; k < 4; k++) {
            t->latency.ring[d][k] /= 4;
            t->latency.all[d][k] /= 4;
        }
    }
}

static void run_calls(struct relay_rank *r)
{
    static uint32_t in_data[ELEMS], out_data[ELEMS];
    static struct gr_link in[P], out[P];
    struct gr_shape shape = {.coll = GR_COLL_ALLREDUCE,
                             .layout = GR_BLOCKS,
                             .p = P,
                             .total = ELEMS,
                             .nchannels = 1,
                             .chunk_elems = SLOT_BYTES / 4,
                             .align = 1};
    struct gr_plan plan = {.slot_elems = SLOT_BYTES / 4};
    struct gr_host_op op = {
        .in = in,
        .out = out,
        .p = P,
        .nchannels = 1,
        .space = {(unsigned char *) in_data, (unsigned char *) out_data, NULL},
        .reducer = {.elem_bytes = 4, .fused = gr_reduce_find(GR_TYPE_U32, GR_OP_SUM)}};
    struct gr_timing_job job = {.p = P,
                                .split = &plan.split,
                                .elem_bytes = 4,
                                .slot_elems = plan.slot_elems,
                                .nslots = SLOTS,
                                .sched = sched_of,
                                .ctx = &plan};
    struct gr_timer_links timer_links = {in, out, P};
    struct gr_stepper stepper;
    struct gr_timer timer;
    uint64_t moved = 0;
    int call, k, rc;

    attach(in, out, r->rank);
    gr_split_init(&plan.split, &shape);
    plan.sched[0] = sched_of(&plan, r->rank, 0);
    if (0 != gr_timer_init(&timer, GR_SYNC_TIMED, &r->port, &torus, P, r->rank)) {
        _exit(2);
    }
    for (call = 0; call < CALLS; call++) {
        for (k = 0; k < ELEMS; k++) {
            in_data[k] = (uint32_t) (k * 31 + call * 7 + r->rank);
            out_data[k] = 0;
        }
        disturb(&timer, r->rank, call);
        gr_stepper_start(&stepper, &plan, &gr_host_backend, &op);
        gr_timer_begin(&timer, &job, &timer_links, CALLS / 2 != call, 1);
        gr_stepper_gate(&stepper, &gate, &timer);
        while (GR_AGAIN == (rc = gr_stepper_run(&stepper, &moved))) {
            relay_rest(r);
        }
        for (k = 0; k < ELEMS; k++) {
            shared->wrong_results[r->rank] +=
                out_data[k] != (uint32_t) (P * (k * 31 + call * 7) + P * (P - 1) / 2);
        }
        shared->wrong_results[r->rank] += GR_DONE != rc;
        shared->calls_done[r->rank]++;
    }
    shared->reports[r->rank] = timer.report;
    gr_timer_free(&timer);
}

/* ---- the test ---- */

static void clear(void)
{
    memset(shared, 0, sizeof(*shared));
    memset(links, 0, P * P * gr_link_bytes(SLOTS, SLOT_BYTES));
}

/* All ranks have ended well. */
static void end_all(void)
{
    int status[P], k;

    relay_end(status);
    for (k = 0; k < P; k++) {
        assert_int_equal(status[k], 0);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return x < y ? -1 : x > y;
}

/*
 * Nobody leaves before all have entered. Prints medians: of the spread of leaving, and of the last
 * leaving after the last entering.
 */
static void judge(const struct times *t, const char *what)
{
    int64_t skews[ROUNDS], costs[ROUNDS];
    int k, r;

    for (k = 0; k < ROUNDS; k++) {
        int64_t first = INT64_MAX, last = 0, entered = 0;

        for (r = 0; r < P; r++) {
            first = t->left[k][r] < first ? t->left[k][r] : first;
            last = t->left[k][r] > last ? t->left[k][r] : last;
            entered = t->entered[k][r] > entered ? t->entered[k][r] : entered;
        }
        assert_true(first >= entered);
        skews[k] = last - first;
        costs[k] = last - entered;
    }
    qsort(skews, ROUNDS, sizeof(skews[0]), compare);
    qsort(costs, ROUNDS, sizeof(costs[0]), compare);
    printf("# %s: skew %.0f us, cost after the last entered %.0f us (medians of %d)\n", what,
           (double) skews[ROUNDS / 2] / 1e3, (double) costs[ROUNDS / 2] / 1e3, ROUNDS);
}

static void test_starts(void **state)
{
    (void) state;
    clear();
    assert_int_equal(relay_start(run_skews), 0);
    end_all();
    judge(&shared->barrier, "dissemination barrier");
    judge(&shared->countdown, "countdown");
    judge(&shared->wrong, "countdown, F off by 500 us");
}

static void test_calls(void **state)
{
    int r, k;

    (void) state;
    clear();
    assert_int_equal(relay_start(run_calls), 0);
    for (k = 0; k < 4; k++) { /* one rank is stopped and goes on */
        while (shared->calls_done[1] < 2 + 3 * k && 0 == kill(relay_pids[0], 0)) {
            relay_nap(2000000);
        }
        kill(relay_pids[1], SIGSTOP);
        relay_nap(60000000);
        kill(relay_pids[1], SIGCONT);
    }
    end_all();
    for (r = 0; r < P; r++) {
        assert_int_equal(shared->wrong_results[r], 0);
        assert_int_equal(shared->calls_done[r], CALLS);
        assert_int_equal(shared->reports[r].syncs, shared->reports[0].syncs);
        assert_true(shared->reports[r].steps > 0);
    }
    printf(
        "# rank 0: %llu steps, %llu misses, %llu waits, %llu resyncs, start skew at most %.0f us\n",
        (unsigned long long) shared->reports[0].steps,
        (unsigned long long) shared->reports[0].misses,
        (unsigned long long) shared->reports[0].waits,
        (unsigned long long) shared->reports[0].resyncs,
        (double) shared->reports[0].skew_max / 1e3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_starts), cmocka_unit_test(test_calls)};

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    links = mmap(NULL, P * P * gr_link_bytes(SLOTS, SLOT_BYTES), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == (void *) shared || MAP_FAILED == (void *) links) {
        return 99;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
