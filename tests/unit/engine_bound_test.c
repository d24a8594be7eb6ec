/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bound of what set-ups of links need (engine/setup_bound.c), on ranks as threads: which calls
 * get links, which take another algorithm, and which are left to the saved collective, before any
 * message is sent.
 */

#include "cmocka_test.h"

#include "engine_calls.h"
#include "rank_runtime.h"

#include "engine/choose.h"

#include "base/errors.h"
#include "link/fifo.h"
#include "link/team.h"
#include "sched/sched.h"

#include <stdlib.h>

#define NEED(what)                                                   \
    do {                                                             \
        if (!(what)) {                                               \
            print_error("line %d: " #what " is not so\n", __LINE__); \
            abort();                                                 \
        }                                                            \
    } while (0)

/* A world whose links may need `mib` MiB per rank, unless a call's bytes justify more. */
static struct rr_world *world_with_bound(int n, int mib, size_t slot_bytes)
{
    struct rr_world *world = new_world(n);
    int r;

    for (r = 0; r < n; r++) {
        int64_t *value = world->ranks[r].comm.params.value;

        value[GR_PARAM_SETUP_MIB] = mib;
        value[GR_PARAM_SLOT_BYTES] = (int64_t) slot_bytes;
        value[GR_PARAM_CHANNELS] = 1;
    }
    return world;
}

static void force(struct rr_rank *rank, enum gr_coll coll, int algo)
{
    rank->comm.params.value[GR_PARAM_ALGORITHM + coll] = algo;
}

/* Do a call that must be left to the saved collective, without a message or memory. */
static void is_left(struct rr_rank *rank, struct call *call, const struct what *what)
{
    int posts = rank->posts;
    size_t held = gr_pool_usage(rank->process.pool).held;

    NEED(GR_ERR_FALLBACK == call_do(rank, call, what));
    NEED(GR_FALLBACK_MEMORY == call->op->fallback);
    NEED(posts == rank->posts && held == gr_pool_usage(rank->process.pool).held);
}

/* An Alltoall whose blocks fill a slot of each link is worth its links; others then use them. */
static void run_alltoall(struct rr_rank *rank)
{
    struct call *call = call_new(false), *pending = call_new(true);
    struct what small = {.id = GR_CALL_ALLTOALL, .type = GR_TYPE_I32, .count = 100},
                large = {.id = GR_CALL_ALLTOALL, .type = GR_TYPE_I32, .count = 1024};

    is_left(rank, call, &small);
    is_left(rank, call, &small);
    call_do_right(rank, call, &large);
    NEED(GR_ALGO_PAIRWISE == call->algo);
    call_do_right(rank, call, &small);
    NEED(GR_ALGO_PAIRWISE == call->algo);
    /* the nonblocking calls have links of their own */
    call_start(rank, pending, &large);
    call_finish_right(rank, pending);
    call_free(call);
    call_free(pending);
}

static void alltoall(void **state)
{
    struct rr_world *world = world_with_bound(4, 0, 4096);

    rr_run(world, run_alltoall);
    end_world(world, 4 * 3, 0);
}

/* An algorithm that is forced and needs too much: a line says so, once, and others do the call. */
static void run_forced(struct rr_rank *rank)
{
    struct call *call = call_new(false), *request = call_new(true);
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_F64, .count = 300};
    int algo;

    force(rank, GR_COLL_ALLREDUCE, GR_ALGO_FLAT);
    call_do_right(rank, call, &what);
    algo = call->algo;
    NEED(GR_ALGO_RING == algo);
    /* after a larger call has made the links this one has the same bits as before */
    what.count = 20000;
    call_do_right(rank, call, &what);
    NEED(GR_ALGO_FLAT == call->algo);
    what.count = 300;
    call_do_right(rank, call, &what);
    NEED(algo == call->algo);
    /* a request has links of its own, which a ring's may be */
    NEED(0 == call_init(rank, request, &what) && algo == request->op->choice.algo);
    call_restart(rank, &request, 1, 3);
    call_finish_right(rank, request);
    call_free(call);
    call_free(request);
}

static void forced(void **state)
{
    struct rr_world *world = world_with_bound(4, 0, 4096);

    rr_run(world, run_forced);
    assert_int_equal(world->warnings, 1);
    rr_world_free(world);
}

/*
 * Trees of 4 links of 80 KiB, and 16 ranks: half of the bound of 1 MiB has room for that of one
 * root, and the bound has none for links between all ranks.
 */
static void run_roots(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    struct what what = {.id = GR_CALL_REDUCE, .type = GR_TYPE_F64, .count = 300};
    int rc;

    force(rank, GR_COLL_REDUCE, GR_ALGO_TREE);
    for (what.root = 0; what.root < rank->world->n; what.root++) {
        rc = call_do(rank, call, &what);
        if (0 == rc) {
            call_check(rank, call);
        }
        NEED((0 == what.root) == (0 == rc && GR_ALGO_TREE == call->algo));
        NEED(0 == rc || (GR_ERR_FALLBACK == rc && GR_FALLBACK_MEMORY == call->op->fallback));
    }
    NEED(gr_pool_usage(rank->process.pool).leased <= (size_t) 1 << 20);
    /* bytes that justify the links of one more root */
    what.root = 9;
    what.count = (4 * 20480 + 4 * 64) / sizeof(double);
    call_do_right(rank, call, &what);
    NEED(GR_ALGO_TREE == call->algo);
    call_free(call);
}

