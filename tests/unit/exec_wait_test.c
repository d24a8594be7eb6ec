/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single steppers on real links: reports of waiting ranks, when a sender has finished, and errors.
 * The host executor is compiled into this file, with hooks where it reads or writes another
 * process's memory. Seed: GPURING_SEED.
 */
#include "base/cma.h"

static int hooked_read(int pid, void *to, uint64_t from, size_t bytes);
static int hooked_write(int pid, uint64_t to, const void *from, size_t bytes);
static bool hooked_gone(int pid);

#define gr_cma_read hooked_read
#define gr_cma_write hooked_write
#define gr_cma_is_gone hooked_gone
#include "exec/fetch.c"
#include "exec/host.c"
#undef gr_cma_read
#undef gr_cma_write
#undef gr_cma_is_gone

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "exec_helpers.h"
#include "mail_ranks.h"

/* One rank's stepper for a case, ready to run. */
struct runner {
    struct ex_buffers buffers;
    struct gr_host_op op;
    struct gr_plan plan;
    struct gr_stepper stepper;
    uint64_t moved;
};

static struct gr_host_op op_of(const struct ex_world *w, int rank, const void *in, void *out,
                               int direct)
{
    const struct gr_team *team = w->ranks[rank].team;

    return (struct gr_host_op) {.in = team->data.in,
                                .out = team->data.out,
                                .p = team->p,
                                .space = {(unsigned char *) in, out, NULL},
                                .reducer = {.elem_bytes = 4},
                                .direct = direct,
                                .pids = team->pids,
                                .bounce = w->ranks[rank].bounce,
                                .bounce_bytes = GR_BOUNCE_BYTES};
}

static void runner_start(struct runner *r, const struct ex_world *w, const struct ex_case *c,
                         int rank)
{
    const struct gr_team *team = w->ranks[rank].team;
    struct gr_plan_spec spec = ex_spec(c);

    ex_buffers_make(&r->buffers, c, w->params.p, rank);
    r->op = op_of(w, rank, r->buffers.in, r->buffers.out, c->direct);
    r->op.reducer = ex_reducer(c);
    r->moved = 0;
    gr_plan_build(&r->plan, team, &spec);
    gr_stepper_start(&r->stepper, &r->plan, &gr_host_backend, &r->op);
}

/* Two ranks, with links of one channel. */
static void open_pair(struct ex_world *w, size_t slot_bytes, int root)
{
    open_world(w, 2, 1, 2, slot_bytes, "");
    assert_int_equal(ex_link(w, GR_ALGO_FLAT, root), 0);
}

static void free_pair(struct runner r[2])
{
    ex_buffers_free(&r[0].buffers);
    ex_buffers_free(&r[1].buffers);
}

static struct runner *sender; /* whose memory is read, or NULL */
static int nreads;
static int read_error; /* errno of each read; 0: they work */

static int hooked_read(int pid, void *to, uint64_t from, size_t bytes)
{
    if (0 != read_error) {
        nreads++;
        errno = read_error;
        return GR_ERR_SYS;
    }
    if (NULL != sender) { /* it asks while the other end is at it: not yet */
        assert_int_equal(gr_stepper_run(&sender->stepper, &sender->moved), GR_AGAIN);
        nreads++;
    }
    return gr_cma_read(pid, to, from, bytes);
}

static size_t written;  /* bytes that were written into another process's memory */
static int write_error; /* errno of each write; 0: they work */
static bool is_gone;    /* the other process is gone */

static int hooked_write(int pid, uint64_t to, const void *from, size_t bytes)
{
    if (0 == write_error) {
        written += bytes;
        return gr_cma_write(pid, to, from, bytes);
    }
    errno = write_error;
    return GR_ERR_SYS;
}

static bool hooked_gone(int pid)
{
    (void) pid;
    return is_gone;
}

/* ---- what a waiting rank says, and errors ---- */

static int ready_error;

static int fail_ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    return ready_error < 0 ? ready_error : gr_host_backend.ready(ctx, channel, step);
}

