/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool (link/pool.h): its memory, and limits of the process and of the system. The ends of
 * leases are the business of pool_lease_test.c, second processes that of exec_process_test.c. The
 * program starts itself again where there is little shared memory:
 *
 *      pool_test --full      leases until there is no memory; status 0 when that went as it must
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "base/memory.h"
#include "link/pool.h"

#include "rng.h"
#include "sanitizer/sanitizer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "pool_fixture.h"

#define MIB ((size_t) 1 << 20)

/* ---- functions of the C library that the pool calls ---- */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static bool old_kernel;           /* one before Linux 5.14, without MADV_POPULATE_WRITE */
static _Thread_local int mutexes; /* that this thread holds */

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_madvise(void *at, size_t bytes, int advice)
{
    if (old_kernel && MADV_POPULATE_WRITE == advice) {
        errno = EINVAL;
        return -1;
    }
    return __real_madvise(at, bytes, advice);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    mutexes++;
    return __real_pthread_mutex_lock(mutex);
}

/* The pool unlocks no mutex that it has not locked: two threads would be in it at once. */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (0 == mutexes--) {
        abort();
    }
    return __real_pthread_mutex_unlock(mutex);
}

/* ---- bounds ---- */

static void a_lease_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slabs[MOST + 1];
    int k;

    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 3, slabs), 0);
    assert_ptr_not_equal(slabs[0], slabs[1]);
    assert_ptr_not_equal(slabs[1], slabs[2]);
    assert_int_equal(gr_pool_usage(f->pool).leased, 3 * SLAB_BYTES);
    for (k = 0; k < 3; k++) {
        gr_pool_release(f->pool, slabs[k], 0);
    }
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, MOST + 1, slabs),
                     GR_ERR_LIMIT);
    assert_int_equal(gr_pool_usage(f->pool).leased, 0);
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, MOST, slabs), 0);
    assert_int_equal(gr_pool_usage(f->pool).held, MOST_BYTES);
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 1, slabs), GR_ERR_LIMIT);
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, 2 * MOST_BYTES, 1, 1, slabs),
                     GR_ERR_LIMIT);
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 0, slabs), 0);
}

/* Pages that are held and not leased make room for others, of the same segment or not. */
static void pages_within_the_bound_are_found_again(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *slabs[MOST];
    int k;

    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, MOST, slabs), 0);
    for (k = 0; k < MOST; k++) { /* in pairs, none of which is large enough */
        if (k % 4 < 2) {
            gr_pool_release(f->pool, slabs[k], 0);
        }
    }
    assert_int_equal(
        gr_pool_lease(f->pool, GR_SLAB_WHOLE, (MOST / 4 - 2) * SLAB_BYTES, 1, 1, slabs), 0);
    assert_true(gr_pool_usage(f->pool).held <= MOST_BYTES);
}

/* ---- memory ---- */

/* Each segment costs each user of it a mapping, and the system allows 4096. */
static void segments_are_few(void **state)
{
    enum { TIMES = 3000, BYTES = 65000 };
    struct fixture *f = *state;
    struct gr_pool *pool = gr_pool_open(self, (size_t) 256 * MIB);
    struct gr_slab *slab;
    int k, fds = entries("/proc/self/fd");

    for (k = 0; k < TIMES; k++) {
        struct gr_slab_handle handle;

        assert_int_equal(gr_pool_lease(pool, GR_SLAB_WHOLE, BYTES, 1, 1, &slab), 0);
        *(int *) gr_slab_base(slab) = k;
        handle = gr_pool_export(pool, slab);
        assert_true(handle.offset + BYTES <= handle.segment_bytes);
        assert_int_equal(*(int *) map(f->other, &handle), k);
    }
    assert_true(gr_pool_usage(f->other).mapped <= 10);
    assert_true(gr_pool_usage(pool).held <= (size_t) TIMES * (BYTES + 64) + MIB);
    assert_int_equal(entries("/proc/self/fd"), fds); /* none that another could close */
    gr_pool_close(pool);
}

