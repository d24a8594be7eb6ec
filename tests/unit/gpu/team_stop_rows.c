/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of team_test: calls that are aborted, or wait for a rank that has not begun. */
#include "team_rows.h"

#include "link/team.h"
#include "cuda/stream.h"

#include "rng.h"
#include "usage.h"

#include <stdatomic.h>
#include <unistd.h>

static const struct tr_shape shape = {.nchannels = 2, .nslots = 2, .slot_bytes = 256};

struct stage {
    struct tr_team t;
    struct tc_call calls[TR_RANKS];
};

static void open_stage(struct stage *s, int p, const struct ex_case *c)
{
    tr_set_up(&s->t, p, &shape, TR_NO_LINKS);
    CHECK_INT(tr_link(&s->t, (enum gr_algo) c->algo, c->root), 0);
}

/* The next team over the same pools works, in the memory of the last. */
static void next_team(struct stage *s, enum gr_algo algo, const size_t *held)
{
    int r;

    tr_make(&s->t, s->t.world, &shape);
    tc_try(&s->t, algo);
    for (r = 0; r < s->t.world->p; r++) {
        CHECK_INT(gpu_pool_usage(s->t.world->ranks[r].pool).held, held[r]);
    }
    tr_tear_down(&s->t);
}

static void look_at_pools(const struct stage *s, size_t *held)
{
    int r;

    for (r = 0; r < s->t.world->p; r++) {
        held[r] = gpu_pool_usage(s->t.world->ranks[r].pool).held;
    }
}

/* ---- aborts ---- */

/* Whether all channels of the last launch have seen the abort word. */
static int all_aborted(const struct tc_call *call)
{
    const struct gr_gpu_report *reports = gr_gpu_team_pinned(call->op.team, GR_PINNED_REPORTS);
    uint32_t c;

    for (c = 0; c < call->op.nchannels; c++) {
        if (!gr_gpu_report_is_of(reports[c].word, call->op.args.launch) ||
            GR_GPU_ABORTED != gr_gpu_report_state(reports[c].word)) {
            return 0;
        }
    }
    return 1;
}

/* The kernel ends, and none is launched any more. */
static void check_quiet(const struct tc_call *call)
{
    unsigned launches = td_calls(TD_LAUNCH, call->rank);

    CHECK_INT(call->op.launched, 0);
    CHECK_INT(gr_gpu_stream_wait(call->op.team->stream), 0);
    usleep(2000);
    CHECK_INT(td_calls(TD_LAUNCH, call->rank), launches);
}

/*
 * Ranks 0, 1 and 3 of a ring; their kernels would wait for ever. Rank 1's driver errs for a while
 * when it is asked whether the kernel has ended: it is waited for all the same. Frames come back
 * when both ends have left.
 */
void a_rank_never_begins_and_the_others_abort(void)
{
    static const struct ex_case c = TC_CASE(ALLREDUCE, RING, 0, F64_SUM, 2, 3000);
    static const int begun[] = {0, 1, 3};
    size_t held[TR_RANKS];
    struct stage s;
    int k, round;

    open_stage(&s, 4, &c);
    look_at_pools(&s, held);
    for (k = 0; k < 3; k++) {
        CHECK_INT(tc_begin(&s.calls[begun[k]], &s.t, begun[k], &c), 0);
        s.calls[begun[k]].op.args.patience = UINT64_MAX;
    }
    for (round = 0; round < 100; round++) {
        for (k = 0; k < 3; k++) {
            CHECK_INT(tc_poll(&s.calls[begun[k]]), GR_AGAIN);
        }
        usleep(100);
    }
    for (k = 0; k < 3; k++) {
        CHECK_INT(td_calls(TD_LAUNCH, begun[k]), 1);
        td_rank = begun[k];
        td_fail(TD_QUERY, begun[k], 0, 1 == begun[k] ? 5 : 0, CUDA_ERROR_UNKNOWN);
        gr_gpu_op_abort(&s.calls[begun[k]].op);
        CHECK(all_aborted(&s.calls[begun[k]]));
        check_quiet(&s.calls[begun[k]]);
        tc_drop(&s.calls[begun[k]]);
    }
    tr_leave_rank(&s.t, 1);
    CHECK(tr_leased(s.t.world, 1) > 0); /* ranks 0 and 2 may still write there */
    tr_leave_rank(&s.t, 0);
    tr_leave_rank(&s.t, 2);
    CHECK_INT(tr_leased(s.t.world, 1), 0);
    CHECK(tr_leased(s.t.world, 0) > 0);
    tr_leave_rank(&s.t, 3);
    CHECK_INT(tr_leased(s.t.world, 0), 0);
    next_team(&s, GR_ALGO_RING, held);
}

