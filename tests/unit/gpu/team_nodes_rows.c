/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of team_test about links to other nodes; calls over them are in team_test.c. */
#include "exec/gpu/op.h"
#include "exec/gpu/team.h"
#include "team_net.h"
#include "team_rows.h"
#include "usage.h"

#include <unistd.h>

static const struct tr_shape shape = {.nchannels = 2, .nslots = 2, .slot_bytes = 256};

static void open_nodes(struct tr_team *t, int p, int nodes, int algo)
{
    tn_open(nodes);
    tr_set_up(t, p, &shape, algo);
}

static void close_nodes(struct tr_team *t)
{
    tr_tear_down(t);
    tn_close();
}

/*
 * Four ranks on two nodes, which take turns: of oneshot's links two of a rank's three lead to the
 * other node.
 */
void remote_links_lie_in_host_memory(void)
{
    const struct gr_gpu_connection *out;
    struct tr_team t;
    int r;

    open_nodes(&t, 4, 2, GR_ALGO_ONESHOT);
    for (r = 0; r < 4; r++) {
        out = t.ranks[r]->out;
        CHECK(0 != out[(r + 1) % 4].ends[GR_PROTOCOL_SIMPLE].valid_bytes &&
              0 == out[(r + 1) % 4].mapped.at);
        CHECK(0 == out[(r + 1) % 4].ends[GR_PROTOCOL_LL].slots); /* lines are not for networks */
        CHECK(0 == out[(r + 2) % 4].ends[GR_PROTOCOL_SIMPLE].valid_bytes &&
              0 != out[(r + 2) % 4].mapped.at);
        /* the reader counts nothing */
        CHECK(0 == t.ranks[r]->in[(r + 1) % 4].ends[GR_PROTOCOL_SIMPLE].valid_bytes);
    }
    tc_try(&t, GR_ALGO_ONESHOT);
    tr_leave(&t);
    tr_make(&t, t.world, &shape); /* in the memory of the last */
    tc_try(&t, GR_ALGO_ONESHOT);
    close_nodes(&t);
}

/*
 * Links of two nodes whose network reaches devices: where slots lie, which of them are flushed, and
 * what is leased.
 */
static void check_slots(int on_devices, int flushed, const struct tr_bounds *bounds)
{
    struct tr_world w;
    struct tr_team t;
    size_t before;
    int r;

    tn_open(2);
    tr_open(&w, 2, bounds);
    tr_make(&t, &w, &shape);
    CHECK_INT(tr_link(&t, GR_ALGO_RING, 0), 0);
    for (r = 0; r < 2; r++) {
        const struct gr_gpu_team *team = t.ranks[r];
        struct gr_fifo out = gr_gpu_remote_fifo(team, &team->out[!r], 1),
                       in = gr_gpu_remote_fifo(team, &team->in[!r], 0);

        CHECK(on_devices == out.gpu.on && on_devices == in.gpu.on);
        CHECK(NULL == out.gpu.flush && (NULL != in.gpu.flush) == flushed);
        /* in and out, of two channels */
        before = on_devices ? 4 * shape.nslots * shape.slot_bytes : 0;
        CHECK_INT(gpu_pool_usage(w.ranks[r].pool).leased, before);
    }
    tc_try(&t, GR_ALGO_RING);
    CHECK_INT(td_calls(TD_FLUSH, 0) + td_calls(TD_FLUSH, 1) > 0, flushed);
    close_nodes(&t);
}

void remote_slots_lie_on_devices(void)
{
    check_slots(1, 1, NULL);
}
void slots_that_need_no_flush(void)
{
    check_slots(1, 0, NULL);
}
void slots_that_cannot_lie_on_devices(void)
{
    check_slots(0, 0, NULL);
}

/* Not even for an arena. */
void slots_find_no_room_on_devices(void)
{
    static const struct tr_bounds small = {(size_t) 64 << 20, (size_t) 1 << 20, TR_THREADS};

    check_slots(0, 0, &small);
}

