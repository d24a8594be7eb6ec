/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of team_test: a driver that fails during a call. The call returns the error, and no rank
 * hangs.
 */
#include "team_rows.h"

#include "link/team.h"
#include "cuda/device.h"
#include "cuda/stream.h"

#include <time.h>

static const struct tr_shape shape = {.nchannels = 2, .nslots = 2, .slot_bytes = 256};
static const struct ex_case ring = TC_CASE(ALLREDUCE, RING, 0, I32_SUM, 2, 2000);

/* Seconds after which a failure must have come out. */
enum { SOON = 240 };

/* Poll ranks 0 and 1 until the latter fails. */
static void poll_until_error(struct tc_call *calls)
{
    time_t last = time(NULL) + SOON;
    int rc = GR_AGAIN;

    while (GR_AGAIN == rc && time(NULL) <= last) {
        CHECK_INT(tc_poll(&calls[0]), GR_AGAIN);
        rc = tc_poll(&calls[1]);
    }
    CHECK_INT(rc, GR_ERR_CUDA);
}

/*
 * Two of three ranks begin a call, and wait for the third until rank 1's driver fails. Both give it
 * up; the next team works.
 */
static void fail_at(enum td_function function, unsigned after, CUresult error)
{
    struct tc_call calls[2];
    struct tr_team t;
    int r;

    tr_set_up(&t, 3, &shape, GR_ALGO_RING);
    for (r = 0; r < 2; r++) {
        CHECK_INT(tc_begin(&calls[r], &t, r, &ring), 0);
        /* a kernel that stays is asked for, one that leaves is launched again */
        calls[r].op.args.patience = TD_QUERY == function ? 1000000 : 20;
    }
    td_fail(function, 1, after, TD_TRIES, error);
    poll_until_error(calls);
    CHECK(NULL !=
          strstr(gr_gpu_error(), TD_QUERY == function ? "cuStreamQuery" : "cuLaunchKernel"));
    for (r = 0; r < 2; r++) {
        int launched = calls[r].op.launched;

        td_rank = r;
        gr_gpu_op_abort(&calls[r].op);
        CHECK_INT(calls[r].op.launched, 0);
        /* a kernel whose reports were read before is about to end; the abort does not wait for it */
        while (!launched && 0 == gr_gpu_stream_done(t.ranks[r]->stream)) {
        }
        CHECK_INT(gr_gpu_stream_done(t.ranks[r]->stream), 1);
        tc_drop(&calls[r]);
    }
    tr_leave(&t);
    tr_make(&t, t.world, &shape);
    tc_try(&t, GR_ALGO_RING);
    tr_tear_down(&t);
}

