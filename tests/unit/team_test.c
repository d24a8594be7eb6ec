/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of links and mailbox boards over several teams, and their set-up (link/team.h). Seed:
 * GPURING_SEED.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "exec_helpers.h"

/* ---- several teams, one after the other ---- */

/* The sum of all counters of the rank's incoming links, after checking that no slot is full. */
static uint64_t incoming(const struct ex_rank *r)
{
    const struct gr_team *t = r->team;
    uint64_t sum = 0;
    size_t k;

    for (k = 0; k < (size_t) t->p * t->data.nchannels; k++) {
        if (NULL != t->data.in[k].shared) {
            assert_true(atomic_load(&t->data.in[k].shared->head) ==
                        atomic_load(&t->data.in[k].shared->tail));
            sum += atomic_load(&t->data.in[k].shared->tail);
        }
    }
    return sum;
}

static void the_next_team_reuses_the_memory(void **state)
{
    struct ex_world w;
    struct ex_batch b = {.random = &seed};
    uint64_t before = 0, now;
    size_t held = 0;
    int round;

    open_world(&w, 4, 2, 2, 256, "");
    ex_for_each_mode(&b, &w, add_one);
    make_half_direct(&b, &w);
    for (round = 0; round < 20; round++) {
        run(&w, b.cases, b.n, round % 2 ? EX_THREADS : EX_STEPPED);
        assert_int_equal(ex_link(&w, GR_USE_AGREEMENT, 0), 0); /* boards of no executor */
        now = incoming(&w.ranks[2]);
        assert_true(now > 0 && (0 == round || now == before)); /* nothing is left of the last */
        before = now;
        /* the pages that leases touch depend on where they lie: their number is not the same, but
         * does not grow with the rounds */
        held = 0 == round ? gr_pool_usage(w.ranks[2].pool).held : held;
        assert_true(gr_pool_usage(w.ranks[2].pool).held <= 2 * held);
        ex_leave(&w);
        assert_int_equal(gr_pool_usage(w.ranks[2].pool).leased, 0);
        assert_int_equal(ex_team(&w), 0);
    }
    ex_close(&w);
    free(b.cases);
}

/* Teams are made for each communicator, and an application may make any number of these. */
static void a_team_leaves_no_memory(void **state)
{
    static const int32_t pids[5];
    const struct gr_team_params params = {.p = 5,
                                          .nchannels = 3,
                                          .nslots = 2,
                                          .slot_bytes = 64,
                                          .nsets = 2,
                                          .mailbox_bytes = 64,
                                          .record_bytes = 64,
                                          .pids = pids};
    size_t before = mallinfo2().uordblks;
    int k;

    for (k = 0; k < 100; k++) {
        struct gr_team *team = gr_team_create(&params);

        assert_non_null(team);
        gr_team_destroy(team, NULL);
    }
    assert_in_range(mallinfo2().uordblks, 0,
                    before + 16384); /* libc keeps what it may need again */
}