/* The driver fails rank 0's node: its link fails, and whoever drives the calls gives them up. */
void a_flush_fails_and_the_calls_abort(void)
{
    static const struct ex_case c = TC_CASE(ALLREDUCE, RING, 0, F64_SUM, 2, 1000);
    struct tc_call calls[2];
    struct tr_team t;
    int r, k;

    open_nodes(&t, 2, 2, GR_ALGO_RING);
    td_fail(TD_FLUSH, 0, 2, 1000000, CUDA_ERROR_UNKNOWN);
    tn_expect_failures();
    for (r = 0; r < 2; r++) {
        CHECK_INT(tc_begin(&calls[r], &t, r, &c), 0);
    }
    for (k = 0; !tn_failed(0); k++) {
        CHECK_INT(tc_poll(&calls[k % 2]), GR_AGAIN);
    }
    for (r = 0; r < 2; r++) {
        td_rank = r;
        gr_gpu_op_abort(&calls[r].op);
        CHECK_INT(calls[r].op.launched, 0);
        tc_drop(&calls[r]);
    }
    close_nodes(&t);
}

/* A root whose kernel is through: its call is not, as long as nobody takes what it has sent. */
void a_call_is_over_when_all_is_sent(void)
{
    static const struct ex_case c = TC_CASE(BCAST, CHAIN, 0, I32_SUM, 1, 20);
    struct tc_call calls[2];
    struct tr_team t;
    int rank = -1;

    open_nodes(&t, 2, 2, GR_ALGO_CHAIN);
    CHECK_INT(tc_begin(&calls[0], &t, 0, &c), 0);
    CHECK_INT(gr_gpu_op_unsent(&calls[0].op, &rank, 1), 0);
    while (!calls[0].op.kernel_done) {
        /* without the network */
        CHECK_INT(gr_gpu_op_poll(&calls[0].op, &calls[0].moved), GR_AGAIN);
        usleep(100);
    }
    CHECK_INT(gr_gpu_op_poll(&calls[0].op, &calls[0].moved), GR_AGAIN);
    CHECK_INT(gr_gpu_op_unsent(&calls[0].op, &rank, 1), 1);
    CHECK_INT(rank, 1);
    CHECK_INT(tc_begin(&calls[1], &t, 1, &c), 0);
    /* its node's network only: the other's takes nothing yet */
    while (GR_DONE != tc_poll(&calls[0])) {
        tn_progress(1);
    }
    tc_finish(&calls[1]);
    tc_end(&calls[0]);
    tc_end(&calls[1]);
    close_nodes(&t);
}

/* Whoever drives the calls sees it, and gives them up; kernels leave, and slabs come back. */
void a_connection_breaks_and_the_calls_abort(void)
{
    static const struct ex_case c = TC_CASE(ALLREDUCE, RING, 0, F64_SUM, 2, 100000);
    struct tc_call calls[3];
    struct tr_team t;
    int r, k;

    open_nodes(&t, 3, 3, GR_ALGO_RING);
    for (r = 0; r < 3; r++) {
        CHECK_INT(tc_begin(&calls[r], &t, r, &c), 0);
    }
    for (k = 0; k < 300; k++) {
        CHECK_INT(tc_poll(&calls[k % 3]), GR_AGAIN);
    }
    tn_cut();
    for (r = 0; r < 3; r++) {
        for (k = 0; k < 2000; k++) {
            CHECK_INT(tc_poll(&calls[r]), GR_AGAIN);
        }
        /* whose links are well: it waits for those who have lost theirs */
        CHECK_INT(tn_failed(r), 2 != r);
        td_rank = r;
        gr_gpu_op_abort(&calls[r].op);
        CHECK_INT(calls[r].op.launched, 0);
        tc_drop(&calls[r]);
    }
    close_nodes(&t);
}

/*
 * No pinned memory for one rank: all refuse these links, those inside a node too, and nothing stays
 * leased.
 */