static void roots(void **state)
{
    struct rr_world *world = world_with_bound(16, 1, 20480);

    rr_run(world, run_roots);
    assert_true(world->warnings <= 1); /* once in a process */
    rr_world_free(world);
}

/*
 * Links between all of 16 ranks need more than 1 MiB. With smaller slots they need a quarter of it.
 * A call that fills the slots gets larger ones.
 */
static void run_compact(struct rr_rank *rank)
{
    struct call *call = call_new(false), *pending = call_new(true), *request = call_new(true);
    struct what what = {.id = GR_CALL_ALLTOALL, .type = GR_TYPE_I32, .count = 4000};
    size_t slot;

    call_do_right(rank, call, &what);
    NEED(GR_ALGO_PAIRWISE == call->algo && 1 == call->op->choice.small);
    slot = call->op->queue->team->small.slot_bytes;
    NEED(slot >= 2048 && slot < what.count * 4); /* more than one for a block */
    NEED(gr_pool_usage(rank->process.pool).leased <= (size_t) 1 << 18);
    /* a reduction in the same order of ranks */
    what.id = GR_CALL_ALLREDUCE;
    force(rank, GR_COLL_ALLREDUCE, GR_ALGO_FLAT);
    call_do_right(rank, call, &what);
    NEED(GR_ALGO_FLAT == call->algo && 1 == call->op->choice.small);
    NEED(gr_pool_usage(rank->process.pool).leased <= (size_t) 1 << 18);
    what.id = GR_CALL_ALLTOALL;
    what.count = 17;
    call_start(rank, pending, &what);
    call_finish_right(rank, pending);
    NEED(0 == call_init(rank, request, &what) && 1 == request->op->choice.small);
    call_restart(rank, &request, 1, 3);
    call_finish_right(rank, request);
    what.count = 20480 / 4;
    call_do_right(rank, call, &what);
    NEED(GR_ALGO_PAIRWISE == call->algo && 0 == call->op->choice.small);
    what.count = 17; /* these links are there now */
    call_do_right(rank, call, &what);
    NEED(GR_ALGO_PAIRWISE == call->algo && 0 == call->op->choice.small);
    call_free(call);
    call_free(pending);
    call_free(request);
}

static void compact(void **state)
{
    struct rr_world *world = world_with_bound(16, 1, 20480);

    rr_run(world, run_compact);
    assert_int_equal(world->warnings, 0);
    assert_int_equal(world->fallbacks, 0);
    rr_world_free(world);
}

/* Where links between all ranks are within the bound, each root may have a tree. */
static void run_few_ranks(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    struct what what = {.id = GR_CALL_BCAST, .type = GR_TYPE_F64, .count = 300};

    force(rank, GR_COLL_BCAST, GR_ALGO_TREE);
    for (what.root = 0; what.root < rank->world->n; what.root++) {
        call_do_right(rank, call, &what);
        NEED(GR_ALGO_TREE == call->algo);
    }
    call_free(call);
}

static void few_ranks(void **state)
{
    struct rr_world *world = world_with_bound(8, 1, 20480);

    rr_run(world, run_few_ranks);
    assert_int_equal(world->warnings, 0);
    rr_world_free(world);
}

/*
 * Where some rank may have a buffer on a device, a nonblocking call cannot be left to the saved
 * collective: messages run it. Calls before it make no links free: ranks may choose in another
 * order.
 */
static void run_agreed(struct rr_rank *rank)
{
    struct call *call = call_new(false), *pending = call_new(true);
    struct what small = {.id = GR_CALL_ALLTOALL, .type = GR_TYPE_I32, .count = 100},
                large = {.id = GR_CALL_ALLTOALL, .type = GR_TYPE_I32, .count = 1024};
    int k;

    call_do_right(rank, call, &large);
    NEED(GR_ALGO_PAIRWISE == call->algo);
    NEED(GR_ERR_FALLBACK == call_do(rank, call, &small) &&
         GR_FALLBACK_MEMORY == call->op->fallback);
    for (k = 0; k < 3; k++) {
        call_start(rank, pending, &small);
        call_finish_right(rank, pending);
        call_start(rank, pending, &large);
        call_finish_right(rank, pending);
    }
    call_free(call);
    call_free(pending);
}

static void nonblocking_with_agreement(void **state)
{
    struct rr_world *world = world_with_bound(4, 0, 4096);
    int r;

    for (r = 0; r < 4; r++) {
        world->ranks[r].comm.gpu = true;
    }
    rr_run(world, run_agreed);
    assert_int_equal(world->calls, 4 * (1 + 3));
    assert_int_equal(world->fallbacks, 4 * 3);
    rr_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alltoall),  cmocka_unit_test(forced),
        cmocka_unit_test(roots),     cmocka_unit_test(compact),
        cmocka_unit_test(few_ranks), cmocka_unit_test(nonblocking_with_agreement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