/* A communicator of other sizes finds the memory of one that was freed. */
static void memory_serves_slabs_of_any_size(void **state)
{
    static const size_t sizes[] = {60000, 64, 4096, 1000, 250000, 130};
    struct fixture *f = *state;
    struct gr_slab *slabs[4096];
    size_t k;
    int n, round;

    for (round = 0; round < 20; round++) {
        for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            /* as many as fit */
            for (n = 0;
                 n < 4096 && 0 == gr_pool_lease(f->pool, GR_SLAB_WHOLE, sizes[k], 1, 1, &slabs[n]);
                 n++) {
            }
            assert_true((size_t) n * sizes[k] >= (4096 == n ? 0 : MOST_BYTES - 2 * 60000));
            while (n > 0) {
                gr_pool_release(f->pool, slabs[--n], 0);
            }
        }
    }
    assert_int_equal(gr_pool_usage(f->pool).leased, 0);
}

static void pages_are_allocated_on_an_old_kernel(void **state)
{
    enum { PAGES = 8 };
    size_t page = (size_t) sysconf(_SC_PAGESIZE), k;
    struct fixture *f = *state;
    unsigned char there[PAGES];
    struct gr_slab *slab;
    uintptr_t at;

    old_kernel = true;
    assert_int_equal(gr_pool_lease(f->pool, GR_SLAB_WHOLE, (PAGES + 1) * page, 1, 1, &slab), 0);
    old_kernel = false;
    at = ((uintptr_t) gr_slab_base(slab) + page - 1) / page * page;
    assert_int_equal(mincore((void *) at, PAGES * page, there), 0);
    for (k = 0; k < PAGES; k++) {
        assert_int_equal(there[k] & 1, 1);
    }
}

/* In any order of leases and releases no slab overlaps another, whatever their sizes. */
static void slabs_never_overlap(void **state)
{
    enum { SLABS = 200, STEPS = 20000 };
    static struct {
        struct gr_slab *slab;
        size_t bytes;
    } live[SLABS];
    struct gr_pool *pool = gr_pool_open(self, 64 * MIB);
    uint64_t rng = rng_seed();
    size_t sum = 0;
    int step;

    for (step = 0; step < STEPS; step++) {
        size_t k = rng_next(&rng) % SLABS, bytes = 64 + rng_next(&rng) % 30000 / 64 * 64;
        enum gr_slab_kind kind =
            rng_next(&rng) % 4 ? (enum gr_slab_kind)(step % 2) : GR_SLAB_PINNED;

        if (NULL == live[k].slab) {
            bytes = GR_SLAB_PINNED == kind ? 8192 : bytes;
            assert_int_equal(gr_pool_lease(pool, kind, bytes, 1, 1, &live[k].slab), 0);
            live[k].bytes = bytes;
            assert_int_equal((uintptr_t) gr_slab_base(live[k].slab) %
                                 (GR_SLAB_PINNED == kind ? 4096 : GR_CACHE_LINE),
                             0);
            memset(gr_slab_base(live[k].slab), (int) k, bytes);
            sum += bytes;
        } else {
            const unsigned char *at = gr_slab_base(live[k].slab);

            assert_true(at[0] == k && 0 == memcmp(at, at + 1, live[k].bytes - 1));
            gr_pool_release(pool, live[k].slab, 0);
            live[k].slab = NULL;
            sum -= live[k].bytes;
        }
        assert_int_equal(gr_pool_usage(pool).leased, sum);
    }
    gr_pool_close(pool);
}