/*
 * All ranks begin, and all abort after some polls: slots are full, counters anywhere, when the next
 * team comes.
 */
void calls_are_aborted_anywhere(void)
{
    static const struct ex_case cases[] = {
        TC_CASE(ALLREDUCE, RING, 0, I32_SUM, 2, 9000),
        TC_CASE(BCAST, CHAIN, 1, I32_SUM, 2, 20000),
        TC_CASE(REDUCE, FLAT, 0, I32_SUM, 2, 5000),
    };
    uint64_t seed = rng_seed(), polls;
    size_t held[TR_RANKS];
    struct stage s;
    int k, r;

    for (k = 0; k < 9; k++) {
        const struct ex_case *c = &cases[k % 3];

        open_stage(&s, 3, c);
        look_at_pools(&s, held);
        for (r = 0; r < 3; r++) {
            CHECK_INT(tc_begin(&s.calls[r], &s.t, r, c), 0);
            s.calls[r].op.args.patience = 1 + rng_below(&seed, 3) * 50;
        }
        for (polls = 10 + rng_below(&seed, 300); polls > 0; polls--) {
            r = rng_below(&seed, 3);
            if (GR_DONE == tc_poll(&s.calls[r])) {
                break;
            }
        }
        for (r = 0; r < 3; r++) {
            gr_gpu_op_abort(&s.calls[r].op);
            check_quiet(&s.calls[r]);
            tc_drop(&s.calls[r]);
        }
        tr_leave(&s.t);
        next_team(&s, (enum gr_algo) c->algo, held);
    }
}

/* Before the first launch, and between two. */
void abort_needs_no_launch(void)
{
    static const struct ex_case c = TC_CASE(ALLREDUCE, TREE, 0, I32_SUM, 2, 100);
    size_t held[TR_RANKS];
    struct stage s;
    int r;

    open_stage(&s, 2, &c);
    look_at_pools(&s, held);
    for (r = 0; r < 2; r++) {
        CHECK_INT(tc_begin(&s.calls[r], &s.t, r, &c), 0);
        s.calls[r].op.args.patience = 50;
    }
    while (0 == s.calls[0].op.pause) { /* it has left some times, and is to come later */
        CHECK_INT(tc_poll(&s.calls[0]), GR_AGAIN);
    }
    CHECK(td_calls(TD_LAUNCH, 0) > 1);
    for (r = 0; r < 2; r++) {
        gr_gpu_op_abort(&s.calls[r].op);
        check_quiet(&s.calls[r]);
        tc_drop(&s.calls[r]);
    }
    CHECK_INT(td_calls(TD_LAUNCH, 1), 0);
    tr_leave(&s.t);
    next_team(&s, GR_ALGO_TREE, held);
}

/* ---- who is waited for ---- */

/*
 * These ranks begin a call; blocks leave soon, since many threads of one machine take turns here.
 */
static void begin_some(struct stage *s, const struct ex_case *c, const int *begun, int n)
{
    int k;

    for (k = 0; k < n; k++) {
        CHECK_INT(tc_begin(&s->calls[begun[k]], &s->t, begun[k], c), 0);
        s->calls[begun[k]].op.args.patience = 50;
    }
}

/*
 * Poll the ranks that have begun until each is through, or has launched in vain since anybody moved
 * anything: then no report is older than what there is to be seen. No kernel is under way at the
 * end.
 */
static void poll_until_stopped(struct stage *s, const int *begun, int n, int *through)
{
    uint64_t moved, before = UINT64_MAX;
    unsigned launches[TR_RANKS];
    int k, waiting;

    memset(through, 0, sizeof(int) * TR_RANKS);
    do {
        for (k = 0, moved = 0, waiting = 0; k < n; k++) {
            struct tc_call *call = &s->calls[begun[k]];
            int rc = through[begun[k]] ? GR_DONE : tc_poll(call);

            CHECK(rc >= 0);
            through[begun[k]] = GR_DONE == rc;
            moved += call->moved;
        }
        for (k = 0; k < n; k++) {
            launches[k] = moved == before ? launches[k] : td_calls(TD_LAUNCH, begun[k]);
            waiting += !through[begun[k]] && td_calls(TD_LAUNCH, begun[k]) < launches[k] + 2;
        }
        before = moved;
    } while (waiting > 0);
    for (k = 0; k < n; k++) {
        while (s->calls[begun[k]].op.launched) {
            CHECK_INT(tc_poll(&s->calls[begun[k]]), GR_AGAIN);
        }
    }
}

