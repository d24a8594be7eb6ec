/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes (exec/mailbox.h) by hand: how far ranks may run ahead, whom they wait for, calls that do
 * not match, buffers that overlap. Any order of ranks: mailbox_fibers_test.c, and where ranks are
 * threads: exec_test.c and grouped_test.c. Seed: GPURING_SEED.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "base/errors.h"
#include "mail_ranks.h"

#include "rng.h"

static uint64_t seed;

/* ---- running ahead ---- */

/* A world that is run by hand: the same call again and again, each time with other data. */
struct calls {
    struct mail_world w;
    struct ex_case cases[64];
};

static void calls_open(struct calls *c, enum gr_coll coll, int root, int p, uint32_t nsets,
                       uint64_t first)
{
    struct mail_shape s = {p, nsets, 64, first, nsets};
    int k;

    mail_open(&c->w, &s, 1);
    for (k = 0; k < 64; k++) {
        c->cases[k] = (struct ex_case) {.coll = coll,
                                        .algo = GR_ALGO_MAILBOX,
                                        .root = root,
                                        .kind = EX_ORDERED,
                                        .count = 3,
                                        .seed = (uint64_t) k};
    }
    mail_begin(&c->w, c->cases, 64);
}

static void calls_close(struct calls *c)
{
    assert_int_equal(mail_end(&c->w), 0);
    mail_close(&c->w);
}

/*
 * Post all that can be posted, and take all that can be taken; returns how many were taken so far.
 */
static int go(struct calls *c, int rank)
{
    struct mail_rank *r = &c->w.ranks[rank];
    int tries;

    for (tries = 0; tries < 50; tries++) {
        assert_true(mail_poll(r) >= 0);
    }
    return (int) r->taken;
}

/* Let it take that many calls and no more. */
static void go_to(struct calls *c, int rank, size_t taken)
{
    struct mail_rank *r = &c->w.ranks[rank];

    while (r->taken < taken) {
        assert_int_equal(mail_poll(r), 1);
    }
}

/* That it cannot post, for want of the slow rank alone. */
static void waits_for_slow(struct calls *c, int rank, int slow)
{
    struct mail_rank *r = &c->w.ranks[rank];
    struct gr_mailbox_call *m = &r->mails[r->posted % GR_SETS];
    int ranks[EX_MAX_RANKS];

    assert_int_equal(r->begun, r->posted + 1);
    assert_int_equal(gr_mailbox_post(&r->box, m), 0);
    assert_int_equal(gr_mailbox_waits_for(&r->box, m, ranks), 1);
    assert_int_equal(ranks[0], slow);
}

/*
 * In a bcast the slow one is a reader, in a reduce the root: nobody else waits for anybody. It says
 * what it has taken every nsets/2 calls; what was not yet taken is there as it was posted
 * (mail_poll checks it).
 */
static void ahead_of_one(enum gr_coll coll, uint32_t nsets, uint64_t first)
{
    int root = 1, slow = GR_COLL_BCAST == coll ? 3 : root, half = (int) nsets / 2, taken, r;
    struct calls c;

    calls_open(&c, coll, root, 4, nsets, first);
    for (taken = 0; taken <= 3 * (int) nsets; taken++) {
        for (r = 0; r < 8; r++) { /* twice: each may have had to wait for the others */
            int far = slow == r % 4 ? 0 : go(&c, r % 4);

            assert_true(r < 4 || slow == r % 4 || far == (int) nsets + taken / half * half);
        }
        waits_for_slow(&c, GR_COLL_BCAST == coll ? root : 0, slow);
        go_to(&c, slow, (size_t) taken + 1);
    }
    calls_close(&c);
}

static void nobody_runs_further_ahead_than_the_sets(void **state)
{
    uint32_t nsets;

    for (nsets = 2; nsets <= GR_SETS; nsets *= 2) {
        ahead_of_one(GR_COLL_BCAST, nsets, 0);
        ahead_of_one(GR_COLL_BCAST, nsets, UINT64_MAX - 5);
        ahead_of_one(GR_COLL_REDUCE, nsets, 0);
        ahead_of_one(GR_COLL_REDUCE, nsets, UINT64_MAX - 5);
    }
}

