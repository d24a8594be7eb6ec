/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine without MPI: ranks as threads make blocking and nonblocking calls, some of which fail
 * (engine_calls.h).
 */

#include "cmocka_test.h"

#include "engine_calls.h"
#include "rank_runtime.h"

#include "comm/failure.h"

#include "base/cma.h"
#include "base/errors.h"
#include "sched/sched.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- blocking calls ---- */

static void run_blocking(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    size_t k;

    for (k = 0; k < NCASES; k++) {
        struct what what = case_of(k, rank->world->n);

        call_do_right(rank, call, &what);
    }
    call_free(call);
}

static void blocking_calls(void **state)
{
    int n;

    for (n = 2; n <= 8; n += n < 5 ? 1 : 3) {
        run_world(n, run_blocking, (int) NCASES);
    }
}

/* Each algorithm for allreduce, forced. */
static _Atomic int forced;

static void run_forced(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_F64};
    size_t k;

    rank->comm.params.value[GR_PARAM_ALGORITHM + GR_COLL_ALLREDUCE] = forced;
    for (k = 0; k < NCOUNTS; k++) {
        what.count = case_counts[k];
        what.salt = (unsigned) k;
        call_do_right(rank, call, &what);
        if (what.count >= 1000 && forced != call->algo) {
            abort();
        }
    }
    call_free(call);
}

/* Five ranks, once for each algorithm that has both collectives; there are two at least. */
static void run_each(enum gr_coll one, enum gr_coll other, void (*run)(struct rr_rank *), int calls)
{
    struct gr_torus none = {.ndims = 0};
    int algo, ran = 0;

    for (algo = 0; algo < GR_NALGOS; algo++) {
        if (gr_algo_has((enum gr_algo) algo, one) && gr_algo_has((enum gr_algo) algo, other) &&
            gr_algo_fits((enum gr_algo) algo, 5, &none)) {
            forced = algo;
            run_world(5, run, calls);
            ran++;
        }
    }
    assert_true(ran >= 2);
}

static void forced_algorithms(void **state)
{
    run_each(GR_COLL_ALLREDUCE, GR_COLL_ALLREDUCE, run_forced, (int) NCOUNTS);
}

/*
 * Each algorithm of collectives with a root, for all roots: trees have links of their own for each
 * of them, other algorithms the same for all. The second channel goes in the opposite direction.
 */
static void run_roots(struct rr_rank *rank)
{
    static const enum gr_call_id rooted[] = {GR_CALL_BCAST, GR_CALL_REDUCE};
    struct call *call = call_new(false);
    size_t k;

    for (k = 0; k < 2; k++) {
        struct what what = {.id = rooted[k], .type = GR_TYPE_F64, .count = 300000};

        rank->comm.params.value[GR_PARAM_ALGORITHM + gr_calls[what.id].coll] = forced;
        for (what.root = 0; what.root < rank->world->n; what.root++) {
            call_do_right(rank, call, &what);
            if (forced != call->algo || 2 != call->op->choice.nchannels) {
                abort();
            }
        }
    }
    call_free(call);
}

static void all_roots(void **state)
{
    run_each(GR_COLL_BCAST, GR_COLL_REDUCE, run_roots, 2 * 5);
}

/* ---- nonblocking calls, between and after blocking ones ---- */

#define PENDING 6
#define ROUNDS 6

static void run_pending(struct rr_rank *rank)
{
    int n = rank->world->n;
    struct call *calls[PENDING], *between = call_new(false);
    size_t k, round;

    for (k = 0; k < PENDING; k++) {
        calls[k] = call_new(true);
    }
    for (round = 0; round < ROUNDS; round++) {
        for (k = 0; k < PENDING; k++) {
            struct what what = case_of(round * 7 + k * 11, n);

            call_start(rank, calls[k], &what);
            /* blocking calls come at another moment on each rank: the orders are apart */
            if (k == (round + (size_t) rank->rank) % PENDING) {
                what = case_of(round * 5, n);
                call_do_right(rank, between, &what);
            }
        }
        for (k = PENDING; k > 0; k--) {
            call_finish_right(rank, calls[k - 1]);
        }
    }
    for (k = 0; k < PENDING; k++) {
        call_free(calls[k]);
    }
    call_free(between);
}

static void nonblocking_calls(void **state)
{
    run_world(2, run_pending, ROUNDS * (PENDING + 1));
    run_world(4, run_pending, ROUNDS * (PENDING + 1));
    run_world(5, run_pending, ROUNDS * (PENDING + 1));
}