/* The first of the call, and one after the kernel has left. */
void a_launch_fails(void)
{
    fail_at(TD_LAUNCH, 0, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    fail_at(TD_LAUNCH, 2, CUDA_ERROR_LAUNCH_FAILED);
    /* or the driver says so when it is asked whether the kernel has ended */
    fail_at(TD_QUERY, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/*
 * Poll rank 1, alone, until its driver has been asked often; then let rank 0 join, and run to the
 * end. patience: polls after which rank 1's kernel leaves, and is launched again.
 */
static void join_late(struct tr_team *t, enum td_function function, uint64_t patience)
{
    struct tc_call calls[2];
    unsigned last = td_calls(function, 1) + TD_TRIES + 2;
    int r, rc[2] = {GR_AGAIN, GR_AGAIN};

    CHECK_INT(tc_begin(&calls[1], t, 1, &ring), 0);
    calls[1].op.args.patience = patience;
    while (td_calls(function, 1) < last) {
        CHECK_INT(tc_poll(&calls[1]), GR_AGAIN);
    }
    CHECK_INT(tc_begin(&calls[0], t, 0, &ring), 0);
    while (GR_AGAIN == rc[0] || GR_AGAIN == rc[1]) {
        for (r = 0; r < 2; r++) {
            rc[r] = GR_AGAIN == rc[r] ? tc_poll(&calls[r]) : rc[r];
        }
    }
    for (r = 0; r < 2; r++) {
        CHECK_INT(rc[r], GR_DONE);
        tc_end(&calls[r]);
    }
}

/*
 * Launches and queries that fail, but not when they are made again: the first launch of a call,
 * later ones, and queries while the kernel waits.
 */
void an_error_is_transient(void)
{
    struct tr_team t;

    tr_set_up(&t, 2, &shape, TR_NO_LINKS);
    tc_try(&t, GR_ALGO_RING);
    td_fail(TD_LAUNCH, 1, 0, TD_TRIES - 1, CUDA_ERROR_UNKNOWN);
    tc_try(&t, GR_ALGO_RING);
    CHECK_INT(td_left(TD_LAUNCH), 0);
    td_fail(TD_LAUNCH, 1, 1, TD_TRIES - 1, CUDA_ERROR_UNKNOWN);
    join_late(&t, TD_LAUNCH, 20);
    CHECK_INT(td_left(TD_LAUNCH), 0);
    td_fail(TD_QUERY, 1, 0, TD_TRIES - 1, CUDA_ERROR_UNKNOWN);
    join_late(&t, TD_QUERY, UINT64_MAX);
    CHECK_INT(td_left(TD_QUERY), 0);
    tr_tear_down(&t);
}

/* A kernel of which nothing is heard: it was accepted, and the driver knows that it has failed. */
void a_kernel_dies(void)
{
    struct tc_call call;
    struct tr_team t;
    int polls;

    tr_set_up(&t, 2, &shape, GR_ALGO_RING);
    CHECK_INT(tc_begin(&call, &t, 1, &ring), 0);
    td_fail(TD_LAUNCH, 1, 0, 1, CUDA_SUCCESS);
    td_fail(TD_QUERY, 1, 0, 1000, CUDA_ERROR_LAUNCH_FAILED);
    for (polls = 0; polls < 5000 && GR_AGAIN == tc_poll(&call); polls++) {
    }
    CHECK(polls < 5000);
    CHECK_INT(td_calls(TD_LAUNCH, 1), 1);
    gr_gpu_op_abort(&call.op); /* does not wait for what the driver has given up */
    CHECK_INT(call.op.launched, 0);
    td_fail(TD_QUERY, 1, 0, 0, CUDA_SUCCESS);
    tc_drop(&call);
    tr_tear_down(&t);
}

/*
 * Begin the call and give it up; with an error where the last call of the function fails that this
 * makes.
 */
static void begin_in_vain(struct tr_team *t, const struct ex_case *c, enum td_function last)
{
    unsigned before = td_calls(last, 0);
    struct tc_call call;

    CHECK_INT(tc_begin(&call, t, 0, c), 0);
    /* its counts, which the next one overwrites */
    while (0 == gr_gpu_stream_done(t->ranks[0]->stream)) {
    }
    tc_drop(&call);
    td_fail(last, 0, td_calls(last, 0) - before - 1, TD_COPY == last ? TD_TRIES : 1,
            CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_INT(tc_begin(&call, t, 0, c), GR_ERR_CUDA);
    gr_gpu_op_abort(&call.op);
    CHECK_INT(call.op.launched, 0);
    tc_drop(&call);
}

/* Begin a call and give it up. Returns the number of copies that this put on the stream. */
static unsigned begin_once(struct tr_team *t, const struct ex_case *c, int expected)
{
    unsigned before = td_calls(TD_COPY, 0);
    struct tc_call call;

    CHECK_INT(tc_begin(&call, t, 0, c), expected);
    while (0 == gr_gpu_stream_done(t->ranks[0]->stream)) {
    }
    tc_drop(&call);
    return td_calls(TD_COPY, 0) - before;
}

/* Steps that did not get to the device are written again, others are not. */
void steps_are_written_once(void)
{
    struct ex_case gather = ring;
    struct tr_team t;
    unsigned first, others;

    gather.coll = GR_COLL_ALLGATHER;
    tr_set_up(&t, 2, &shape, GR_ALGO_RING);
    first = begin_once(&t, &ring, 0);
    others = begin_once(&t, &ring, 0); /* of data */
    CHECK_INT(first, others + 1);
    td_fail(TD_COPY, 0, others, TD_TRIES, CUDA_ERROR_ILLEGAL_ADDRESS);
    (void) begin_once(&t, &gather, GR_ERR_CUDA);
    CHECK_INT(begin_once(&t, &gather, 0), others + 1);
    CHECK_INT(begin_once(&t, &gather, 0), others);
    tr_tear_down(&t);
}

/* The stream cannot follow the application's; or counts do not get to the device. */
void a_call_cannot_begin(void)
{
    static const struct ex_case counts = {.coll = GR_COLL_ALLGATHER,
                                          .algo = GR_ALGO_RING,
                                          .kind = EX_I32_SUM,
                                          .nchannels = 1,
                                          .has_counts = 1,
                                          .counts = {3, 5},
                                          .seed = 1};
    struct tr_team t;

    tr_set_up(&t, 2, &shape, GR_ALGO_RING);
    begin_in_vain(&t, &ring, TD_RECORD);
    (void) begin_once(&t, &counts, 0); /* its steps are there */
    begin_in_vain(&t, &counts, TD_COPY);
    CHECK_INT(td_calls(TD_LAUNCH, 0), 0);
    tr_tear_down(&t);
}

/*
 * The application resets its device (cudaDeviceReset) before the first launch. With the context
 * went the pinned memory that says to kernels that they must leave.
 */
void a_device_is_reset(void)
{
    struct tc_call call;
    struct tr_team t;

    tr_set_up(&t, 2, &shape, GR_ALGO_RING);
    CHECK_INT(tc_begin(&call, &t, 0, &ring), 0);
    app_start();
    APP(cuDevicePrimaryCtxReset, 0);
    td_reset();
    gr_gpu_op_abort(&call.op);
    CHECK_INT(call.op.launched, 0);
    tc_drop(&call);
    tr_tear_down(&t);
}