static void several_calls_may_be_posted_before_any_is_taken(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER,
                                         GR_COLL_REDUCE_SCATTER};
    struct calls c;
    struct mail_rank *r;
    uint64_t moved = 0;
    uint32_t nsets;
    int ranks[EX_MAX_RANKS], k;
    size_t n;

    for (nsets = 2; nsets <= GR_SETS; nsets *= 2) {
        for (k = 0; k < 3; k++) {
            calls_open(&c, colls[k], 0, 3, nsets, UINT64_MAX - 1);
            for (r = c.w.ranks; r < c.w.ranks + 3; r++) {
                for (n = 0; n < nsets; n++) {
                    struct gr_mailbox_call *m = &r->mails[n];

                    ex_buffers_make(&r->buffers[n], &c.cases[n], 3, r->rank);
                    *m = ex_mail(&c.cases[n], &r->buffers[n]);
                    gr_mailbox_begin(&r->box, m);
                    assert_int_equal(gr_mailbox_post(&r->box, m), 1);
                    r->begun++;
                    r->posted++;
                }
                if (r->rank < 2) { /* and whose post is missing is said of the first of them */
                    assert_int_equal(gr_mailbox_take(&r->box, &r->mails[0], &moved), 0);
                    assert_int_equal(gr_mailbox_waits_for(&r->box, &r->mails[0], ranks), 1);
                    assert_int_equal(ranks[0], r->rank + 1);
                }
            }
            for (r = c.w.ranks; r < c.w.ranks + 3; r++) {
                go_to(&c, r->rank, nsets);
            }
            calls_close(&c);
        }
    }
}

/* ---- calls that do not match ---- */

/* Rank 1's post is of another kind, or of another length, than the others expect. */
static void meet_other(int p, enum gr_coll coll, uint64_t kind, size_t count, int code)
{
    enum { P = 3, COUNT = 4, MOST = 5 };
    struct mail_shape s = {p, 2, 256, 7, 1};
    struct mail_world w;
    struct ex_case c = {
        .coll = coll, .algo = GR_ALGO_MAILBOX, .kind = EX_ORDERED, .count = MOST, .root = 1};
    struct gr_mailbox_call mails[P];
    struct ex_buffers buffers[P];
    uint64_t moved = 0, same = gr_label_kind(coll, 1);
    int r, tries;

    mail_open(&w, &s, 1);
    for (r = 0; r < p; r++) {
        ex_buffers_make(&buffers[r], &c, p, r);
        mails[r] = ex_mail(&c, &buffers[r]);
        mails[r].kind = 1 == r ? kind : same;
        mails[r].count = 1 == r ? count : COUNT;
        gr_mailbox_begin(&w.ranks[r].box, &mails[r]);
        assert_int_equal(gr_mailbox_post(&w.ranks[r].box, &mails[r]), 1);
    }
    for (tries = 0; tries < 2; tries++) {
        for (r = 0; r < p; r += 2) {
            struct gr_label_pair pair;

            assert_int_equal(gr_mailbox_take(&w.ranks[r].box, &mails[r], &moved), code);
            pair = gr_mailbox_difference(&w.ranks[r].box, &mails[r]);
            assert_int_equal(pair.rank, 1);
            assert_true((pair.posted & ~(uint64_t) UINT32_MAX) == kind);
            assert_true((pair.expected & ~(uint64_t) UINT32_MAX) == same);
            assert_int_equal(gr_label_coll(pair.expected), coll);
            assert_int_equal(gr_label_root(pair.expected), 1);
            assert_int_equal(COUNT * gr_label_bytes(pair.posted),
                             count * gr_label_bytes(pair.expected));
        }
    }
    for (r = 0; r < p; r++) {
        ex_buffers_free(&buffers[r]);
    }
    mail_close(&w);
}

static void another_call_is_an_error(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER,
                                         GR_COLL_REDUCE_SCATTER, GR_COLL_BCAST, GR_COLL_ALLTOALL};
    size_t n = sizeof(colls) / sizeof(colls[0]), k;

    for (k = 0; k < 2 * n; k++) {
        int p = k < n ? 2 : 3;
        enum gr_coll coll = colls[k % n];

        meet_other(p, coll, gr_label_kind(coll, 1), 3, GR_ERR_TRUNCATE);
        meet_other(p, coll, gr_label_kind(coll, 1), 5, GR_ERR_TRUNCATE);
        meet_other(p, coll, gr_label_kind(coll, 2), 4, GR_ERR_DIFFER);
        meet_other(p, coll, gr_label_kind(GR_COLL_BARRIER, 1), 4, GR_ERR_DIFFER);
        meet_other(p, coll, gr_label_kind(GR_COLL_BARRIER, 1), 1, GR_ERR_DIFFER);
    }
}