/* What was needed once is given back; a peer finds it zero, and still there. */
static void an_empty_pool_is_given_back(void **state)
{
    enum { SLABS = 512 };
    static struct gr_slab *slabs[SLABS];
    static struct gr_slab_handle handles[SLABS];
    struct fixture *f = *state;
    struct gr_pool *pool = gr_pool_open(self, 256 * MIB);
    int k, zero = 0;

    for (k = 0; k < SLABS; k++) {
        assert_int_equal(
            gr_pool_lease(pool, k % 2 ? GR_SLAB_WHOLE : GR_SLAB_SPARSE, MIB / 8, 1, 1, &slabs[k]),
            0);
        memset(gr_slab_base(slabs[k]), 7, MIB / 8);
        handles[k] = gr_pool_export(pool, slabs[k]);
        (void) map(f->other, &handles[k]);
    }
    assert_true(gr_pool_usage(pool).held >= 32 * MIB); /* of sparse ones what is used for sure */
    for (k = 0; k < SLABS; k++) {
        gr_pool_release(pool, slabs[k], 1);
        gr_lease_leave(map(f->other, &handles[k]), handles[k].lease);
    }
    assert_true(gr_pool_usage(pool).held <= 4 * MIB);
    for (k = 0; k < SLABS; k++) {
        zero += 0 == ((const unsigned char *) map(f->other, &handles[k]))[4096];
    }
    assert_true(zero >= SLABS - 32);
    assert_int_equal(gr_pool_lease(pool, GR_SLAB_WHOLE, 8 * MIB, 1, 1, slabs), 0);
    memset(gr_slab_base(slabs[0]), 8, 8 * MIB);
    gr_pool_close(pool);
}

/* What a device knows stays where it is, and serves its size only. */
static void pinned_pages_stay(void **state)
{
    enum { SLABS = 64 };
    struct gr_slab *slabs[SLABS];
    struct gr_pool *pool = gr_pool_open(self, 64 * MIB);
    unsigned char *at[SLABS], *again;
    int k, found = 0;

    assert_int_equal(gr_pool_lease(pool, GR_SLAB_PINNED, MIB / 8, 1, SLABS, slabs), 0);
    for (k = 0; k < SLABS; k++) {
        at[k] = gr_slab_base(slabs[k]);
        at[k][4096] = (unsigned char) (k + 1);
    }
    for (k = 0; k < SLABS; k++) {
        gr_pool_release(pool, slabs[k], 0);
    }
    assert_true(gr_pool_usage(pool).held >= SLABS * MIB / 8);
    for (k = 0; k < SLABS; k++) {
        assert_int_equal(at[k][4096], k + 1);
        found += at[k] == gr_slab_base(lease_one(pool));
    }
    assert_int_equal(found, 0);
    assert_int_equal(gr_pool_lease(pool, GR_SLAB_PINNED, MIB / 8, 1, 1, slabs), 0);
    again = gr_slab_base(slabs[0]);
    for (k = 0; k < SLABS; k++) {
        found += at[k] == again;
    }
    assert_int_equal(found, 1);
    gr_pool_close(pool);
}

/* ---- limits of the process and of the system ---- */