static void a_team_may_be_abandoned_at_any_moment(void **state)
{
    struct ex_world w;
    struct ex_batch b = {.random = &seed};
    size_t polls, unread = 0;
    uint32_t c;

    open_world(&w, 5, 3, 2, 256, "");
    ex_for_each_mode(&b, &w, add_one);
    make_half_direct(&b, &w);
    for (polls = 1; polls < 400; polls += 1 + polls / 8) {
        ex_shuffle(&b);
        w.polls = polls;
        w.seed = rng_next(&seed);
        run(&w, b.cases, b.n, EX_STEPPED);
        for (c = 0; c < 15; c++) {
            const struct gr_link_shared *l = w.ranks[1].team->data.in[c].shared;

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

/* Mailboxes of a new team in this world, over the same pools. */
static void next_team(struct ex_world *w, uint32_t nsets, size_t mailbox_bytes, uint64_t first)
{
    ex_leave(w);
    w->params.nsets = nsets;
    w->params.mailbox_bytes = mailbox_bytes;
    w->first = first;
    assert_int_equal(ex_team(w), 0);
}

static void add_small(struct ex_batch *b, const struct ex_world *w, int use, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 4 && GR_ALGO_MAILBOX == use; k++) {
        struct ex_case *c = ex_add(b, w, use, coll);

        c->kind = (enum ex_kind_id) rng_below(&seed, EX_NKINDS);
        c->count = 1 + rng_below(&seed, 9);
    }
}

/*
 * What the last team left on a board, abandoned anywhere, may have the epochs that the next one
 * waits for. It never sees that: results are checked.
 */
static void the_next_team_begins_with_any_epoch(void **state)
{
    struct ex_world w;
    struct ex_batch b = {.random = &seed};
    size_t held = 0;
    int round;

    open_world(&w, 4, 1, 2, 256, "");
    next_team(&w, 4, 200, 0);
    ex_for_each_mode(&b, &w, add_small);
    for (round = 0; round < 400; round++) {
        const uint64_t firsts[] = {0,
                                   w.first,
                                   w.first + rng_below(&seed, 12),
                                   w.first - rng_below(&seed, 12),
                                   UINT64_MAX - rng_below(&seed, b.n),
                                   rng_next(&seed)};

        next_team(&w, 4, 200, firsts[rng_below(&seed, 6)]);
        ex_shuffle(&b);
        w.polls = 0 == round % 2 ? 1 + rng_below(&seed, 20 * b.n) : 0;
        w.seed = rng_next(&seed);
        run(&w, b.cases, b.n, 3 == round % 8 ? EX_THREADS : EX_STEPPED);
        /* the same slabs */
        assert_true(0 == round || held == gr_pool_usage(w.ranks[1].pool).held);
        held = gr_pool_usage(w.ranks[1].pool).held;
    }
    ex_close(&w);
    free(b.cases);
}

/* Many communicators have one small call: it touches one page of each board. */
static void the_first_call_touches_one_page(void **state)
{
    struct ex_case c = {
        .coll = GR_COLL_ALLREDUCE, .algo = GR_ALGO_MAILBOX, .kind = EX_I8_SUM, .count = 8};
    size_t page = (size_t) sysconf(_SC_PAGESIZE), bytes = GR_SETS * gr_board_stride(32768), n, k;
    unsigned char there[100], *base;
    struct ex_world w;

    open_world(&w, 3, 1, 2, 256, "");
    next_team(&w, GR_SETS, 32768, 0);
    run(&w, &c, 1, EX_STEPPED);
    base = gr_slab_base(w.ranks[1].team->boards[GR_BOARDS_MAILBOX].board);
    base -= (uintptr_t) base % page;
    assert_true(bytes / page < sizeof(there));
    assert_int_equal(mincore(base, bytes, there), 0);
    for (k = n = 0; k < bytes / page; k++) {
        n += there[k] & 1;
    }
    assert_int_equal(n, 1);
    ex_close(&w);
}

/*
 * Three ranks end a team; the last of them reads what was posted for it when the others have the
 * next team.
 */
static void a_reader_that_is_late_to_leave_keeps_the_board(void **state)
{
    struct ex_case c = {
        .coll = GR_COLL_BCAST, .algo = GR_ALGO_MAILBOX, .kind = EX_I8_SUM, .count = 100, .seed = 3};
    struct gr_team *late;
    struct gr_mailbox_call mail;
    struct ex_buffers buffers;
    struct ex_world w;
    unsigned char *want = ex_want(&c, 3);
    const void *board;
    uint64_t moved = 0;
    char why[160];
    int r;

    open_world(&w, 3, 1, 2, 256, "");
    next_team(&w, 2, 100, 9);
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), 0);
    for (r = 0; r < 3; r++) { /* all begin it, one takes it late */
        ex_buffers_make(&buffers, &c, 3, r);
        mail = ex_mail(&c, &buffers);
        gr_mailbox_begin(mailbox_of(&w, r), &mail);
        assert_int_equal(gr_mailbox_post(mailbox_of(&w, r), &mail), 1);
        assert_int_equal(2 == r || gr_mailbox_take(mailbox_of(&w, r), &mail, &moved), 1);
        if (r < 2) {
            ex_buffers_free(&buffers);
        }
    }
    late = w.ranks[2].team;
    board = gr_slab_base(w.ranks[0].team->boards[GR_BOARDS_MAILBOX].board);
    w.ranks[2].team = NULL;
    next_team(&w, 2, 100, 9);
    assert_true(gr_pool_usage(w.ranks[0].pool).leased > 0);
    assert_true(gr_pool_usage(w.ranks[2].pool).leased > 0);
    c.seed = 4; /* the same call with other data */
    run(&w, &c, 1, EX_STEPPED);
    c.seed = 3;
    assert_ptr_not_equal(gr_slab_base(w.ranks[0].team->boards[GR_BOARDS_MAILBOX].board), board);
    assert_int_equal(gr_mailbox_take(&late->boards[GR_BOARDS_MAILBOX].box, &mail, &moved), 1);
    assert_int_equal(ex_buffers_check(&buffers, &c, 3, 2, want, why, sizeof(why)), 0);
    ex_leave(&w);
    assert_true(gr_pool_usage(w.ranks[0].pool).leased > 0);
    gr_team_destroy(late, w.ranks[2].pool);
    for (r = 0; r < 3; r++) {
        assert_int_equal(gr_pool_usage(w.ranks[r].pool).leased, 0);
    }
    ex_buffers_free(&buffers);
    free(want);
    ex_close(&w);
}