static int fail_move(void *ctx, const struct gr_move *move)
{
    (void) ctx;
    (void) move;
    return -78;
}

/* A root of three others' reduce that has begun. */
static void root_waits(struct ex_world *w, struct runner *root)
{
    static const struct ex_case c = {
        .coll = GR_COLL_REDUCE, .algo = GR_ALGO_FLAT, .root = 1, .nchannels = 1, .count = 10};

    open_world(w, 4, 1, 2, 256, "");
    assert_int_equal(ex_link(w, GR_ALGO_FLAT, 1), 0);
    runner_start(root, w, &c, 1);
    assert_int_equal(gr_stepper_run(&root->stepper, &root->moved), GR_AGAIN);
    assert_int_equal(root->moved, 0);
}

static void a_waiting_rank_names_who_is_missing(void **state)
{
    struct ex_world w;
    struct runner root;
    int ranks[2 * GR_FAN];

    root_waits(&w, &root);
    assert_non_null(gr_stepper_waits(&root.stepper, 0));
    assert_int_equal(gr_host_waits_for(&root.op, 0, gr_stepper_waits(&root.stepper, 0), ranks), 3);
    assert_true(2 == ranks[0] && 3 == ranks[1] && 0 == ranks[2]);
    gr_link_push(&w.ranks[3].team->data.out[1]);
    assert_int_equal(gr_host_waits_for(&root.op, 0, gr_stepper_waits(&root.stepper, 0), ranks), 2);
    assert_true(2 == ranks[0] && 0 == ranks[1]);
    ex_buffers_free(&root.buffers);
    ex_close(&w);
}

static void an_error_of_the_executor_comes_out_as_it_is(void **state)
{
    static const struct gr_backend failing = {.ready = fail_ready, .move = fail_move};
    struct ex_world w;
    struct runner root;
    int r;

    root_waits(&w, &root);
    gr_stepper_start(&root.stepper, &root.plan, &failing, &root.op);
    ready_error = -77;
    assert_int_equal(gr_stepper_run(&root.stepper, &root.moved), -77);
    ready_error = 0;
    for (r = 0; r < 4; r++) {
        if (1 != r) {
            gr_link_push(&w.ranks[r].team->data.out[1]);
        }
    }
    assert_int_equal(gr_stepper_run(&root.stepper, &root.moved), -78);
    assert_int_equal(root.moved, 0);
    ex_buffers_free(&root.buffers);
    ex_close(&w);
}

/* ---- data that are fetched: when their sender is through ---- */

/*
 * Root 1 of three has sent all, to 2, which passes it on to 0: while not all have read, it is not
 * through.
 */
static void a_sender_is_through_when_all_was_read(void **state)
{
    struct ex_case c = {.coll = GR_COLL_BCAST,
                        .algo = GR_ALGO_CHAIN,
                        .root = 1,
                        .nchannels = 2,
                        .count = 160,
                        .direct = 1,
                        .seed = 5};
    struct ex_world w;
    struct runner r[3];
    unsigned char *want;
    uint64_t sent;
    char why[160];
    int ranks[2 * GR_FAN], k;

    needs_to_fetch();
    want = ex_want(&c, 3);
    open_world(&w, 3, 2, 2, 512, "");
    assert_int_equal(ex_link(&w, GR_ALGO_CHAIN, 1), 0);
    for (k = 0; k < 3; k++) {
        runner_start(&r[k], &w, &c, k);
    }
    assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_AGAIN);
    sent = r[1].moved;
    assert_true(sent >= 2);
    for (k = 0; k < 3; k++) { /* however often it is asked */
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_AGAIN);
    }
    assert_int_equal(r[1].moved, sent);
    /* channel 0 goes 1, 2, 0, channel 1 the other way round */
    assert_null(gr_stepper_waits(&r[1].stepper, 0));
    assert_int_equal(gr_host_waits_for(&r[1].op, 0, NULL, ranks), 1);
    assert_int_equal(ranks[0], 2);
    assert_int_equal(gr_host_waits_for(&r[1].op, 1, NULL, ranks), 1);
    assert_int_equal(ranks[0], 0);
    assert_int_equal(gr_stepper_run(&r[2].stepper, &r[2].moved), GR_AGAIN);
    assert_int_equal(gr_host_waits_for(&r[1].op, 0, NULL, ranks), 0);
    /* for the sake of channel 1 */
    assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_AGAIN);
    assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_AGAIN);
    assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
    ex_buffers_free(&r[1].buffers); /* which spoils them */
    assert_int_equal(gr_stepper_run(&r[2].stepper, &r[2].moved), GR_DONE);
    assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_DONE);
    for (k = 0; k < 3; k += 2) {
        assert_int_equal(ex_buffers_check(&r[k].buffers, &c, 3, k, want, why, sizeof(why)), 0);
        ex_buffers_free(&r[k].buffers);
    }
    free(want);
    ex_close(&w);
}

