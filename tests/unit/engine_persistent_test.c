/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent calls on ranks as threads: made in one order, started again and again in any, one by
 * one and several at once, beside other calls, and where there is not enough shared memory.
 */

#include "cmocka_test.h"

#include "engine_calls.h"
#include "rank_runtime.h"

#include "base/errors.h"

#include <stdatomic.h>
#include <stdlib.h>

#define REQUESTS 7 /* not a multiple of 3 */
#define STARTS 4

/* Make requests for different collectives and sizes; first: the case of the first. */
static void init_all(struct rr_rank *rank, struct call *calls[REQUESTS], size_t first)
{
    size_t k;

    for (k = 0; k < REQUESTS; k++) {
        struct what what = case_of(first + k * 7, rank->world->n);

        calls[k] = call_new(true);
        if (0 != call_init(rank, calls[k], &what)) {
            abort();
        }
    }
}

static void free_all(struct call *calls[REQUESTS])
{
    size_t k;

    for (k = 0; k < REQUESTS; k++) {
        call_free(calls[k]);
    }
}

/* ---- in another order on each rank, beside blocking and nonblocking calls ---- */

static void run_orders(struct rr_rank *rank)
{
    struct call *calls[REQUESTS], *blocking = call_new(false), *pending = call_new(true);
    size_t r = (size_t) rank->rank, k;
    unsigned round;

    init_all(rank, calls, 0);
    for (round = 0; round < STARTS; round++) {
        struct what what = case_of(round * 5, rank->world->n);

        for (k = 0; k < REQUESTS; k++) {
            /* another first one on each rank; odd ranks go down */
            size_t i = (r % 2 ? REQUESTS - 1 - k + r : k + r + round) % REQUESTS;

            call_restart(rank, &calls[i], 1, 100 * round + (unsigned) i);
            if (k == (round + r) % REQUESTS) {
                call_start(rank, pending, &what);
                call_do_right(rank, blocking, &what);
            }
        }
        call_finish_right(rank, pending);
        for (k = 0; k < REQUESTS; k++) {
            call_finish_right(rank, calls[(k * 3 + r) % REQUESTS]);
        }
    }
    free_all(calls);
    call_free(blocking);
    call_free(pending);
}

static void started_in_any_order(void **state)
{
    int n;

    for (n = 2; n <= 4; n++) {
        run_world(n, run_orders, STARTS * (REQUESTS + 2));
    }
}

/* ---- one often, another seldom: their boards have two sets ---- */

#define OFTEN 6

static void run_unequal(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 3};
    struct call *often = call_new(true), *seldom = call_new(true);
    unsigned round, k;

    if (0 != call_init(rank, often, &what) || 0 != call_init(rank, seldom, &what)) {
        abort();
    }
    for (round = 0; round < STARTS; round++) {
        if (0 == rank->rank % 2) {
            call_restart(rank, &seldom, 1, round);
        }
        for (k = 0; k < OFTEN; k++) {
            call_restart(rank, &often, 1, 10 * round + k);
            call_finish_right(rank, often);
        }
        if (1 == rank->rank % 2) {
            call_restart(rank, &seldom, 1, round);
        }
        call_finish_right(rank, seldom);
    }
    call_free(often);
    call_free(seldom);
}

static void started_unequally(void **state)
{
    run_world(3, run_unequal, STARTS * (OFTEN + 1));
}

/* ---- several at once ---- */

static void run_at_once(struct rr_rank *rank)
{
    struct call *calls[REQUESTS];
    unsigned round;
    size_t k;

    init_all(rank, calls, 3);
    for (round = 0; round < STARTS; round++) {
        call_restart(rank, calls, REQUESTS, round);
        for (k = REQUESTS; k > 0; k--) {
            call_finish_right(rank, calls[k - 1]);
        }
    }
    free_all(calls);
}

static void started_at_once(void **state)
{
    int n;

    for (n = 2; n <= 4; n += 2) {
        run_world(n, run_at_once, STARTS * REQUESTS);
    }
}

/* ---- not enough shared memory on one rank ---- */

#define POOR 1
#define MOST 100 /* requests: more than the poor rank's pool has room for */

static atomic_int made_by[RR_MOST_RANKS];    /* [rank]: requests that it got */
static atomic_int made_first[RR_MOST_RANKS]; /* the same, the first time */

static void run_short(struct rr_rank *rank)
{
    struct call *calls[MOST];
    int made = 0, k;

    while (made < MOST) {
        struct what what = case_of((size_t) made, rank->world->n);
        int rc;

        calls[made] = call_new(true);
        rc = call_init(rank, calls[made], &what);
        if (0 != rc) {
            if (GR_ERR_FALLBACK != rc) {
                abort();
            }
            call_free(calls[made]);
            break;
        }
        made++;
    }
    made_by[rank->rank] = made;
    for (k = made; k > 0; k--) {
        call_restart(rank, &calls[k - 1], 1, (unsigned) k);
    }
    for (k = 0; k < made; k++) {
        call_finish_right(rank, calls[k]);
    }
    for (k = 0; k < made; k++) {
        call_free(calls[k]);
    }
}

/*
 * Twice: the memory of requests that were freed, or refused, serves the next ones. How many pages
 * these cover depends on where they lie, and that on who has left first, so a few may be missing.
 */
static void run_short_twice(struct rr_rank *rank)
{
    int before;

    run_short(rank);
    before = made_first[rank->rank] = made_by[rank->rank];
    run_short(rank);
    if (abs(before - made_by[rank->rank]) > before / 8) {
        print_error("rank %d got %d requests, then %d\n", rank->rank, before,
                    (int) made_by[rank->rank]);
        abort();
    }
}

static void refused(void **state)
{
    struct rr_world *world = new_world(3);

    rr_limit_pool(&world->ranks[POOR], (size_t) 512 << 10);
    rr_run(world, run_short_twice);
    assert_true(made_by[0] > 0 && made_by[0] < MOST);
    assert_int_equal(made_by[0], made_by[POOR]);
    assert_int_equal(made_by[0], made_by[2]);
    assert_int_equal(world->calls, 3 * (made_first[0] + made_by[0]));
    rr_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(started_in_any_order),
        cmocka_unit_test(started_unequally),
        cmocka_unit_test(started_at_once),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