/* Run a function in a child, which ends well where it returns 0. */
static void in_a_child(int (*run)(void))
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (0 == pid) {
        _exit(run());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int lower(int which, rlim_t most)
{
    struct rlimit limit = {most, most};

    return setrlimit((__rlimit_resource_t) which, &limit);
}

static int lease_without_files(void)
{
    struct gr_pool *pool = gr_pool_open(self, 64 * MIB);
    struct gr_slab *slab;

    return 0 != lower(RLIMIT_FSIZE, 0) || 0 != lower(RLIMIT_NOFILE, 0) ||
           0 != gr_pool_lease(pool, GR_SLAB_WHOLE, 8 * MIB, 1, 1, &slab) ||
           NULL == memset(gr_slab_base(slab), 1, 8 * MIB);
}

static void no_limit_of_files_applies(void **state)
{
    in_a_child(lease_without_files);
}

static int lease_without_addresses(void)
{
    struct gr_pool *pool = gr_pool_open(self, (size_t) 4096 * MIB), *other = gr_pool_open(peer, 1);
    struct gr_slab *slab, *large;
    struct gr_slab_handle handle;
    int rc, error;

    rc = 0 != gr_pool_lease(pool, GR_SLAB_WHOLE, 1024 * MIB, 1, 1, &slab);
    handle = gr_pool_export(pool, slab);
    rc = rc || 0 != lower(RLIMIT_AS, 1536 * MIB);
    rc = rc || GR_ERR_SPACE != gr_pool_lease(pool, GR_SLAB_WHOLE, 2048 * MIB, 1, 1, &large);
    /* a smaller segment than all before */
    rc = rc || 0 != gr_pool_lease(pool, GR_SLAB_WHOLE, MIB, 1, 1, &large);
    rc = rc || NULL != gr_pool_map(other, &handle, &error) || GR_ERR_SPACE != error;
    return rc || 1024 * MIB + MIB != gr_pool_usage(pool).leased;
}

/* A sanitizer needs addresses and mappings of its own. */
static void no_address_space_is_an_error(void **state)
{
    if (GR_SANITIZER(false, true, true)) {
        skip();
    }
    in_a_child(lease_without_addresses);
}

/* Links are refused where few mappings are left, and what a taken call needs has a reserve. */
static int check_without_mappings(void)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE), pages = 1 << 20, k = 1;
    struct gr_pool *pool = gr_pool_open(self, 64 * MIB);
    struct gr_slab *slab;
    char *at =
        mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (0 != gr_pool_check(pool) || 0 != gr_pool_lease(pool, GR_SLAB_WHOLE, MIB, 1, 1, &slab)) {
        return 1;
    }
    while (k < pages && 0 == mprotect(at + k * page, page, PROT_READ)) {
        k += 2;
    }
    while (MAP_FAILED != mmap(NULL, page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    }
    if (GR_ERR_SPACE != gr_pool_check(pool) || 0 != gr_pool_check(pool)) {
        return 2; /* no more segments; what has been attached can be used: the reserve is there */
    }
    return NULL != malloc(MIB) || NULL == gr_malloc(MIB) || GR_ERR_SPACE != gr_pool_check(pool) ? 3
                                                                                                : 0;
}

static void few_mappings_refuse_links(void **state)
{
    if (GR_SANITIZER(false, true, true)) {
        skip();
    }
    in_a_child(check_without_mappings);
}

static int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int n = 0, c;

    assert_non_null(maps);
    while (EOF != (c = getc(maps))) {
        n += '\n' == c;
    }
    fclose(maps);
    return n;
}

/* Each set-up asks whether there is room for another reserve. */
static void to_look_for_room_takes_none(void **state)
{
    int before, k;

    assert_int_equal(gr_reserve_make(), 0);
    assert_true(gr_reserve_is_spare());
    before = count_mappings();
    for (k = 0; k < 4; k++) {
        assert_true(gr_reserve_is_spare());
    }
    assert_true(count_mappings() <= before + 2); /* where libc maps a buffer of its own */
}

static void refused_links_leave_nothing(void **state)
{
    struct gr_pool *pool = gr_pool_open(self, 64 * MIB), *other = gr_pool_open(peer, 1);
    struct gr_slab *used = lease_one(pool), *refused[2];
    struct gr_slab_handle handles[3];
    int error, k;

    assert_int_equal(gr_pool_lease(pool, GR_SLAB_WHOLE, 2 * MIB, 1, 2, refused), 0);
    for (k = 0; k < 3; k++) {
        handles[k] = gr_pool_export(pool, k < 2 ? refused[k] : used);
        assert_non_null(gr_pool_map(other, &handles[k], &error));
    }
    assert_int_equal(gr_pool_usage(other).mapped, 3);
    for (k = 0; k < 2; k++) {
        gr_pool_unmap(other, &handles[k]);
        gr_pool_release(pool, refused[k], 0);
    }
    gr_pool_trim(pool);
    assert_int_equal(gr_pool_usage(other).mapped, 1);
    assert_int_equal(gr_pool_usage(pool).leased, SLAB_BYTES);
    assert_null(gr_pool_map(other, &handles[0], &error)); /* its segment is gone */
    assert_non_null(gr_pool_map(other, &handles[2], &error));
    gr_pool_close(pool);
    gr_pool_close(other);
}