/* What was copied into slots nobody waits for; and memory that cannot be read is an error. */
static void a_sender_that_is_dead_is_an_error(void **state)
{
    struct ex_case c = {
        .coll = GR_COLL_REDUCE, .algo = GR_ALGO_FLAT, .root = 1, .nchannels = 1, .count = 10};
    static const int32_t nobody[2] = {INT32_MAX, INT32_MAX};
    struct ex_world w;
    struct runner r[2];
    int ranks[2 * GR_FAN];

    needs_to_fetch();
    open_pair(&w, 512, 1);
    for (c.direct = 0; c.direct < 2; c.direct++) {
        runner_start(&r[0], &w, &c, 0);
        runner_start(&r[1], &w, &c, 1);
        r[1].op.pids = nobody;
        is_gone = true;
        assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), c.direct ? GR_AGAIN : GR_DONE);
        assert_int_equal(gr_host_waits_for(&r[0].op, 0, NULL, ranks), c.direct);
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved),
                         c.direct ? GR_ERR_SYS : GR_DONE);
        is_gone = false;
        free_pair(r);
    }
    ex_close(&w);
}

/*
 * A call whose messages are in their slots is over before they are read. In the next, direct call the
 * sender looks for what its readers ask for: not in those slots, whose data may look like an offer.
 */
static void what_an_earlier_call_has_left_unread_is_no_offer(void **state)
{
    struct ex_case c = {
        .coll = GR_COLL_REDUCE, .algo = GR_ALGO_FLAT, .root = 1, .nchannels = 1, .count = 100};
    struct ex_world w;
    struct runner first[2], second[2];
    struct gr_offer *offer;
    int k;

    needs_to_fetch();
    open_pair(&w, 4096, 1);
    for (k = 0; k < 2; k++) {
        c.direct = 0;
        runner_start(&first[k], &w, &c, k);
        c.direct = 1;
        runner_start(&second[k], &w, &c, k);
    }
    assert_int_equal(gr_stepper_run(&first[0].stepper, &first[0].moved), GR_DONE);
    offer = &gr_fetch_head(gr_link_oldest_unread(&w.ranks[0].team->data.out[1]))->offer;
    atomic_store(&offer->state, GR_OFFER_OPEN);
    offer->bytes = 0;
    assert_int_equal(gr_stepper_run(&second[0].stepper, &second[0].moved), GR_AGAIN);
    assert_true(GR_OFFER_OPEN == atomic_load(&offer->state));
    assert_int_equal(gr_stepper_run(&first[1].stepper, &first[1].moved), GR_DONE);
    assert_int_equal(gr_stepper_run(&second[1].stepper, &second[1].moved), GR_DONE);
    assert_int_equal(gr_stepper_run(&second[0].stepper, &second[0].moved), GR_DONE);
    free_pair(first);
    free_pair(second);
    ex_close(&w);
}

