/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool (link/pool.h): its segments and bounds. The ends of leases are the business of
 * pool_lease_test.c, second processes that of exec_process_test.c. The program starts itself again
 * in a small file system:
 *
 *      pool_test --full DIR      leases in DIR until there is no space; status 0 when that went as it must
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "link/pool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool_fixture.h"

/* ---- bounds ---- */

static void a_lease_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slabs[65];
    int k;

    assert_int_equal(gr_pool_lease(f->pool, SLAB_BYTES, 1, 3, slabs), 0);
    assert_ptr_not_equal(slabs[0], slabs[1]);
    assert_ptr_not_equal(slabs[1], slabs[2]);
    assert_int_equal(gr_pool_usage(f->pool).leased, 3 * SLAB_BYTES);
    for (k = 0; k < 3; k++) {
        gr_pool_release(f->pool, slabs[k], 0);
    }
    assert_int_equal(gr_pool_lease(f->pool, SLAB_BYTES, 1, 65, slabs), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    assert_int_equal(gr_pool_usage(f->pool).held, SEGMENT);
    assert_int_equal(gr_pool_lease(f->pool, SLAB_BYTES, 1, 64, slabs), 0);
    assert_int_equal(gr_pool_usage(f->pool).held, 64 * SLAB_BYTES);
    assert_int_equal(gr_pool_lease(f->pool, SLAB_BYTES, 1, 1, slabs), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_lease(f->pool, SLAB_BYTES, 1, 0, slabs), 0);
}

/* Each costs its users a mapping. */
static void small_slabs_share_a_segment(void **state)
{
    static const size_t sizes[] = {64, 1000, SLAB_BYTES, SEGMENT};
    struct fixture *f = *state;
    struct gr_slab *slab;
    struct gr_slab_handle handle;
    size_t k, n, held = 0;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        size_t lines = (sizes[k] + GR_CACHE_LINE - 1) / GR_CACHE_LINE * GR_CACHE_LINE;

        for (n = 0; n < SEGMENT / lines; n++) {
            assert_int_equal(gr_pool_lease(f->pool, sizes[k], 1, 1, &slab), 0);
            handle = gr_pool_export(f->pool, slab);
            assert_true(handle.offset + lines <= handle.segment_bytes);
            (void) map(f->other, &handle);
        }
        held += SEGMENT;
        assert_int_equal(gr_pool_usage(f->pool).held, held);
        assert_int_equal(gr_pool_usage(f->other).mapped, k + 1);
    }
}

/* Where there is no room for that, they get what they need. */
static void segments_are_no_larger_than_the_bound(void **state)
{
    struct fixture *f = *state;
    struct gr_pool *pool = gr_pool_open(f->dir, self, SEGMENT + 3 * SLAB_BYTES);
    struct gr_slab *slabs[16];

    assert_int_equal(gr_pool_lease(pool, SLAB_BYTES, 1, 16, slabs), 0);
    assert_int_equal(gr_pool_lease(pool, SLAB_BYTES, 1, 2, slabs), 0);
    assert_int_equal(gr_pool_usage(pool).held, SEGMENT + 2 * SLAB_BYTES);
    assert_int_equal(gr_pool_lease(pool, SLAB_BYTES, 1, 2, slabs), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_lease(pool, SLAB_BYTES, 1, 1, slabs), 0);
    gr_pool_close(pool);
}

/* Hundreds of communicators, each with slabs of its own, and few descriptors left. */
static void growth_takes_one_descriptor(void **state)
{
    enum { TIMES = 300 };
    struct fixture *f = *state;
    struct gr_pool *pool = gr_pool_open(f->dir, self, (TIMES + 1) * SEGMENT);
    struct gr_slab *slab;
    int k, fds = entries("/proc/self/fd");

    for (k = 0; k < TIMES; k++) {
        struct gr_slab_handle handle;

        assert_int_equal(gr_pool_lease(pool, SEGMENT, 1, 1, &slab), 0);
        *(int *) gr_slab_base(slab) = k;
        handle = gr_pool_export(pool, slab);
        assert_int_equal(*(int *) map(f->other, &handle), k);
    }
    assert_int_equal(entries("/proc/self/fd"), fds + 1);
    assert_int_equal(gr_pool_usage(pool).held, TIMES * SEGMENT);
    gr_pool_close(pool);
    assert_int_equal(entries("/proc/self/fd"), fds);
}