/*
 * Calls get their places in the order of calls when they begin, though their boards are made later.
 */
static void calls_may_begin_before_there_are_boards(void **state)
{
    enum { P = 3, CALLS = 3 };
    struct gr_mailbox_call mails[P][CALLS];
    uint64_t sums[P][CALLS], ones[CALLS] = {1, 10, 100}, moved = 0;
    struct ex_world w;
    int r, k;

    open_world(&w, P, 1, 2, 256, "");
    next_team(&w, 4, 100, UINT64_MAX - 1);
    for (r = 0; r < P; r++) {
        for (k = 0; k < CALLS; k++) {
            mails[r][k] = (struct gr_mailbox_call) {
                .coll = GR_COLL_ALLREDUCE,
                .in = (unsigned char *) &ones[k],
                .out = (unsigned char *) &sums[r][k],
                .count = 1,
                .reducer = {8, gr_reduce_find(GR_TYPE_U64, GR_OP_SUM), NULL, NULL}};
            gr_mailbox_begin(mailbox_of(&w, r), &mails[r][k]);
        }
    }
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), 0);
    for (k = 0; k < CALLS; k++) {
        for (r = 0; r < P; r++) {
            assert_int_equal(gr_mailbox_post(mailbox_of(&w, r), &mails[r][k]), 1);
            assert_int_equal(gr_mailbox_take(mailbox_of(&w, r), &mails[r][k], &moved), r == P - 1);
        }
        for (r = 0; r < P - 1; r++) {
            assert_int_equal(gr_mailbox_take(mailbox_of(&w, r), &mails[r][k], &moved), 1);
        }
        for (r = 0; r < P; r++) {
            assert_int_equal(sums[r][k], P * ones[k]);
        }
    }
    ex_close(&w);
}

/* ---- set-up ---- */

/* Many ranks make boards with those of their groups only, on three levels, and of row, column. */
static void many_ranks_connect_in_groups(void **state)
{
    enum { P = 80 };
    struct gr_team_params params = {.p = P,
                                    .nchannels = 1,
                                    .nslots = 2,
                                    .slot_bytes = 256,
                                    .nsets = 4,
                                    .mailbox_bytes = 2 * P * 8};
    struct ex_batch b = {.random = &seed};
    struct ex_world w;
    size_t usage;
    int coll, r, k;

    assert_int_equal(gr_torus_parse("", &params.torus), 0);
    assert_int_equal(ex_open(&w, &params, 1 << 20, rng_next(&seed)), 0);
    for (coll = 0; coll < EX_MAIL_COLLS; coll++) {
        for (k = 0; k < 2; k++) {
            struct ex_case *c = ex_add(&b, &w, GR_ALGO_MAILBOX, (enum gr_coll) coll);

            c->kind = EX_F64_SUM;
            c->count = 2;
        }
    }
    ex_shuffle(&b);
    run(&w, b.cases, b.n, EX_STEPPED);
    for (r = 0; r < P; r++) {
        usage = gr_pool_usage(w.ranks[r].pool).leased;
        for (k = 0; k < GR_BOARDS_AGREEMENT; k++) {
            const struct gr_boards *boards = &w.ranks[r].team->boards[k];

            assert_int_equal(NULL != boards->board, boards->group.n > 0);
            if (boards->group.n > 0) {
                assert_in_range(boards->box.p, 2, 10);
                assert_ptr_equal(boards->box.boards[boards->group.me].users,
                                 gr_slab_base(boards->board));
            }
        }
        assert_in_range(usage, 3 * 4 * 2 * P * 8, 6 * 4 * 2 * P * 8);
    }
    ex_leave(&w);
    for (r = 0; r < P; r++) {
        assert_int_equal(gr_pool_usage(w.ranks[r].pool).leased, 0);
    }
    assert_int_equal(ex_team(&w), 0);
    run(&w, b.cases, b.n, EX_STEPPED);
    ex_close(&w);
    free(b.cases);
}