/* Also where a message is read in several blocks; but not for longer than that. */
static void a_sender_is_not_through_while_it_is_read(void **state)
{
    static const enum ex_kind_id kinds[] = {EX_F64_SUM, EX_TRIPLE};
    struct ex_case c = {
        .coll = GR_COLL_REDUCE, .algo = GR_ALGO_FLAT, .root = 1, .nchannels = 1, .direct = 1};
    struct ex_world w;
    struct runner r[2];
    int k;

    needs_to_fetch();
    open_pair(&w, 300000, 1);
    for (k = 0; k < 4; k++) {
        c.kind = kinds[k / 2];
        c.count = 250000 / ex_kinds[c.kind].elem_bytes;
        c.in_place = k % 2;
        runner_start(&r[0], &w, &c, 0);
        runner_start(&r[1], &w, &c, 1);
        assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_AGAIN);
        sender = &r[0];
        nreads = 0;
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
        sender = NULL;
        assert_true(nreads >= (0 == k ? 1 : 3));
        assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_DONE);
        free_pair(r);
    }
    ex_close(&w);
}

/* ---- what a receiver offers to its sender ---- */

enum { OFFERED_COUNT = 5000 };

/* Root 0's bcast to one other rank, with an offer; both have begun. */
static void begin_offered(struct ex_world *w, struct runner r[2], struct ex_case *c)
{
    int k;

    *c = (struct ex_case) {.coll = GR_COLL_BCAST,
                           .algo = GR_ALGO_FLAT,
                           .nchannels = 1,
                           .count = OFFERED_COUNT,
                           .direct = 1,
                           .direct_bytes = 1 << 20,
                           .seed = 7};
    open_pair(w, 512, 0);
    written = 0;
    for (k = 0; k < 2; k++) {
        runner_start(&r[k], w, c, k);
        r[k].op.offered = 64;
    }
    assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_AGAIN);
}

/* The receiver has the vector, and the sender is through. */
static void end_offered(struct ex_world *w, struct runner r[2], const struct ex_case *c)
{
    unsigned char *want = ex_want(c, 2);
    char why[160];

    assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_DONE);
    assert_int_equal(ex_buffers_check(&r[1].buffers, c, 2, 1, want, why, sizeof(why)), 0);
    free_pair(r);
    free(want);
    ex_close(w);
}

/* The sender looks while the receiver reads its part. */
static void a_sender_copies_what_is_offered(void **state)
{
    struct ex_world w;
    struct runner r[2];
    struct ex_case c;
    size_t bytes;

    needs_to_fetch();
    begin_offered(&w, r, &c);
    bytes = OFFERED_COUNT * ex_kinds[c.kind].elem_bytes;
    sender = &r[0];
    nreads = 0;
    assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
    sender = NULL;
    assert_int_equal(nreads, 1); /* no part twice */
    assert_in_range(written, bytes / 2, bytes / 2 + PAGE_BYTES);
    end_offered(&w, r, &c);
}

/* It does not look, and is not allowed to write: the receiver copies all. */
static void what_a_sender_does_not_copy_the_receiver_does(void **state)
{
    struct ex_world w;
    struct runner r[2];
    struct ex_case c;
    int may;

    needs_to_fetch();
    for (may = 0; may < 2; may++) {
        begin_offered(&w, r, &c);
        write_error = EPERM;
        sender = may ? NULL : &r[0];
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
        sender = NULL;
        write_error = 0;
        assert_int_equal(written, 0);
        end_offered(&w, r, &c);
    }
}

/* It is ended while it copies. */
static void a_sender_that_dies_with_an_offer_is_an_error(void **state)
{
    struct ex_world w;
    struct runner r[2];
    struct ex_case c;
    struct gr_offer *offer;

    needs_to_fetch();
    begin_offered(&w, r, &c);
    offer = &gr_fetch_head(gr_link_slot(&r[1].op.in[0]))->offer;
    atomic_store(&offer->state, GR_OFFER_TAKEN);
    is_gone = true;
    assert_int_equal(settle_offer(offer, w.pids[0]), GR_ERR_SYS);
    assert_int_equal(errno, ESRCH);
    is_gone = false;
    atomic_store(&offer->state, GR_OFFER_NONE);
    assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
    end_offered(&w, r, &c);
}