static void slabs_of_several_sizes_are_lines_apart_and_zero(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slabs[3];
    unsigned char *a, *b;
    size_t k, found = 0, held;

    assert_int_equal(gr_pool_lease(f->pool, 1000, 1, 3, slabs), 0);
    a = gr_slab_base(slabs[0]);
    b = gr_slab_base(slabs[1]);
    assert_int_equal((uintptr_t) a % GR_CACHE_LINE, 0);
    assert_true(a >= b + 1000 || b >= a + 1000);
    for (k = 0; k < 1000; k++) {
        assert_int_equal(a[k], 0);
    }
    /* a slab is reused for its own size and number of users only */
    held = gr_pool_usage(f->pool).held;
    gr_pool_release(f->pool, slabs[0], 0);
    assert_ptr_not_equal(lease_one(f->pool), slabs[0]);
    assert_int_equal(gr_pool_lease(f->pool, 1000, 2, 1, slabs + 1), 0);
    assert_int_equal(gr_pool_usage(f->pool).held, held + 2 * SEGMENT);
    for (k = 0; k < SEGMENT / 1024 - 2; k++) {
        assert_int_equal(gr_pool_lease(f->pool, 961, 1, 1, slabs + 1), 0);
        found += slabs[1] == slabs[0];
    }
    assert_int_equal(found, 1);
    assert_int_equal(gr_pool_usage(f->pool).held, held + 2 * SEGMENT);
}

static void a_directory_that_is_not_there_is_an_error(void **state)
{
    struct gr_pool *pool = gr_pool_open("/dev/shm/gpuring/no/such", self, 1 << 20);
    struct gr_slab *slab;

    (void) state;
    assert_non_null(pool);
    assert_int_equal(gr_pool_lease(pool, SLAB_BYTES, 1, 1, &slab), GR_ERR_SYS);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(gr_pool_usage(pool).held, 0);
    gr_pool_close(pool);
    gr_pool_close(NULL);
}

/*
 * In a file system of two segments: pages that are not there are an error at once; what is held
 * stays usable.
 */
static int run_full(const char *dir)
{
    struct gr_pool *pool = gr_pool_open(dir, self, 1 << 30);
    struct gr_slab *slabs[28], *none;

    if (NULL == pool || 0 != gr_pool_lease(pool, SLAB_BYTES, 1, 4, slabs) ||
        GR_ERR_SPACE != gr_pool_lease(pool, 1 << 20, 1, 1, &none)) {
        return 1;
    }
    memset(gr_slab_base(slabs[3]), 1, SLAB_BYTES);
    if (SEGMENT != gr_pool_usage(pool).held || 0 != gr_pool_lease(pool, SLAB_BYTES, 1, 28, slabs)) {
        return 2;
    }
    memset(gr_slab_base(slabs[27]), 1, SLAB_BYTES);
    if (2 * SEGMENT != gr_pool_usage(pool).held ||
        GR_ERR_SPACE != gr_pool_lease(pool, SLAB_BYTES, 1, 1, &none)) {
        return 3;
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
             "u='unshare -m'; $u true 2>/dev/null || u='unshare -rm'; $u true 2>/dev/null || exit "
             "77; $u sh -c 'mount -t tmpfs -o size=128k none %s || exit 77; exec %s --full %s'",
             f->dir, exe, f->dir);
    rc = system(command);
    if (77 == WEXITSTATUS(rc)) {
        printf("# neither root nor user namespaces: cannot mount a small file system\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lease_is_all_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_slabs_share_a_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_are_no_larger_than_the_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(growth_takes_one_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slabs_of_several_sizes_are_lines_apart_and_zero, set_up,
                                        tear_down),
        cmocka_unit_test(a_directory_that_is_not_there_is_an_error),
        cmocka_unit_test_setup_teardown(a_full_file_system_is_an_error, set_up, tear_down),
    };

    if (3 == argc && 0 == strcmp(argv[1], "--full")) {
        return run_full(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