/* ---- unpacking the output fails ---- */

static _Atomic size_t unpacked; /* elements of the call */

static void run_unpacked(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = unpacked};
    struct call *call = call_new(false);

    call->unpacks = GR_ERR_NOMEM;
    /* its own error, or, from another rank, that the communicator has failed */
    if (0 == call_do(rank, call, &what)) {
        abort();
    }
    call_free(call);
}

static void run_unpacked_later(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = unpacked};
    struct call *call = call_new(true);

    call->unpacks = GR_ERR_NOMEM;
    call_start(rank, call, &what);
    if (0 == call_finish(call)) {
        abort();
    }
    call_free(call);
}

/* A call whose results did not get where they belong is not counted: by a mailbox, and by steps. */
static void calls_that_fail_at_their_end(void **state)
{
    void (*const forms[])(struct rr_rank * rank) = {run_unpacked, run_unpacked_later};
    int k;

    for (k = 0; k < 4; k++) {
        struct rr_world *world = new_world(2);

        unpacked = k < 2 ? 1 : 20000;
        rr_run(world, forms[k % 2]);
        assert_int_equal(world->calls, 0);
        rr_world_free(world);
    }
}

/* ---- links refused: one rank has no shared memory for them ---- */

#define POOR 1 /* the rank */

static void run_refused(struct rr_rank *rank)
{
    struct call *call = call_new(false), *pending = call_new(true);
    size_t k;

    for (k = 0; k < NCASES; k++) {
        struct what what = case_of(k, rank->world->n);

        /* on all ranks, and again at the next call */
        if (GR_ERR_FALLBACK != call_do(rank, call, &what) ||
            GR_FALLBACK_SETUP != call->op->fallback) {
            abort();
        }
        /* a nonblocking call is completed, by messages */
        call_start(rank, pending, &what);
        call_finish_right(rank, pending);
    }
    call_free(call);
    call_free(pending);
}

static void refused_links(void **state)
{
    struct rr_world *world = new_world(4);

    rr_limit_pool(&world->ranks[POOR], 0);
    rr_run(world, run_refused);
    assert_int_equal(world->calls, 0);
    assert_int_equal(world->fallbacks, 4 * NCASES);
    assert_true(world->warnings >= 1); /* the poor rank says why */
    rr_world_free(world);
}

/* ---- a set-up that breaks: the message that a rank posts fails ---- */

#define BROKEN 2 /* the rank */
#define POSTS 4  /* messages of a rank that are let fail, one in each world */

/* Messages may be under way into a set-up that broke, so it is never freed, and neither is its op. */
static struct call
    *volatile stuck[(POSTS + 3) * 4]; /* volatile: nobody reads them but a leak checker */
static atomic_int nstuck;

static void run_broken(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 1000};
    struct call *call = call_new(false);

    if (GR_ERR_FAILED != call_do(rank, call, &what)) {
        abort();
    }
    /* the communicator has failed for good, on all ranks */
    if (GR_ERR_FAILED != gr_failure_check(&rank->comm, false)) {
        abort();
    }
    stuck[atomic_fetch_add(&nstuck, 1)] = call;
}

static void broken_setup(void **state)
{
    int post;

    for (post = 1; post <= POSTS; post++) {
        struct rr_world *world = new_world(4);

        world->ranks[BROKEN].fail_post = post;
        rr_run(world, run_broken);
        end_world(world, 0, 4); /* each rank says so once */
    }
}

/* One rank makes a call, and a message of its set-up fails. */
static void run_bereft(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 100};
    struct call *call = call_new(false);
    int error = 0 != rank->world->dead ? GR_ERR_LOST_RANK : GR_ERR_FAILED;

    if (BROKEN == rank->rank) {
        if (error != call_do(rank, call, &what) || error != gr_failure_check(&rank->comm, false)) {
            abort();
        }
    }
    stuck[atomic_fetch_add(&nstuck, 1)] = call;
}

/* To a rank that is known to have ended. */
static void lost_in_setup(void **state)
{
    struct rr_world *world = new_world(BROKEN + 2);

    world->dead = BROKEN + 2;
    world->ranks[BROKEN].fail_post = 1;
    rr_run(world, run_bereft);
    assert_int_equal(world->warnings, 0);
    rr_world_free(world);
}