/* ---- what the kernel refuses ---- */

/* A bcast in which the receiver may not read, on the links of the one before it. */
static void bcast_refused(const struct ex_world *w, struct ex_case *c, int error, int rounds)
{
    unsigned char *want = ex_want(c, 2);
    struct runner r[2];
    int ranks[2 * GR_FAN], k;
    char why[160];

    for (k = 0; k < 2; k++) {
        runner_start(&r[k], w, c, k);
    }
    nreads = 0;
    read_error = error;
    assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_AGAIN);
    for (k = 0; k < rounds; k++) { /* a part of the message in each */
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_AGAIN);
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_AGAIN);
        assert_int_equal(gr_host_waits_for(&r[1].op, 0, gr_stepper_waits(&r[1].stepper, 0), ranks),
                         1);
        assert_int_equal(ranks[0], 0);
        assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_AGAIN);
    }
    assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
    assert_int_equal(gr_stepper_run(&r[0].stepper, &r[0].moved), GR_DONE);
    read_error = 0;
    assert_int_equal(r[1].op.refused.error, nreads > 0 ? error : 0);
    assert_int_equal(ex_buffers_check(&r[1].buffers, c, 2, 1, want, why, sizeof(why)), 0);
    free_pair(r);
    free(want);
}

/*
 * Through the slot, by parts where the message is longer. Later a message that fits lies there at
 * once, where the process is refused, and is tried again, where only its memory was.
 */
static void what_is_refused_comes_through_its_slot(void **state)
{
    static const struct {
        int error, lasts;
    } rows[] = {{EFAULT, 0}, {ENOMEM, 0}, {EPERM, 1}, {ESRCH, 1}, {ENOSYS, 1}};
    struct ex_case c = {.coll = GR_COLL_BCAST,
                        .algo = GR_ALGO_FLAT,
                        .kind = EX_F64_SUM,
                        .nchannels = 1,
                        .direct = 1,
                        .direct_bytes = 1 << 20,
                        .seed = 9};
    const int fits = (512 - (int) GR_DIRECT_HEAD) / 8;
    struct ex_world w;
    size_t k;

    needs_to_fetch();
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        open_pair(&w, 512, 0);
        c.count = (size_t) fits * 9 + 1;
        bcast_refused(&w, &c, rows[k].error, 10);
        assert_int_equal(nreads, 1);
        bcast_refused(&w, &c, rows[k].error, 10);
        assert_int_equal(nreads, !rows[k].lasts);
        c.count = (size_t) fits;
        bcast_refused(&w, &c, rows[k].error, !rows[k].lasts);
        assert_int_equal(nreads, !rows[k].lasts);
        ex_leave(&w); /* the next team of these slabs is not refused */
        assert_int_equal(ex_team(&w), 0);
        assert_int_equal(ex_link(&w, GR_ALGO_FLAT, 0), 0);
        bcast_refused(&w, &c, 0, 0);
        assert_false(gr_link_is_refused(&w.ranks[1].team->data.in[0]));
        ex_close(&w);
    }
}

/* It is refused, and found to have ended then, or while the receiver waits for its copy. */
static void a_sender_that_dies_when_it_is_asked_is_an_error(void **state)
{
    struct ex_world w;
    struct runner r[2];
    struct ex_case c;
    int late, k, rc;

    needs_to_fetch();
    for (late = 0; late < 2; late++) {
        begin_offered(&w, r, &c);
        read_error = ESRCH;
        is_gone = !late;
        rc = gr_stepper_run(&r[1].stepper, &r[1].moved);
        is_gone = true;
        for (k = 0; k < 2 * POLLS_TO_ASK && GR_AGAIN == rc; k++) {
            rc = gr_stepper_run(&r[1].stepper, &r[1].moved);
        }
        assert_int_equal(rc, GR_ERR_SYS);
        assert_true(late ? k > 0 : 0 == k);
        is_gone = false;
        read_error = 0;
        free_pair(r);
        ex_close(&w);
    }
}

