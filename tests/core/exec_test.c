/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor on real links: every algorithm and collective with data, many at a time on the same links,
 * in seeded orders of scheduling and in threads; and the life of links over several teams.
 * Seed: GPURING_SEED.
 */
#include "exec_cases.h"

#include "symbolic.h" /* the seeded random numbers */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POOL_BYTES = 64 << 20 };

/* One in so many cases of the big tables is run; in threads, which mostly wait for a core, one in THREADS more. */
#if defined(__SANITIZE_THREAD__)
enum { THINNING = 6, THREADS = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { THINNING = 3, THREADS = 1 };
#else
enum { THINNING = 1, THREADS = 4 };
#endif

static uint64_t seed;
static uint64_t thinning;

static void open_world(struct ex_world *w, int p, uint32_t nchannels, uint32_t nslots, size_t slot_bytes,
                       const char *torus)
{
    struct gr_team_params params = {.p = p, .nchannels = nchannels, .nslots = nslots, .slot_bytes = slot_bytes};

    assert_int_equal(gr_torus_parse(torus, &params.torus), 0);
    if (0 != ex_open(w, &params, POOL_BYTES, sym_random(&seed))) {
        fail_msg("%s", w->why);
    }
    w->one_in = 3;
}

static void run(struct ex_world *w, const struct ex_case *cases, size_t n, enum ex_mode mode)
{
    if (0 != ex_run(w, cases, n, mode)) {
        fail_msg("%s", w->why);
    }
}

/* ---- results ---- */

static void add_sizes(struct ex_batch *b, const struct ex_world *w, enum gr_algo algo, enum gr_coll coll)
{
    /* elements: slots * what fits a slot + more */
    static const struct {
        size_t slots;
        int more;
    } sizes[] = {{0, 1}, {0, 7}, {1, -1}, {1, 0}, {1, 1}, {4, 3}, {9, 0}};
    size_t k;
    int in_place;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        for (in_place = 0; in_place < 2; in_place++) {
            struct ex_case *c;

            if (0 != sym_below(&seed, thinning)) {
                continue;
            }
            c = ex_add(b, w, algo, coll);
            c->in_place = in_place;
            c->count = sizes[k].slots * (w->params.slot_bytes / ex_kinds[c->kind].elem_bytes);
            c->count = (size_t) ((long) c->count + sizes[k].more);
            if (ex_has_blocks(coll) && sizes[k].slots > 4) {
                c->count /= (size_t) w->params.p;
            }
        }
    }
}

static void add_v_counts(struct ex_batch *b, const struct ex_world *w, enum gr_algo algo, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 12 && ex_has_blocks(coll); k++) {
        struct ex_case *c;

        if (0 != sym_below(&seed, thinning)) {
            continue;
        }
        c = ex_add(b, w, algo, coll);
        c->in_place = k % 2;
        ex_make_counts(b, c, w->params.p, w->params.slot_bytes / ex_kinds[c->kind].elem_bytes, k % 4 < 3);
    }
}

static const struct {
    uint32_t nchannels, nslots;
    size_t slot_bytes;
} geometries[] = {{1, 2, 256}, {3, 4, 256}, {2, 2, 4096}};

/* All the cases that `visit` adds, in random order, in worlds of every size and geometry. */
static void sweep(ex_visit_fn visit, enum ex_mode mode)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 13};
    static const char *const tori[] = {[4] = "2x2", [6] = "3x2", [8] = "2x2x2"};
    struct ex_world w;
    size_t k, g;

    thinning = THINNING * (EX_THREADS == mode ? THREADS : 1);
    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        for (g = 0; g < sizeof(geometries) / sizeof(geometries[0]); g++) {
            struct ex_batch b = {.random = &seed};
            int p = sizes[k], torus = g > 0 && p < 13 && NULL != tori[p % 9];

            open_world(&w, p, geometries[g].nchannels, geometries[g].nslots, geometries[g].slot_bytes,
                       torus ? tori[p] : "");
            ex_for_each_schedule(&b, &w, visit);
            ex_shuffle(&b);
            run(&w, b.cases, b.n, mode);
            ex_close(&w);
            free(b.cases);
        }
    }
}

static void every_schedule_is_right_in_any_order_of_ranks(void **state)
{
    (void) state;
    sweep(add_sizes, EX_STEPPED);
}

static void every_schedule_is_right_in_threads(void **state)
{
    (void) state;
    sweep(add_sizes, EX_THREADS);
}

static void counts_may_be_zero_with_gaps_and_in_any_order(void **state)
{
    (void) state;
    sweep(add_v_counts, EX_STEPPED);
    sweep(add_v_counts, EX_THREADS);
}

/* ---- the same bits ---- */

