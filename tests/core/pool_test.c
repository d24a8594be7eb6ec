/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool (exec/pool.h): leases and their ends, its bounds, and what it leaves behind (nothing). Second
 * processes are the business of exec_process_test.c. The program starts itself again in a small file system:
 *
 *      pool_test --full DIR      leases in DIR until there is no space; status 0 when that went as it must
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "exec/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool_helpers.h"

enum { SLOTS = 2, SLOT = 256, ROUNDS = 10000 };

static const struct gr_peer_id self = {1, 0}, peer = {1, 1};

struct fixture {
    struct gr_pool *pool, *other; /* the reader's, and a writer's */
    char dir[64];
};

static int set_up(void **state)
{
    static struct fixture f;

    strcpy(f.dir, "/dev/shm/gpuring-test-XXXXXX");
    f.pool = NULL == mkdtemp(f.dir) ? NULL : gr_pool_open(f.dir, self, 64 * FRAME);
    f.other = gr_pool_open(f.dir, peer, 64 * FRAME);
    *state = &f;
    return NULL == f.pool || NULL == f.other ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    gr_pool_close(f->pool);
    gr_pool_close(f->other);
    return rmdir(f->dir); /* fails where something is left in it */
}

static struct gr_link_shared *map(struct gr_pool *pool, const struct gr_offer *offer)
{
    int error;
    struct gr_link_shared *l = gr_pool_map(pool, offer, &error);

    assert_int_equal(error, 0);
    assert_non_null(l);
    return l;
}

/* ---- bounds ---- */

static void a_lease_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct gr_frame *frames[65];
    int k;

    assert_int_equal(gr_pool_lease(f->pool, FRAME, 3, frames), 0);
    assert_ptr_not_equal(frames[0], frames[1]);
    assert_ptr_not_equal(frames[1], frames[2]);
    assert_int_equal(gr_pool_usage(f->pool).leased, 3 * FRAME);
    for (k = 0; k < 3; k++) {
        gr_pool_release(f->pool, frames[k], 0);
    }
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 65, frames), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    assert_int_equal(gr_pool_usage(f->pool).held, 3 * FRAME);
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 64, frames), 0);
    assert_int_equal(gr_pool_usage(f->pool).held, 64 * FRAME);
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 1, frames), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 0, frames), 0);
}

static void frames_of_several_sizes_are_lines_apart_and_zero(void **state)
{
    struct fixture *f = *state;
    struct gr_frame *frames[3];
    unsigned char *a, *b;
    size_t k;

    assert_int_equal(gr_pool_lease(f->pool, 1000, 3, frames), 0);
    a = (unsigned char *) gr_frame_link(frames[0]);
    b = (unsigned char *) gr_frame_link(frames[1]);
    assert_int_equal((uintptr_t) a % GR_CACHE_LINE, 0);
    assert_true(a >= b + 1000 || b >= a + 1000);
    for (k = 0; k < 1000; k++) {
        assert_int_equal(a[k], 0);
    }
    /* a frame is reused for its own size only */
    gr_pool_release(f->pool, frames[0], 0);
    assert_ptr_not_equal(lease_one(f->pool), frames[0]);
    assert_int_equal(gr_pool_lease(f->pool, 961, 1, frames + 1), 0);
    assert_ptr_equal(frames[1], frames[0]);
}

static void a_directory_that_is_not_there_is_an_error(void **state)
{
    struct gr_pool *pool = gr_pool_open("/dev/shm/gpuring/no/such", self, 1 << 20);
    struct gr_frame *frame;

    (void) state;
    assert_non_null(pool);
    assert_int_equal(gr_pool_lease(pool, FRAME, 1, &frame), GR_ERR_SYS);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(gr_pool_usage(pool).held, 0);
    gr_pool_close(pool);
    gr_pool_close(NULL);
}

/* In a file system of 64 KiB: pages that are not there are an error at once; what is held stays usable. */
static int run_full(const char *dir)
{
    struct gr_pool *pool = gr_pool_open(dir, self, 1 << 30);
    struct gr_frame *frames[4];

    if (NULL == pool || 0 != gr_pool_lease(pool, FRAME, 4, frames) ||
        GR_ERR_SPACE != gr_pool_lease(pool, 1 << 20, 1, frames)) {
        return 1;
    }
    memset(gr_frame_link(frames[3]), 1, FRAME);
    if (4 * FRAME != gr_pool_usage(pool).held || 0 != gr_pool_lease(pool, FRAME, 4, frames)) {
        return 2;
    }
    gr_pool_close(pool);
    return 0;
}