/*
 * Its call fails before its message is read, or while it is asked: what lies in its buffers then is
 * no message.
 */
static void a_sender_that_fails_is_an_error(void **state)
{
    struct ex_world w;
    struct runner r[2];
    struct ex_case c;
    int asked;

    needs_to_fetch();
    for (asked = 0; asked < 2; asked++) {
        begin_offered(&w, r, &c);
        read_error = asked ? EFAULT : 0;
        if (asked) {
            assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_AGAIN);
        }
        gr_host_withdraw(&r[0].op);
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_ERR_SYS);
        read_error = 0;
        free_pair(r);
        ex_close(&w);
    }
}

/* For a receiver that is refused: a step that only sends copies at once, not when it has sent. */
static void a_message_is_in_its_slot_when_it_is_sent(void **state)
{
    const struct gr_step step = {.bits = GR_SEND, .operand = GR_IN, .nto = 1, .to = {1}};
    const struct gr_move move = {.step = &step, .count = 3, .last = 1};
    int32_t in[3] = {11, 12, 13};
    struct ex_world w;
    struct gr_host_op op;
    unsigned char *slot;

    open_pair(&w, 512, 0);
    gr_link_refuse(&w.ranks[1].team->data.in[0]);
    op = op_of(&w, 0, in, NULL, 1);
    slot = gr_link_slot(&op.out[1]);
    memset(slot, 0xee, 512);
    assert_int_equal(gr_host_backend.ready(&op, 0, &step), 1);
    assert_int_equal(gr_host_backend.move(&op, &move), 0);
    assert_int_equal(gr_fetch_head(slot)->at[0], 0);
    assert_memory_equal(slot + GR_DIRECT_HEAD, in, sizeof(in));
    ex_close(&w);
}

/* A sender that may not write is not tried again, and the receiver copies both halves. */
static void a_refused_offer_is_not_taken_again(void **state)
{
    static const struct {
        int error, lasts;
    } rows[] = {{EFAULT, 0}, {EPERM, 1}};
    struct ex_world w;
    struct runner r[2];
    struct ex_case c;
    size_t k;

    needs_to_fetch();
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        begin_offered(&w, r, &c);
        write_error = rows[k].error;
        sender = &r[0];
        assert_int_equal(gr_stepper_run(&r[1].stepper, &r[1].moved), GR_DONE);
        sender = NULL;
        write_error = 0;
        assert_int_equal(r[0].op.out[1].may_not_write, rows[k].lasts);
        end_offered(&w, r, &c);
    }
}

/* ---- slots ---- */

/*
 * No schedule has such steps today: a message of two chunks that lie apart, stored by its sender,
 * too.
 */
static void a_slot_may_hold_several_pieces(void **state)
{
    const struct gr_step send = {
        .bits = GR_SEND | GR_STORE, .operand = GR_IN, .dest = GR_OUT, .nto = 1, .to = {1}};
    const struct gr_step receive = {
        .bits = GR_RECV | GR_STORE, .dest = GR_OUT, .nfrom = 1, .from = {0}};
    int32_t in[20], out[2][20], want[2][20] = {{0}}, k;
    struct gr_host_op ops[2];
    struct ex_world w;
    int direct, rank;

    needs_to_fetch();
    open_pair(&w, 512, 0);
    for (k = 0; k < 20; k++) {
        in[k] = 100 + k;
    }
    for (k = 0; k < 3; k++) {
        want[0][k] = want[1][k + 8] = in[k + 1];
        want[0][k + 10] = want[1][k + 15] = in[k + 12];
    }
    for (direct = 0; direct < 2; direct++) {
        memset(out, 0, sizeof(out));
        for (rank = 0; rank < 2; rank++) {
            const struct gr_step *s = 0 == rank ? &send : &receive;
            struct gr_move first = {.step = s, .operand = 1, .dest = 0 == rank ? 0 : 8, .count = 3};
            struct gr_move second = {.step = s,
                                     .operand = 12,
                                     .dest = 0 == rank ? 10 : 15,
                                     .slot = 3,
                                     .count = 3,
                                     .piece = 1,
                                     .last = 1};

            ops[rank] = op_of(&w, rank, in, out[rank], direct);
            assert_int_equal(gr_host_backend.ready(&ops[rank], 0, s), 1);
            assert_int_equal(gr_host_backend.move(&ops[rank], &first), 0);
            assert_int_equal(gr_host_backend.move(&ops[rank], &second), 0);
            gr_host_backend.commit(&ops[rank], 0, s);
        }
        assert_memory_equal(out, want, sizeof(out));
        assert_int_equal(gr_host_backend.finished(&ops[0]), 1);
    }
    ex_close(&w);
}