/* One rank has no memory for the links of one algorithm; it has for another's. */
static void a_set_up_that_fails_gives_everything_back(void **state)
{
    struct ex_world w;
    struct ex_case c = {
        .coll = GR_COLL_ALLREDUCE, .algo = GR_ALGO_RING, .nchannels = 1, .count = 1000, .seed = 1};
    struct gr_peer_id self = {1, 2};
    int r;

    open_world(&w, 5, 1, 2, 4096, "");
    gr_pool_close(w.ranks[2].pool);
    w.ranks[2].pool = gr_pool_open(self, 4 * 4096);
    assert_non_null(w.ranks[2].pool);
    assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 0), GR_ERR_LIMIT);
    for (r = 0; r < 5; r++) {
        assert_int_equal(gr_pool_usage(w.ranks[r].pool).leased, 0);
        assert_int_equal(gr_team_links(w.ranks[r].team, GR_ALGO_FLAT, 0, 1), GR_LINKS_REFUSED);
    }
    run(&w, &c, 1, EX_STEPPED);
    assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 0), GR_ERR_LIMIT);
    run(&w, &c, 1, EX_THREADS);
    ex_close(&w);
}

/* One rank has no memory for its board; it has for links. */
static void boards_that_cannot_be_made_are_given_back(void **state)
{
    struct ex_case c = {
        .coll = GR_COLL_ALLREDUCE, .algo = GR_ALGO_RING, .nchannels = 1, .count = 1000, .seed = 1};
    const size_t page = 4096;
    struct gr_peer_id self = {1, 3};
    struct gr_slab *rest;
    struct ex_world w;
    int r;

    open_world(&w, 5, 1, 2, 256, "");
    gr_pool_close(w.ranks[3].pool);
    w.ranks[3].pool = gr_pool_open(self, page);
    assert_non_null(w.ranks[3].pool);
    next_team(&w, 8, 1000, 0);
    /* not a page is left: the lease is refused */
    assert_int_equal(gr_pool_lease(w.ranks[3].pool, GR_SLAB_WHOLE, page - GR_SHM_HEAD, 1, 1, &rest),
                     0);
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_usage(w.ranks[3].pool).leased, page - GR_SHM_HEAD);
    gr_pool_release(w.ranks[3].pool, rest, 0);
    /* a page is left: the board is leased, and has no page for its sets */
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), GR_ERR_LIMIT);
    for (r = 0; r < 5; r++) {
        assert_int_equal(gr_pool_usage(w.ranks[r].pool).leased, 0);
        assert_null(w.ranks[r].team->boards[GR_BOARDS_MAILBOX].board);
        assert_int_equal(gr_team_links(w.ranks[r].team, GR_ALGO_MAILBOX, 0, 1), GR_LINKS_REFUSED);
        assert_int_equal(w.ranks[r].team->direct, 1); /* which is another matter */
    }
    run(&w, &c, 1, EX_STEPPED);
    next_team(&w, 2, 64, 0); /* a smaller one has room there */
    c.algo = GR_ALGO_MAILBOX;
    c.count = 16;
    run(&w, &c, 1, EX_THREADS);
    ex_close(&w);
}