/* The others are told, unless messages cannot be sent any more. */
static void told_of_a_broken_setup(void **state)
{
    int open;

    for (open = 0; open < 2; open++) {
        struct rr_world *world = new_world(BROKEN + 2);

        world->ranks[BROKEN].fail_post = 1;
        world->ranks[BROKEN].process.can_message = open;
        rr_run(world, run_bereft);
        assert_int_equal(world->warnings, 1);
        assert_int_equal(NULL != world->ranks[0].job_messages, open);
        rr_world_free(world);
    }
}

/* ---- single copy: ranks read each other's memory ---- */

/* A world whose ranks may fetch messages; they are threads of this process. */
static struct rr_world *fetching_world(int n)
{
    struct rr_world *world = new_world(n);
    int r, k;

    for (r = 0; r < n; r++) {
        struct gr_comm *comm = &world->ranks[r].comm;

        comm->direct = true;
        comm->params.value[GR_PARAM_SINGLE_COPY] = 1;
        for (k = 0; k < n; k++) {
            comm->pids[k] = (int32_t) getpid();
        }
    }
    return world;
}

static void skip_without_reading(void)
{
    struct gr_probe probe = gr_probe_make();

    if (!gr_probe_test(&probe)) {
        skip();
    }
}

static void run_small(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 1};
    struct call *call = call_new(false);

    call_do_right(rank, call, &what);
    call_free(call);
}

/* Whether it is possible is tested by the first set-up of links, once, and not for mailboxes. */
static void single_copy_is_tested_for_links(void **state)
{
    struct rr_world *world = fetching_world(3);

    rr_run(world, run_small);
    assert_int_equal(world->tests, 0);
    rr_run(world, run_blocking);
    assert_int_equal(world->tests, 3 * 3);
    rr_world_free(world);
}

static void single_copy(void **state)
{
    struct rr_world *world;

    skip_without_reading();
    world = fetching_world(4);
    rr_run(world, run_blocking);
    rr_run(world, run_pending);
    end_world(world, 4 * (NCASES + ROUNDS * (PENDING + 1)), 0);
}

/*
 * An Allgather of three ranks, each of which sends its block to both others, and then takes that of
 * the rank before it, and of the one before that. SLOW starts, and sends. FAILING takes its block,
 * but cannot read that of THIRD, and returns: its application uses the buffer again. SLOW takes
 * the others' blocks only then. It must not take what lies in that buffer now.
 */
enum { FAILING, THIRD, SLOW, NWITHDRAW };
static atomic_bool slow_started, failing_returned;

static void await(atomic_bool *flag)
{
    while (!*flag) {
        sched_yield();
    }
}

static void run_withdrawn(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLGATHER, .type = GR_TYPE_I32, .count = 4000};
    struct call *call = call_new(true);

    rank->comm.params.value[GR_PARAM_ALGORITHM + GR_COLL_ALLGATHER] = GR_ALGO_FLAT;
    call_start(rank, call, &what); /* makes the links */
    call_finish_right(rank, call);
    what.salt = 1;
    if (FAILING == rank->rank) {
        rank->comm.pids[THIRD] = INT32_MAX; /* there is no such process */
        call_start(rank, call, &what);
        if (GR_ERR_FAILED != call_finish(call)) {
            abort();
        }
        memset(call->buffers.in, 0x55, call->buffers.in_bytes);
        failing_returned = true;
    } else if (THIRD == rank->rank) {
        await(&slow_started);
        call_start(rank, call, &what);
        if (GR_ERR_FAILED != call_finish(call)) {
            abort();
        }
    } else {
        call_start(rank, call, &what);
        slow_started = true;
        await(&failing_returned);
        /* not by gr_runtime_progress(), which would hear of the failure first */
        while (!call->complete) {
            calls_drive(rank);
        }
        if (GR_ERR_FAILED != call->rc) {
            abort();
        }
    }
    call_free(call);
}

static void withdrawn_messages(void **state)
{
    struct rr_world *world;

    skip_without_reading();
    world = fetching_world(NWITHDRAW);
    rr_run(world, run_withdrawn);
    assert_int_equal(world->calls, NWITHDRAW);
    rr_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_calls),
        cmocka_unit_test(forced_algorithms),
        cmocka_unit_test(all_roots),
        cmocka_unit_test(nonblocking_calls),
        cmocka_unit_test(refused_links),
        cmocka_unit_test(broken_setup),
        cmocka_unit_test(lost_in_setup),
        cmocka_unit_test(told_of_a_broken_setup),
        cmocka_unit_test(single_copy_is_tested_for_links),
        cmocka_unit_test(single_copy),
        cmocka_unit_test(withdrawn_messages),
        cmocka_unit_test(calls_that_fail_at_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