/* ---- mailboxes ---- */

static void add_bytes(void *ctx, const void *in, void *inout, size_t n)
{
    size_t bytes = n * *(const size_t *) ctx, k;

    for (k = 0; k < bytes; k++) {
        ((unsigned char *) inout)[k] =
            (unsigned char) (((unsigned char *) inout)[k] + ((const unsigned char *) in)[k]);
    }
}

/* Byte k of what rank r contributes. */
static unsigned char contributed(int r, size_t k)
{
    return (unsigned char) (k * 7 + (size_t) r * 100 + 1);
}

/* Both ranks reduce in place, with a function of the caller's; their blocks begin at displs[]. */
static void reduce_in_place(enum gr_coll coll, size_t elem, const size_t *counts,
                            const size_t *displs)
{
    const struct mail_shape shape = {.p = 2, .nsets = 4, .bytes = 8192, .window = 1};
    size_t bytes = (displs[1] + counts[1]) * elem, k;
    unsigned char data[2][8192];
    struct gr_mailbox_call calls[2];
    struct mail_world *w = calloc(1, sizeof(*w));
    uint64_t moved;
    int r;

    assert_non_null(w);
    mail_open(w, &shape, 1);
    for (r = 0; r < 2; r++) {
        for (k = 0; k < bytes; k++) {
            data[r][k] = contributed(r, k);
        }
        calls[r] = (struct gr_mailbox_call) {.coll = coll,
                                             .in = data[r],
                                             .out = data[r],
                                             .count = counts[0],
                                             .counts = counts,
                                             .displs = displs,
                                             .reducer = {elem, NULL, add_bytes, &elem}};
        gr_mailbox_begin(&w->ranks[r].box, &calls[r]);
        assert_int_equal(gr_mailbox_post(&w->ranks[r].box, &calls[r]), 1);
    }
    for (r = 0; r < 2; r++) {
        size_t from = GR_COLL_REDUCE_SCATTER == coll ? displs[r] * elem : 0;

        assert_int_equal(gr_mailbox_take(&w->ranks[r].box, &calls[r], &moved), 1);
        for (k = 0; k < counts[r] * elem; k++) {
            assert_int_equal(data[r][k],
                             (unsigned char) (contributed(0, from + k) + contributed(1, from + k)));
        }
    }
    mail_close(w);
    free(w);
}

/* Rank 1's block begins inside of where its result is stored. */
static void a_result_may_overlap_the_input(void **state)
{
    static const size_t counts[] = {2, 900}, displs[] = {0, 2};

    reduce_in_place(GR_COLL_REDUCE_SCATTER, 4, counts, displs);
}

static void elements_may_be_long(void **state)
{
    static const size_t counts[] = {1, 1}, displs[] = {0, 0};

    reduce_in_place(GR_COLL_ALLREDUCE, 5000, counts, displs);
}

/* Whether a rank is through with a barrier by mailboxes; the first time it posts. */
static int enter_and_look(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    uint64_t moved = 0;

    if (!gr_mailbox_is_posted(box, call)) {
        assert_int_equal(gr_mailbox_post(box, call), 1);
    }
    return gr_mailbox_take(box, call, &moved);
}

