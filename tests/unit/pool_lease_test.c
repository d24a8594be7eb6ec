/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends of leases (link/pool.h, link/lease.h): users that must have left, late users, many
 * leases, and threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "cmocka_test.h"

#include "pool_fixture.h"

enum { SLOTS = 2, SLOT = 256, DOORS = 4, ROUNDS = 10000 };

static void a_slab_is_free_when_both_ends_have_left(void **state)
{
    /* who leaves first; used 0: no writer ever learnt of it */
    static const struct {
        int reader_first, used;
    } rows[] = {{1, 1}, {0, 1}, {0, 0}};
    struct fixture *f = *state;
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct gr_slab *slab = lease_one(f->pool), *next;
        struct gr_slab_handle handle = gr_pool_export(f->pool, slab);
        struct gr_lease_user *user = map(f->other, &handle);

        if (rows[k].reader_first) {
            gr_pool_release(f->pool, slab, 1);
            next = lease_one(f->pool);
            assert_ptr_not_equal(next, slab);
            gr_pool_release(f->pool, next, 0);
            assert_int_equal(gr_pool_usage(f->pool).leased, SLAB_BYTES);
            gr_lease_leave(user, handle.lease);
        } else {
            if (rows[k].used) {
                gr_lease_leave(user, handle.lease);
            }
            assert_int_equal(gr_pool_usage(f->pool).leased, SLAB_BYTES);
            gr_pool_release(f->pool, slab, rows[k].used);
        }
        assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    }
}

/* The owner and the users of DOORS users leave in any order: the last of them ends the lease. */
static void a_slab_is_free_when_all_its_doors_were_left(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slab = NULL;
    struct gr_slab_handle handle;
    struct gr_lease_user *users;
    int order[DOORS + 1], round, k;

    for (round = 0; round < 120; round++) {
        int rest = round;

        assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, DOORS, 1, &slab), 0);
        handle = gr_pool_export(f->pool, slab);
        users = map(f->other, &handle);
        for (k = 0; k <= DOORS; k++) { /* permutation number `round` */
            int other = rest % (k + 1);

            rest /= k + 1;
            order[k] = order[other];
            order[other] = k;
        }
        for (k = 0; k <= DOORS; k++) {
            assert_int_equal(gr_pool_usage(f->pool).leased, SLAB_BYTES);
            if (DOORS == order[k]) {
                gr_pool_release(f->pool, slab, 1);
            } else {
                gr_lease_leave(&users[order[k]], handle.lease);
            }
        }
        assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    }
}

/* A user that has left earlier leases has not left this one, whatever lies in the memory. */
static void doors_tell_leases_apart(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slab = NULL;
    struct gr_slab_handle handle;
    struct gr_lease_user *users, *first = NULL;
    uint64_t last = 0;
    int lease, k;

    for (lease = 0; lease < 5; lease++) {
        /* of one size and of another, in the same memory */
        assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE,
                                       (size_t) (1 + lease % 2) * SLAB_BYTES, DOORS, 1, &slab),
                         0);
        handle = gr_pool_export(f->pool, slab);
        assert_true(handle.lease > last);
        last = handle.lease;
        users = map(f->other, &handle);
        first = NULL == first ? users : first;
        assert_ptr_equal(users, first);
        gr_pool_release(f->pool, slab, 1);
        for (k = 0; k < DOORS; k++) {
            assert_int_equal(atomic_load(&users[k].word), 0);
            assert_true(gr_pool_usage(f->pool).leased > 0);
            atomic_store(&users[k].word, 10 + (uint64_t) lease);
            gr_lease_leave(&users[k], handle.lease);
        }
        assert_int_equal(gr_pool_usage(f->pool).leased, 0);
        for (k = 0; k < DOORS; k++) { /* as data of another slab there */
            atomic_store(&users[k].left, last + 1);
        }
    }
}

/*
 * The reader has gone, the writer has not heard of it: what it writes harms nobody, and is skipped.
 */