static void add_inexact(struct ex_batch *b, const struct ex_world *w, enum gr_algo algo, enum gr_coll coll)
{
    struct ex_case *c;

    if (GR_COLL_BCAST != coll && GR_COLL_ALLGATHER != coll) {
        c = ex_add(b, w, algo, coll);
        c->kind = EX_F32_SUM;
        c->count = 300;
        c->seed = 77; /* the same data for all algorithms */
    }
}

/* Run one case in some timing; hashes[rank] of the results. */
static void bits_of(const struct ex_case *c, int p, int timing, uint64_t *hashes)
{
    struct ex_world w;
    int r;

    open_world(&w, p, 3, 2, 256, "");
    w.one_in = (unsigned) timing; /* none, all, half of the time, ... */
    w.one_in += 1 == timing;
    run(&w, c, 1, timing < 3 ? EX_STEPPED : EX_THREADS);
    for (r = 0; r < p; r++) {
        hashes[r] = w.ranks[r].hash;
    }
    ex_close(&w);
}

static void check_bits(const struct ex_case *c, int p, uint64_t *hashes)
{
    uint64_t again[EX_MAX_RANKS];
    int timing, r;

    bits_of(c, p, 0, hashes);
    for (timing = 1; timing < 5; timing++) {
        bits_of(c, p, timing, again);
        assert_memory_equal(hashes, again, (size_t) p * sizeof(*hashes));
    }
    for (r = 1; r < p && GR_COLL_ALLREDUCE == c->coll; r++) {
        assert_true(hashes[r] == hashes[0]);
    }
}

static void timing_does_not_change_a_bit(void **state)
{
    static const int sizes[] = {2, 5, 8};
    uint64_t hashes[EX_MAX_RANKS], allreduce[GR_NALGOS];
    size_t k, n;

    (void) state;
    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        struct ex_world shape = {.params = {.p = sizes[k], .nchannels = 3, .slot_bytes = 256}};
        struct ex_batch b = {.random = &seed};

        ex_for_each_schedule(&b, &shape, add_inexact);
        for (n = 0; n < b.n; n++) {
            check_bits(&b.cases[n], sizes[k], hashes);
            if (GR_COLL_ALLREDUCE == b.cases[n].coll) {
                allreduce[b.cases[n].algo] = hashes[0];
            }
        }
        free(b.cases);
        /* that the data would show another order */
        assert_true(sizes[k] < 3 || allreduce[GR_ALGO_RING] != allreduce[GR_ALGO_FLAT]);
        assert_true(sizes[k] < 3 || allreduce[GR_ALGO_RING] != allreduce[GR_ALGO_TREE]);
    }
}

/* ---- links over several teams ---- */

static void add_one(struct ex_batch *b, const struct ex_world *w, enum gr_algo algo, enum gr_coll coll)
{
    ex_add(b, w, algo, coll)->count = 500;
}

/* The sum of all counters of the rank's incoming links, after checking that no slot is full. */
static uint64_t incoming(const struct ex_rank *r)
{
    const struct gr_team *t = r->team;
    uint64_t sum = 0;
    size_t k;

    for (k = 0; k < (size_t) t->p * t->nchannels; k++) {
        if (NULL != t->in[k].shared) {
            assert_true(atomic_load(&t->in[k].shared->head) == atomic_load(&t->in[k].shared->tail));
            sum += atomic_load(&t->in[k].shared->tail);
        }
    }
    return sum;
}

static void the_next_team_continues_the_links(void **state)
{
    struct ex_world w;
    struct ex_batch b = {.random = &seed};
    uint64_t before = 0, now;
    size_t held = 0;
    int round;

    (void) state;
    open_world(&w, 4, 2, 2, 256, "");
    ex_for_each_schedule(&b, &w, add_one);
    for (round = 0; round < 20; round++) {
        run(&w, b.cases, b.n, round % 2 ? EX_THREADS : EX_STEPPED);
        now = incoming(&w.ranks[2]);
        assert_true(now > before);
        before = now;
        assert_true(0 == round || held == gr_pool_usage(w.ranks[2].pool).held);
        held = gr_pool_usage(w.ranks[2].pool).held;
        ex_leave(&w);
        assert_int_equal(gr_pool_usage(w.ranks[2].pool).leased, 0);
        assert_int_equal(ex_team(&w), 0);
    }
    ex_close(&w);
    free(b.cases);
}

static void a_team_may_be_abandoned_at_any_moment(void **state)
{
    struct ex_world w;
    struct ex_batch b = {.random = &seed};
    size_t polls, unread = 0;
    uint32_t c;

    (void) state;
    open_world(&w, 5, 3, 2, 256, "");
    ex_for_each_schedule(&b, &w, add_one);
    for (polls = 1; polls < 400; polls += 1 + polls / 8) {
        ex_shuffle(&b);
        w.polls = polls;
        w.seed = sym_random(&seed);
        run(&w, b.cases, b.n, EX_STEPPED);
        for (c = 0; c < 15; c++) {
            const struct gr_link_shared *l = w.ranks[1].team->in[c].shared;

            unread += NULL != l && atomic_load(&l->tail) != atomic_load(&l->head);
        }
        ex_leave(&w);
        assert_int_equal(ex_team(&w), 0);
        w.polls = 0;
        run(&w, b.cases, b.n, polls % 2 ? EX_STEPPED : EX_THREADS);
        (void) incoming(&w.ranks[1]);
    }
    assert_true(unread > 0); /* that there was something to be skipped */
    ex_close(&w);
    free(b.cases);
}