/* Each rank in turn comes last, three times, so that sets are used again. */
static void nobody_leaves_a_barrier_before_the_last_rank_enters(void **state)
{
    struct ex_world w;
    unsigned char token[4] = {0};
    struct gr_mailbox_call calls[4];
    int late, again, r;

    open_world(&w, 4, 1, 2, 256, "");
    assert_int_equal(ex_link(&w, GR_ALGO_MAILBOX, 0), 0);
    for (late = 0; late < 12; late++) {
        for (r = 0; r < 4; r++) {
            calls[r] = (struct gr_mailbox_call) {.coll = GR_COLL_BARRIER,
                                                 .in = &token[r],
                                                 .out = &token[r],
                                                 .count = 1,
                                                 .reducer = {.elem_bytes = 1}};
            gr_mailbox_begin(mailbox_of(&w, r), &calls[r]);
        }
        for (again = 0; again < 2; again++) {
            for (r = 0; r < 4; r++) {
                assert_true(r == late % 4 || 0 == enter_and_look(mailbox_of(&w, r), &calls[r]));
            }
        }
        for (r = 0; r < 4; r++) { /* the late one first */
            int rank = (late + r) % 4;

            assert_int_equal(enter_and_look(mailbox_of(&w, rank), &calls[rank]), 1);
        }
    }
    ex_close(&w);
}

/* The same by dissemination. */
static void nobody_leaves_a_dissemination_before_the_last_rank_enters(void **state)
{
    struct ex_case c = {.coll = GR_COLL_BARRIER,
                        .algo = GR_ALGO_DISSEMINATION,
                        .kind = EX_F32_MAX,
                        .nchannels = 1,
                        .count = 1,
                        .seed = 1};
    struct ex_world w;
    struct runner r[5];
    int late, turn, k, done;

    open_world(&w, 5, 1, 2, 256, "");
    assert_int_equal(ex_link(&w, GR_ALGO_DISSEMINATION, 0), 0);
    for (late = 0; late < 5; late++) {
        for (k = 0; k < 5; k++) {
            runner_start(&r[k], &w, &c, k);
        }
        for (turn = 0; turn < 20; turn++) {
            k = turn % 5;
            assert_true(k == late || GR_AGAIN == gr_stepper_run(&r[k].stepper, &r[k].moved));
        }
        for (turn = done = 0; turn < 20 && done < 5; turn++) {
            k = (late + turn) % 5;
            done +=
                r[k].stepper.running > 0 && GR_DONE == gr_stepper_run(&r[k].stepper, &r[k].moved);
        }
        assert_int_equal(done, 5);
        for (k = 0; k < 5; k++) {
            ex_buffers_free(&r[k].buffers);
        }
    }
    ex_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_leaves_a_barrier_before_the_last_rank_enters),
        cmocka_unit_test(nobody_leaves_a_dissemination_before_the_last_rank_enters),
        cmocka_unit_test(a_waiting_rank_names_who_is_missing),
        cmocka_unit_test(an_error_of_the_executor_comes_out_as_it_is),
        cmocka_unit_test(a_sender_is_through_when_all_was_read),
        cmocka_unit_test(what_an_earlier_call_has_left_unread_is_no_offer),
        cmocka_unit_test(a_sender_is_not_through_while_it_is_read),
        cmocka_unit_test(a_sender_that_is_dead_is_an_error),
        cmocka_unit_test(a_sender_copies_what_is_offered),
        cmocka_unit_test(what_a_sender_does_not_copy_the_receiver_does),
        cmocka_unit_test(a_sender_that_dies_with_an_offer_is_an_error),
        cmocka_unit_test(what_is_refused_comes_through_its_slot),
        cmocka_unit_test(a_sender_that_dies_when_it_is_asked_is_an_error),
        cmocka_unit_test(a_sender_that_fails_is_an_error),
        cmocka_unit_test(a_message_is_in_its_slot_when_it_is_sent),
        cmocka_unit_test(a_refused_offer_is_not_taken_again),
        cmocka_unit_test(a_slot_may_hold_several_pieces),
        cmocka_unit_test(a_result_may_overlap_the_input),
        cmocka_unit_test(elements_may_be_long),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