static void a_late_writer_harms_nobody(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slab = lease_one(f->pool), *again[MOST];
    struct gr_slab_handle handle = gr_pool_export(f->pool, slab);
    struct gr_link writer = {0};
    struct gr_link_shared *shared = gr_slab_base(slab);
    int k, found = 0;

    gr_link_renew(shared);
    gr_link_attach(&writer, map(f->other, &handle), 0, SLOTS, SLOT);
    gr_pool_release(f->pool, slab, 1);
    for (k = 0; k < SLOTS; k++) {
        assert_true(gr_link_writable(&writer));
        memset(gr_link_slot(&writer), 0xee, SLOT);
        gr_link_push(&writer);
    }
    assert_false(gr_link_writable(&writer));
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, MOST - 1, again), 0);
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 1, again + MOST - 1),
                     GR_ERR_LIMIT);
    gr_lease_leave(&writer.shared->writer, handle.lease);
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 1, again + MOST - 1), 0);
    for (k = 0; k < MOST; k++) {
        found += gr_slab_base(again[k]) == shared;
    }
    assert_int_equal(found, 1);
    atomic_store(&shared->head, 7); /* as data of another slab there */
    gr_link_renew(shared);
    assert_int_equal(atomic_load(&shared->head), 0);
    assert_int_equal(atomic_load(&shared->tail), 0);
}

static void leases_cost_nothing_lasting(void **state)
{
    struct fixture *f = *state;
    size_t held = 0;
    int round, k, fds = 0;

    for (round = 0; round < ROUNDS; round++) {
        struct gr_slab *slabs[3];
        struct gr_slab_handle handles[3];

        assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 3, slabs), 0);
        for (k = 0; k < 3; k++) {
            handles[k] = gr_pool_export(f->pool, slabs[k]);
            gr_pool_release(f->pool, slabs[k], 1);
            gr_lease_leave(map(f->other, &handles[k]), handles[k].lease);
        }
        if (0 == round) {
            held = gr_pool_usage(f->pool).held;
            fds = entries("/proc/self/fd");
        }
    }
    assert_int_equal(gr_pool_usage(f->pool).held, held);
    assert_int_equal(entries("/proc/self/fd"), fds);
    assert_int_equal(gr_pool_usage(f->other).mapped, 1);
}

struct leaser {
    struct gr_pool *pool;
    int failures;
};

static void *lease_in_a_thread(void *arg)
{
    struct leaser *l = arg;
    int k;

    for (k = 0; k < 500; k++) {
        struct gr_slab *slabs[2];
        uint64_t mark = (uint64_t) (uintptr_t) arg + (uint64_t) k;

        if (0 != gr_pool_lease(l->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 2, slabs)) {
            l->failures++;
            continue;
        }
        memcpy((struct gr_lease_user *) gr_slab_base(slabs[0]) + 1, &mark, sizeof(mark));
        sched_yield();
        l->failures +=
            0 != memcmp((struct gr_lease_user *) gr_slab_base(slabs[0]) + 1, &mark, sizeof(mark));
        gr_pool_release(l->pool, slabs[1], 0);
        gr_pool_release(l->pool, slabs[0], 0);
    }
    return NULL;
}

static void threads_never_share_a_slab(void **state)
{
    struct fixture *f = *state;
    struct leaser leasers[3];
    pthread_t threads[3];
    int k;

    for (k = 0; k < 3; k++) {
        leasers[k] = (struct leaser) {f->pool, 0};
        assert_int_equal(pthread_create(&threads[k], NULL, lease_in_a_thread, &leasers[k]), 0);
    }
    for (k = 0; k < 3; k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(leasers[k].failures, 0);
    }
    assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    assert_true(gr_pool_usage(f->pool).held <= 8 * SLAB_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slab_is_free_when_both_ends_have_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slab_is_free_when_all_its_doors_were_left, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(doors_tell_leases_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_writer_harms_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leases_cost_nothing_lasting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_never_share_a_slab, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