/* ---- buffers ---- */

static void overlap(int p)
{
    enum { P = 3, ARENA = 64, ELEM = 8 };
    struct mail_shape s = {p, 2, ARENA * ELEM, 0, 1};
    unsigned char arena[P][ARENA * ELEM], *want;
    struct gr_mailbox_call mails[P];
    struct mail_world w;
    uint64_t moved = 0;
    int round, r;

    mail_open(&w, &s, 1);
    for (round = 0; round < 1000; round++) {
        struct ex_case c = {.coll = (enum gr_coll)(round % GR_COLL_ALLTOALL),
                            .algo = GR_ALGO_MAILBOX,
                            .kind = EX_ORDERED,
                            .root = round % p,
                            .count = 1 + rng_below(&seed, 9),
                            .seed = rng_next(&seed)};
        size_t whole = c.count * (ex_has_blocks(c.coll) ? p : 1);
        size_t nout = GR_COLL_REDUCE_SCATTER == c.coll ? c.count : whole;

        want = ex_want(&c, p);
        for (r = 0; r < p; r++) {
            size_t nin = ex_input_count(&c, p, r), in = rng_below(&seed, ARENA - nin);
            size_t out = rng_below(&seed, ARENA - nout);
            struct ex_buffers b = {.in = arena[r] + in * ELEM, .out = arena[r] + out * ELEM};

            ex_fill(&c, r, ex_input_begin(&c, r), nin, b.in);
            mails[r] = ex_mail(&c, &b);
            gr_mailbox_begin(&w.ranks[r].box, &mails[r]);
            assert_int_equal(gr_mailbox_post(&w.ranks[r].box, &mails[r]), 1);
        }
        for (r = 0; r < p; r++) {
            assert_int_equal(gr_mailbox_take(&w.ranks[r].box, &mails[r], &moved), 1);
            if (GR_COLL_BCAST != c.coll && (GR_COLL_REDUCE != c.coll || r == c.root)) {
                size_t at = GR_COLL_REDUCE_SCATTER == c.coll ? (size_t) r * c.count * ELEM : 0;

                assert_memory_equal(mails[r].out, want + at, nout * ELEM);
            }
        }
        free(want);
    }
    mail_close(&w);
}

static void input_and_output_may_overlap(void **state)
{
    overlap(2);
    overlap(3);
}

static void sets_hold_what_they_were_made_for(void **state)
{
    size_t bytes;

    for (bytes = 1; bytes < 300; bytes++) {
        struct gr_mailbox box = {.stride = gr_board_stride(bytes)};

        assert_int_equal(box.stride % GR_CACHE_LINE, 0);
        assert_in_range(gr_mailbox_room(&box), bytes, bytes + GR_CACHE_LINE - 1);
        assert_int_equal(gr_board_set_offset(5, 4, box.stride),
                         5 * sizeof(struct gr_lease_user) + 4 * box.stride);
    }
    assert_int_equal(gr_board_stride(48), GR_CACHE_LINE); /* one line, one exchange */
    assert_int_equal(gr_mailbox_bytes(GR_COLL_ALLGATHER, 9, 1000, 300), 300);
    assert_int_equal(gr_mailbox_bytes(GR_COLL_REDUCE_SCATTER, 9, 1000, 300), 1000);
    assert_int_equal(gr_mailbox_bytes(GR_COLL_BCAST, 9, 1000, 300), 1000);
    /* in groups, all blocks are posted together */
    assert_int_equal(gr_mailbox_bytes(GR_COLL_ALLGATHER, 10, 1000, 300), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_hold_what_they_were_made_for),
        cmocka_unit_test(nobody_runs_further_ahead_than_the_sets),
        cmocka_unit_test(several_calls_may_be_posted_before_any_is_taken),
        cmocka_unit_test(another_call_is_an_error),
        cmocka_unit_test(input_and_output_may_overlap),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