/* One rank has no memory for the links of one algorithm; it has for another's. */
static void a_set_up_that_fails_gives_everything_back(void **state)
{
    struct ex_world w;
    struct ex_case c = {.coll = GR_COLL_ALLREDUCE, .algo = GR_ALGO_RING, .nchannels = 1, .count = 1000, .seed = 1};
    struct gr_peer_id self = {1, 2};
    int r;

    (void) state;
    open_world(&w, 5, 1, 2, 4096, "");
    gr_pool_close(w.ranks[2].pool);
    w.ranks[2].pool = gr_pool_open("/dev/shm", self, 4 * 4096);
    assert_non_null(w.ranks[2].pool);
    assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 0), GR_ERR_LIMIT);
    for (r = 0; r < 5; r++) {
        assert_int_equal(gr_pool_usage(w.ranks[r].pool).leased, 0);
        assert_int_equal(gr_team_links(w.ranks[r].team, GR_ALGO_FLAT, 0), GR_LINKS_REFUSED);
    }
    run(&w, &c, 1, EX_STEPPED);
    assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 0), GR_ERR_LIMIT);
    run(&w, &c, 1, EX_THREADS);
    ex_close(&w);
}

/* ---- what a waiting rank says, and errors ---- */

static int ready_error;

static int fail_ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    return ready_error < 0 ? ready_error : gr_host_mover.ready(ctx, channel, step);
}

static int fail_move(void *ctx, const struct gr_move *move)
{
    (void) ctx;
    (void) move;
    return -78;
}

static void a_waiting_rank_names_who_is_missing(void **state)
{
    struct ex_world w;
    struct ex_case c = {.coll = GR_COLL_REDUCE, .algo = GR_ALGO_FLAT, .root = 1, .nchannels = 1, .count = 10};
    struct gr_mover failing = {fail_ready, fail_move, gr_host_mover.commit};
    struct gr_request request = ex_request(&c);
    struct ex_buffers b;
    struct gr_host_op op;
    struct gr_plan plan;
    struct gr_machine m;
    uint64_t moved = 0;
    int ranks[2 * GR_FAN];

    (void) state;
    open_world(&w, 4, 1, 2, 256, "");
    assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 1), 0);
    ex_buffers_make(&b, &c, 4, 1);
    op = (struct gr_host_op) {w.ranks[1].team->in, w.ranks[1].team->out, 4, {b.in, b.out, NULL}, ex_reducer(&c)};
    gr_plan_build(&plan, w.ranks[1].team, &request);
    gr_machine_start(&m, &plan, &gr_host_mover, &op);
    assert_int_equal(gr_machine_run(&m, &moved), GR_AGAIN);
    assert_int_equal(moved, 0);
    assert_non_null(gr_machine_waits(&m, 0));
    assert_int_equal(gr_host_waits_for(&op, 0, gr_machine_waits(&m, 0), ranks), 3);
    assert_true(2 == ranks[0] && 3 == ranks[1] && 0 == ranks[2]);
    gr_link_push(&w.ranks[3].team->out[1]);
    assert_int_equal(gr_host_waits_for(&op, 0, gr_machine_waits(&m, 0), ranks), 2);
    assert_true(2 == ranks[0] && 0 == ranks[1]);
    /* an error of the executor comes out as it is */
    gr_machine_start(&m, &plan, &failing, &op);
    ready_error = -77;
    assert_int_equal(gr_machine_run(&m, &moved), -77);
    ready_error = 0;
    gr_link_push(&w.ranks[2].team->out[1]);
    gr_link_push(&w.ranks[0].team->out[1]);
    assert_int_equal(gr_machine_run(&m, &moved), -78);
    assert_int_equal(moved, 0);
    ex_buffers_free(&b);
    ex_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_is_right_in_any_order_of_ranks),
        cmocka_unit_test(every_schedule_is_right_in_threads),
        cmocka_unit_test(counts_may_be_zero_with_gaps_and_in_any_order),
        cmocka_unit_test(timing_does_not_change_a_bit),
        cmocka_unit_test(the_next_team_continues_the_links),
        cmocka_unit_test(a_team_may_be_abandoned_at_any_moment),
        cmocka_unit_test(a_set_up_that_fails_gives_everything_back),
        cmocka_unit_test(a_waiting_rank_names_who_is_missing),
    };

    seed = sym_seed();
    printf("# GPURING_SEED=%llu\n", (unsigned long long) seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