/* The ranks that a channel waits for, as a set; 0: it is through. */
static unsigned waits(const struct tc_call *call, uint32_t channel)
{
    int ranks[2 * GR_FAN], n, k, peer = 0;
    struct gr_gpu_report report;
    struct gr_step step;
    unsigned set = 0;

    if (!gr_gpu_op_waits(&call->op, channel, &step, &report, ranks, &n)) {
        CHECK_INT(n, 0);
        return 0;
    }
    CHECK(n > 0 && GR_GPU_LEFT == gr_gpu_report_state(report.word));
    for (k = 0; k < n; k++) {
        set |= 1u << ranks[k];
    }
    for (k = 0; k < step.nfrom; k++) {
        peer |= 1 << step.from[k];
    }
    for (k = 0; k < step.nto; k++) {
        peer |= 1 << step.to[k];
    }
    CHECK_INT(set & ~(unsigned) peer, 0);
    return set;
}

/* The late ranks come, and all is as if nothing had been. */
static void go_on(struct stage *s, const struct ex_case *c, const int *through, unsigned late)
{
    int k, left = 0, over[TR_RANKS];

    for (k = 0; k < s->t.world->p; k++) {
        over[k] = through[k];
        if (late & 1u << k) {
            CHECK_INT(tc_begin(&s->calls[k], &s->t, k, c), 0);
            over[k] = 0;
        }
        left += !over[k];
    }
    while (left > 0) {
        for (k = 0; k < s->t.world->p; k++) {
            if (!over[k] && GR_DONE == tc_poll(&s->calls[k])) {
                over[k] = 1;
                left--;
            }
        }
    }
    for (k = 0; k < s->t.world->p; k++) {
        CHECK_INT(waits(&s->calls[k], 0), 0);
        tc_end(&s->calls[k]);
    }
    tr_tear_down(&s->t);
}

/*
 * A ring without rank 2, forward on channel 0, backward on channel 1: one waits for its data, one
 * for its slots.
 */
void those_waited_for_are_named(void)
{
    static const struct ex_case c = TC_CASE(ALLREDUCE, RING, 0, I32_SUM, 2, 500);
    static const int begun[] = {0, 1, 3};
    int through[TR_RANKS];
    struct stage s;

    open_stage(&s, 4, &c);
    begin_some(&s, &c, begun, 3);
    CHECK_INT(waits(&s.calls[3], 0), 0); /* it has not left yet */
    poll_until_stopped(&s, begun, 3, through);
    CHECK_INT(waits(&s.calls[3], 0), 1 << 2);
    CHECK_INT(waits(&s.calls[0], 0), 1 << 3);
    CHECK_INT(waits(&s.calls[1], 0), 1 << 2);
    CHECK_INT(waits(&s.calls[1], 1), 1 << 2);
    CHECK_INT(waits(&s.calls[0], 1), 1 << 1);
    CHECK_INT(waits(&s.calls[3], 1), 1 << 2);
    go_on(&s, &c, through, 1u << 2);
}

/* A star: all that have begun are through but the root. */
void a_root_names_all_who_are_missing(void)
{
    static const struct ex_case c = TC_CASE(REDUCE, FLAT, 1, I32_SUM, 2, 40);
    static const int begun[] = {1, 3};
    int through[TR_RANKS];
    struct stage s;

    open_stage(&s, 4, &c);
    begin_some(&s, &c, begun, 2);
    poll_until_stopped(&s, begun, 2, through);
    CHECK(through[3] && !through[1]);
    CHECK_INT(waits(&s.calls[1], 0), 1 << 0 | 1 << 2);
    CHECK_INT(waits(&s.calls[1], 1), 1 << 0 | 1 << 2);
    CHECK_INT(waits(&s.calls[3], 0), 0);
    go_on(&s, &c, through, 1u << 0 | 1u << 2);
}

/*
 * A chain whose second rank does not read: the root has filled all slots. The others wait for data.
 */
void a_writer_names_who_does_not_read(void)
{
    static const struct ex_case c = TC_CASE(BCAST, CHAIN, 0, I8_SUM, 1, 2000);
    static const int begun[] = {0, 2, 3};
    struct gr_gpu_report *report;
    int through[TR_RANKS];
    struct stage s;

    open_stage(&s, 4, &c);
    begin_some(&s, &c, begun, 3);
    poll_until_stopped(&s, begun, 3, through);
    CHECK_INT(s.calls[0].moved, shape.nslots);
    report = gr_gpu_team_pinned(s.t.ranks[0], GR_PINNED_REPORTS);
    CHECK_INT(report->to, 1);
    CHECK_INT(report->from, 0);
    CHECK_INT(waits(&s.calls[0], 0), 1 << 1);
    CHECK_INT(waits(&s.calls[2], 0), 1 << 1);
    CHECK_INT(waits(&s.calls[3], 0), 1 << 2);
    go_on(&s, &c, through, 1u << 1);
}
