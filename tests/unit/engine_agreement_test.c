/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call agreements without devices: ranks as threads, on a communicator that may have buffers on
 * devices. All buffers are in host memory; a call record may say otherwise, and the host does the
 * call all the same, since there is no kernel.
 */

#include "cmocka_test.h"

#include "engine_calls.h"
#include "rank_runtime.h"

#include "comm/failure.h"

#include "base/errors.h"
#include "sched/sched.h"

#include <stdatomic.h>
#include <stdlib.h>

#define ODD_ONE 1 /* the rank whose call record differs */

/* A world that may have devices. host: whether calls in host memory are taken. */
static struct rr_world *world_with_agreements(int n, bool host)
{
    struct rr_world *world = new_world(n);
    int r;

    for (r = 0; r < n; r++) {
        world->ranks[r].comm.gpu = true;
        world->ranks[r].comm.params.value[GR_PARAM_HOST] = host;
    }
    return world;
}

/* ---- calls of all kinds ---- */

#define PENDING 4

/* Abort unless all ranks know of the call what they must. */
static void check_agreed(const struct call *call, bool devices)
{
    if (devices != call->op->agreed.devices || devices == call->op->agreed.fetches) {
        abort();
    }
}

static void run_calls(struct rr_rank *rank)
{
    int n = rank->world->n;
    struct call *blocking = call_new(false), *calls[PENDING], *persistent;
    struct what what;
    size_t k, i;

    for (i = 0; i < PENDING; i++) {
        calls[i] = call_new(true);
    }
    for (k = 0; k < NCASES; k++) {
        what = case_of(k, n);
        blocking->device = 0 == k % 3 && ODD_ONE == rank->rank;
        call_do_right(rank, blocking, &what);
        check_agreed(blocking, 0 == k % 3);
    }
    for (k = 0; k < NCASES; k += PENDING) {
        for (i = 0; i < PENDING; i++) {
            what = case_of(k + i, n);
            calls[i]->device = 0 == i % 3 && ODD_ONE == rank->rank;
            call_start(rank, calls[i], &what);
        }
        for (i = PENDING; i > 0; i--) {
            call_finish_right(rank, calls[i - 1]);
        }
    }
    for (k = 0; k < NCASES; k += 7) {
        what = case_of(k, n);
        persistent = call_new(true);
        persistent->device = 0 == k % 2 && ODD_ONE == rank->rank;
        if (0 != call_init(rank, persistent, &what)) {
            abort();
        }
        check_agreed(persistent, 0 == k % 2);
        for (i = 0; i < 3; i++) {
            call_restart(rank, &persistent, 1, (unsigned) i);
            call_finish_right(rank, persistent);
        }
        call_free(persistent);
    }
    for (i = 0; i < PENDING; i++) {
        call_free(calls[i]);
    }
    call_free(blocking);
}

static void calls_of_all_kinds(void **state)
{
    int n;

    for (n = 2; n <= 5; n++) {
        struct rr_world *world = world_with_agreements(n, true);

        rr_run(world, run_calls);
        end_world(world, n * (2 * NCASES + 3 * ((NCASES + 6) / 7)), 0);
    }
}

/* ---- calls in host memory are not wanted: all ranks go the same way ---- */

static void run_unwanted(struct rr_rank *rank)
{
    struct call *call = call_new(false), *pending = call_new(true);
    size_t k;

    for (k = 0; k < NCASES; k++) {
        struct what what = case_of(k, rank->world->n);

        call->device = 0 == k % 2 && ODD_ONE == rank->rank;
        if (0 == k % 2) {
            call_do_right(rank, call, &what);
        } else if (GR_ERR_FALLBACK != call_do(rank, call, &what) ||
                   GR_FALLBACK_HOST != call->op->fallback) {
            abort();
        }
        /* a nonblocking call is done in any case */
        call_start(rank, pending, &what);
        call_finish_right(rank, pending);
    }
    call_free(call);
    call_free(pending);
}

static void unwanted_in_host_memory(void **state)
{
    struct rr_world *world = world_with_agreements(3, false);

    rr_run(world, run_unwanted);
    end_world(world, 3 * (NCASES / 2 + NCASES), 0);
}

/* ---- an agreement and nothing else ---- */

static void run_asking(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    size_t k;

    for (k = 0; k < NCASES; k++) {
        struct what what = case_of(k, rank->world->n);

        call->use = GR_AGREEMENT_ONLY;
        call->device = 0 == k % 2 && ODD_ONE == rank->rank;
        if (GR_ERR_FALLBACK != call_do(rank, call, &what)) {
            abort();
        }
        check_agreed(call, 0 == k % 2);
        call->use = GR_AGREEMENT_FIRST;
        call->device = false;
        call_do_right(rank, call, &what);
    }
    call_free(call);
}

static void agreement_only(void **state)
{
    struct rr_world *world = world_with_agreements(4, true);

    rr_run(world, run_asking);
    end_world(world, 4 * NCASES, 0);
}

/* ---- no memory for the set-up of links that all have agreed on ---- */

static _Thread_local bool no_memory; /* for what is allocated with calloc() */

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

void *__wrap_calloc(size_t n, size_t bytes)
{
    return no_memory ? NULL : __real_calloc(n, bytes);
}

static void run_without_memory(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 1000};
    struct call *call = call_new(false);

    call->use = GR_AGREEMENT_ONLY; /* whose links are there then */
    if (GR_ERR_FALLBACK != call_do(rank, call, &what)) {
        abort();
    }
    call->use = GR_AGREEMENT_FIRST;
    no_memory = true;
    if (GR_ERR_NOMEM != call_do(rank, call, &what)) {
        abort();
    }
    no_memory = false;
    call_free(call);
}

static void no_memory_for_a_set_up(void **state)
{
    struct rr_world *world = world_with_agreements(3, true);

    rr_run(world, run_without_memory);
    assert_int_equal(world->calls, 0);
    rr_world_free(world);
}

/* ---- calls that differ ---- */

static atomic_int difference; /* between the calls: 0: collective, 1: root, 2: bytes */
#define DIFFERENCES 3
static atomic_bool of_init; /* in the init of a persistent request */

static void run_differing(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_BCAST, .type = GR_TYPE_I32, .count = 100};
    struct call *call = call_new(of_init);
    bool odd = ODD_ONE == rank->rank;
    int rc;

    if (odd && 0 == difference) {
        what.id = GR_CALL_REDUCE;
    } else if (odd && 1 == difference) {
        what.root = 1;
    } else if (odd) {
        what.count = 99;
    }
    rc = of_init ? call_init(rank, call, &what) : call_do(rank, call, &what);
    if (GR_ERR_DIFFER != rc) {
        print_error("difference %d: rank %d gets %d\n", (int) difference, rank->rank, rc);
        abort();
    }
    call_free(call);
}

static void differing_calls(void **state)
{
    for (difference = 0; difference < DIFFERENCES; difference++) {
        int init;

        for (init = 0; init < 2; init++) {
            struct rr_world *world = world_with_agreements(3, true);

            of_init = 1 == init;
            rr_run(world, run_differing);
            end_world(world, 0, 1); /* the rank says so whose call it is */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_kinds), cmocka_unit_test(unwanted_in_host_memory),
        cmocka_unit_test(agreement_only),     cmocka_unit_test(no_memory_for_a_set_up),
        cmocka_unit_test(differing_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