void remote_links_are_refused(void)
{
    struct tr_team t;

    open_nodes(&t, 4, 2, TR_NO_LINKS);
    td_fail(TD_PIN, 2, 1, 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(tr_link(&t, GR_ALGO_FLAT, 0) < 0);
    CHECK_INT(tr_state(&t, 0, GR_ALGO_FLAT, 0), GR_LINKS_REFUSED);
    td_fail(TD_PIN, 2, 0, 0, CUDA_SUCCESS);
    tc_try(&t, GR_ALGO_RING);
    close_nodes(&t);
}

/* A Bcast of four slots from node to node, rank 0 behind a gate. */
static void begin_gated(struct tr_team *t, struct tc_call calls[2], struct tc_gate *g)
{
    static const struct ex_case c = {.coll = GR_COLL_BCAST,
                                     .algo = GR_ALGO_CHAIN,
                                     .kind = EX_I32_SUM,
                                     .nchannels = 1,
                                     .count = 4 * 64,
                                     .chunk_bytes = 256,
                                     .seed = 5};
    int r;

    open_nodes(t, 2, 2, GR_ALGO_CHAIN);
    for (r = 0; r < 2; r++) {
        CHECK_INT(tc_begin(&calls[r], t, r, &c), 0);
    }
    gr_gpu_op_gate(&calls[0].op, &tc_gate, g);
}

static void poll_both(struct tc_call calls[2], int rounds)
{
    int k;

    for (k = 0; k < rounds; k++) {
        (void) tc_poll(&calls[0]);
        (void) tc_poll(&calls[1]);
        usleep(20);
    }
}

static uint64_t tail_of(const struct gr_gpu_team *team, const struct gr_gpu_connection *connection,
                        int writes)
{
    return atomic_load(gr_gpu_remote_fifo(team, connection, writes).tail);
}

static void end_gated(struct tr_team *t, struct tc_call calls[2])
{
    while (GR_AGAIN == gr_gpu_op_poll(&calls[0].op, &calls[0].moved) || !calls[0].op.gate.over) {
        tn_progress(0);
        (void) tc_poll(&calls[1]);
    }
    tc_finish(&calls[1]);
    gr_gpu_op_end(&calls[0].op);
    tc_end(&calls[0]);
    tc_end(&calls[1]);
    tc_try(t, GR_ALGO_RING); /* and nothing is held back any more */
    close_nodes(t);
}

/*
 * No kernel before the start; its messages stay where they are until they are let go, one by one.
 */
void what_is_for_other_nodes_waits_for_the_gate(void)
{
    struct tc_gate g = {.random = 1, .held = 1};
    const struct gr_gpu_connection *out, *in;
    struct tc_call calls[2];
    struct tr_team t;

    begin_gated(&t, calls, &g);
    out = &t.ranks[0]->out[1];
    in = &t.ranks[1]->in[0];
    poll_both(calls, 200);
    CHECK_INT(calls[0].op.args.launch, 0);
    g.held = GR_ERR_NET;
    CHECK_INT(gr_gpu_op_poll(&calls[0].op, &calls[0].moved), GR_ERR_NET); /* the gate's error */
    g.held = 0;
    while (tail_of(t.ranks[0], out, 1) < 2) { /* as many as there are slots */
        poll_both(calls, 1);
    }
    poll_both(calls, 200);
    CHECK_INT(tail_of(t.ranks[1], in, 0), 0);
    for (g.let = 1; g.let <= 4; g.let++) {
        while (tail_of(t.ranks[1], in, 0) < (uint64_t) g.let) {
            poll_both(calls, 1);
        }
        poll_both(calls, 200);
        CHECK_INT(tail_of(t.ranks[1], in, 0), g.let);
        CHECK_INT(g.begun, g.let);
    }
    end_gated(&t, calls);
}

/* Others may still need this rank when it has sent all that it has. */
void the_end_waits_for_the_gate(void)
{
    struct tc_gate g = {.random = 1, .let = 4};
    struct tc_call calls[2];
    struct tr_team t;
    int k;

    begin_gated(&t, calls, &g);
    while (!calls[0].op.gate.started) {
        poll_both(calls, 1);
    }
    g.held = 1;
    while (!calls[0].op.kernel_done || g.ended < 1) {
        poll_both(calls, 1);
    }
    for (k = 0; k < 200; k++) {
        tn_progress(0);
        CHECK_INT(gr_gpu_op_poll(&calls[0].op, &calls[0].moved), GR_AGAIN);
    }
    g.held = 0;
    end_gated(&t, calls);
}