/* A segment stays while any of its slabs is leased, whichever that is. */
static void a_trimmed_pool_keeps_what_is_leased(void **state)
{
    struct fixture *f = *state;
    struct gr_slab *first = lease_one(f->pool), *second = lease_one(f->pool);
    struct gr_slab_handle handle = gr_pool_export(f->pool, second),
                          beside = gr_pool_export(f->pool, first);

    assert_memory_equal(&handle.segment, &beside.segment, sizeof(handle.segment));
    gr_pool_release(f->pool, first, 0);
    gr_pool_trim(f->pool);
    *(int *) gr_slab_base(second) = 7;
    assert_int_equal(*(int *) map(f->other, &handle), 7);
}

/* The system has two segments of 1 MiB: what is missing is an error, what is held stays usable. */
static int run_full(void)
{
    struct gr_pool *pool = gr_pool_open(self, 1 << 30);
    struct gr_slab *slabs[2], *none;

    if (NULL == pool || 0 != gr_pool_lease(pool, GR_SLAB_WHOLE, MIB / 2, 1, 1, slabs) ||
        GR_ERR_SPACE != gr_pool_lease(pool, GR_SLAB_WHOLE, 2 * MIB, 1, 1, &none)) {
        return 1;
    }
    memset(gr_slab_base(slabs[0]), 1, MIB / 2);
    if (0 != gr_pool_lease(pool, GR_SLAB_WHOLE, 3 * MIB / 8, 1, 2, slabs) ||
        GR_ERR_SPACE != gr_pool_lease(pool, GR_SLAB_WHOLE, MIB, 1, 1, &none)) {
        return 2;
    }
    memset(gr_slab_base(slabs[1]), 1, 3 * MIB / 8);
    gr_pool_close(pool);
    return 0;
}

static void no_shared_memory_is_an_error(void **state)
{
    char command[4400], exe[4096] = "";
    int rc;

    assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
    /* root needs no user namespace, others do */
    snprintf(command, sizeof(command),
             "u='unshare -i'; $u true 2>/dev/null || u='unshare -ri'; $u true 2>/dev/null || exit "
             "77; $u sh -c 'echo $((2097152 / $(getconf PAGESIZE))) >/proc/sys/kernel/shmall "
             "|| exit 77; exec %s --full'",
             exe);
    rc = system(command);
    if (77 == WEXITSTATUS(rc)) {
        printf("# neither root nor user namespaces: cannot limit shared memory\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lease_is_all_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_within_the_bound_are_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_are_few, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_serves_slabs_of_any_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_are_allocated_on_an_old_kernel, set_up, tear_down),
        cmocka_unit_test(slabs_never_overlap),
        cmocka_unit_test_setup_teardown(an_empty_pool_is_given_back, set_up, tear_down),
        cmocka_unit_test(pinned_pages_stay),
        cmocka_unit_test(no_limit_of_files_applies),
        cmocka_unit_test(no_address_space_is_an_error),
        cmocka_unit_test(few_mappings_refuse_links),
        cmocka_unit_test(to_look_for_room_takes_none),
        cmocka_unit_test(refused_links_leave_nothing),
        cmocka_unit_test_setup_teardown(a_trimmed_pool_keeps_what_is_leased, set_up, tear_down),
        cmocka_unit_test(no_shared_memory_is_an_error),
    };

    gr_pool_close(NULL);
    if (2 == argc && 0 == strcmp(argv[1], "--full")) {
        return run_full();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