static void a_full_file_system_is_an_error(void **state)
{
    const struct fixture *f = *state;
    char command[4400], exe[4096] = "";
    int rc;

    assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
    /* root needs no user namespace, others do */
    snprintf(command, sizeof(command),
             "u='unshare -m'; $u true 2>/dev/null || u='unshare -rm'; $u true 2>/dev/null || exit 77; "
             "$u sh -c 'mount -t tmpfs -o size=64k none %s || exit 77; exec %s --full %s'", f->dir, exe, f->dir);
    rc = system(command);
    if (77 == WEXITSTATUS(rc)) {
        printf("# neither root nor user namespaces: cannot mount a small file system\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

/* ---- the end of a lease ---- */

static void a_frame_is_free_when_both_ends_have_left(void **state)
{
    /* who leaves first; used 0: no writer ever learnt of it */
    static const struct {
        int reader_first, used;
    } rows[] = {{1, 1}, {0, 1}, {0, 0}};
    struct fixture *f = *state;
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct gr_frame *frame = lease_one(f->pool), *next;
        struct gr_offer offer = gr_pool_offer(f->pool, frame);
        struct gr_link_shared *l = map(f->other, &offer);

        if (rows[k].reader_first) {
            gr_pool_release(f->pool, frame, 1);
            next = lease_one(f->pool);
            assert_ptr_not_equal(next, frame);
            gr_pool_release(f->pool, next, 0);
            assert_int_equal(gr_pool_usage(f->pool).leased, FRAME);
            gr_pool_leave(l, offer.lease);
        } else {
            if (rows[k].used) {
                gr_pool_leave(l, offer.lease);
            }
            assert_int_equal(gr_pool_usage(f->pool).leased, FRAME);
            gr_pool_release(f->pool, frame, rows[k].used);
        }
        assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    }
}

/* The reader has gone, the writer has not heard of it: what it writes harms nobody, and is skipped. */
static void a_late_writer_harms_nobody(void **state)
{
    struct fixture *f = *state;
    struct gr_frame *frame = lease_one(f->pool), *again[64];
    struct gr_offer offer = gr_pool_offer(f->pool, frame), next;
    struct gr_link writer = {0};
    int k, found = 0;

    gr_link_attach(&writer, map(f->other, &offer), offer.count, SLOTS, SLOT);
    gr_pool_release(f->pool, frame, 1);
    for (k = 0; k < SLOTS; k++) {
        assert_true(gr_link_writable(&writer));
        memset(gr_link_slot(&writer), 0xee, SLOT);
        gr_link_push(&writer);
    }
    assert_false(gr_link_writable(&writer));
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 63, again), 0);
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 1, again + 63), GR_ERR_LIMIT);
    gr_pool_leave(writer.shared, offer.lease);
    assert_int_equal(gr_pool_lease(f->pool, FRAME, 1, again + 63), 0);
    for (k = 0; k < 64; k++) {
        found += again[k] == frame;
    }
    assert_int_equal(found, 1);
    next = gr_pool_offer(f->pool, frame);
    assert_int_equal(next.lease, offer.lease + 1);
    assert_int_equal(next.count, offer.count + SLOTS);
    assert_int_equal(atomic_load(&gr_frame_link(frame)->head), next.count);
    assert_int_equal(atomic_load(&gr_frame_link(frame)->tail), next.count);
}

static void leases_cost_nothing_lasting(void **state)
{
    struct fixture *f = *state;
    size_t held = 0;
    int round, k, fds = 0;

    for (round = 0; round < ROUNDS; round++) {
        struct gr_frame *frames[3];
        struct gr_offer offers[3];

        assert_int_equal(gr_pool_lease(f->pool, FRAME, 3, frames), 0);
        for (k = 0; k < 3; k++) {
            offers[k] = gr_pool_offer(f->pool, frames[k]);
            gr_pool_release(f->pool, frames[k], 1);
            gr_pool_leave(map(f->other, &offers[k]), offers[k].lease);
        }
        if (0 == round) {
            held = gr_pool_usage(f->pool).held;
            fds = entries("/proc/self/fd");
        }
    }
    assert_int_equal(gr_pool_usage(f->pool).held, held);
    assert_int_equal(entries("/proc/self/fd"), fds);
    assert_int_equal(gr_pool_usage(f->other).mapped, 1);
    assert_int_equal(entries(f->dir), 0);
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
        struct gr_frame *frames[2];
        uint64_t mark = (uint64_t) (uintptr_t) arg + (uint64_t) k;

        if (0 != gr_pool_lease(l->pool, FRAME, 2, frames)) {
            l->failures++;
            continue;
        }
        memcpy(gr_frame_link(frames[0])->slots, &mark, sizeof(mark));
        sched_yield();
        l->failures += 0 != memcmp(gr_frame_link(frames[0])->slots, &mark, sizeof(mark));
        gr_pool_release(l->pool, frames[1], 0);
        gr_pool_release(l->pool, frames[0], 0);
    }
    return NULL;
}

static void threads_never_share_a_frame(void **state)
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
    assert_true(gr_pool_usage(f->pool).held <= 6 * FRAME);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lease_is_all_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frames_of_several_sizes_are_lines_apart_and_zero, set_up, tear_down),
        cmocka_unit_test(a_directory_that_is_not_there_is_an_error),
        cmocka_unit_test_setup_teardown(a_full_file_system_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_frame_is_free_when_both_ends_have_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_writer_harms_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leases_cost_nothing_lasting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_never_share_a_frame, set_up, tear_down),
    };

    if (3 == argc && 0 == strcmp(argv[1], "--full")) {
        return run_full(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