static void one_rank_that_cannot_read_memory_decides_for_all(void **state)
{
    struct ex_world w;
    int unable, r;

    open_world(&w, 4, 1, 2, 256, "");
    for (unable = -1; unable < 4; unable++) {
        next_team(&w, 2, 100, 0);
        if (unable >= 0) {
            w.ranks[unable].team->direct = 0;
        }
        assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), 0); /* which nobody tests it for */
        for (r = 0; r < 4; r++) {
            assert_int_equal(w.ranks[r].team->direct, r != unable);
        }
        assert_int_equal(ex_link(&w, GR_ALGO_TREE, 0), 0);
        for (r = 0; r < 4; r++) {
            assert_int_equal(w.ranks[r].team->direct, unable < 0);
        }
        assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 0), 0);
        for (r = 0; r < 4; r++) {
            assert_int_equal(w.ranks[r].team->direct, unable < 0);
        }
    }
    ex_close(&w);
}

static void the_worst_status_is_the_verdict(void **state)
{
    static const struct {
        struct gr_join_agreement a, b, want;
    } rows[] = {
        {{.host = {0, 1}}, {.host = {0, 1}}, {.host = {0, 1}}},
        {{.host = {0, 1}}, {.host = {0, 0}}, {.host = {0, 0}}},
        {{.host = {GR_ERR_SPACE, 1}}, {.host = {0, 1}}, {.host = {GR_ERR_SPACE, 1}}},
        {{.host = {GR_ERR_SPACE, 0}}, {.host = {GR_ERR_FOREIGN, 1}}, {.host = {GR_ERR_FOREIGN, 0}}},
    };
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct gr_join_agreement ab = gr_join_agreement_combine(rows[k].a, rows[k].b),
                                 ba = gr_join_agreement_combine(rows[k].b, rows[k].a);

        assert_int_equal(ab.host.status, rows[k].want.host.status);
        assert_int_equal(ab.host.direct, rows[k].want.host.direct);
        assert_memory_equal(&ab, &ba, sizeof(ab));
    }
}

static void what_a_way_needs_is_known_per_way(void **state)
{
    struct ex_world w;
    const struct gr_team *t;
    int use;

    open_world(&w, 3, 1, 2, 256, "");
    t = w.ranks[1].team;
    for (use = 0; use < GR_NALGOS_ALL; use++) {
        assert_int_equal(gr_team_links(t, use, 0, 1), GR_LINKS_NONE);
        gr_team_ask(w.ranks[1].team, use, 2, 1);
        assert_int_equal(gr_team_links(t, use, 2, 1), GR_LINKS_ASKED);
        /* trees have other links for another root */
        assert_int_equal(gr_team_links(t, use, 1, 1),
                         use < GR_NALGOS && gr_algo_is_rooted((enum gr_algo) use) ? GR_LINKS_NONE
                                                                                  : GR_LINKS_ASKED);
        assert_int_equal(use + 1 == GR_NALGOS_ALL ? GR_LINKS_NONE : gr_team_links(t, use + 1, 2, 1),
                         GR_LINKS_NONE);
        assert_int_equal(ex_link(&w, use, 2), 0);
        assert_int_equal(gr_team_links(t, use, 2, 1), GR_LINKS_THERE);
    }
    ex_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_team_reuses_the_memory),
        cmocka_unit_test(a_team_leaves_no_memory),
        cmocka_unit_test(a_team_may_be_abandoned_at_any_moment),
        cmocka_unit_test(the_next_team_begins_with_any_epoch),
        cmocka_unit_test(the_first_call_touches_one_page),
        cmocka_unit_test(a_reader_that_is_late_to_leave_keeps_the_board),
        cmocka_unit_test(calls_may_begin_before_there_are_boards),
        cmocka_unit_test(many_ranks_connect_in_groups),
        cmocka_unit_test(a_set_up_that_fails_gives_everything_back),
        cmocka_unit_test(boards_that_cannot_be_made_are_given_back),
        cmocka_unit_test(one_rank_that_cannot_read_memory_decides_for_all),
        cmocka_unit_test(the_worst_status_is_the_verdict),
        cmocka_unit_test(what_a_way_needs_is_known_per_way),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
