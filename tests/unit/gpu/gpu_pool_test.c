/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of a device (link/gpu_pool.h) inside one process: slabs, leases and bounds. Other
 * processes are the business of gpu_pool_process_test.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "gpu_pool_fixture.h"

#include "cuda/device.h"
#include "cuda/pointer.h"

#include "sanitizer/sanitizer.h"
#include "usage.h"

#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>

enum { LINE = GR_GPU_ALIGN };

/* ---- slabs ---- */

static void slabs_are_apart_and_begin_clean(void)
{
    static const size_t sizes[] = {1, LINE, 257, 5000, 100000, 1 << 20, (1 << 20) + LINE};
    enum { KINDS = sizeof(sizes) / sizeof(sizes[0]), EACH = 3 };
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu_slab *slabs[KINDS][EACH];
    size_t k, leased = 0, asked = 0;
    int j, round;

    for (round = 0; round < 2; round++) {
        for (k = 0; k < KINDS; k++) {
            CHECK_INT(
                gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, sizes[k], GR_GPU_ALIGN, EACH, slabs[k]), 0);
            for (j = 0; j < EACH; j++) {
                gr_gpu_ptr at = slabs[k][j]->at;

                asked += sizes[k] < 256 ? 256 : sizes[k];
                CHECK_INT(at % 256, 0);
                CHECK(holds(s.gpu, at, 0, LINE));
                /* the rest is what the last lease left */
                CHECK(0 == round || sizes[k] <= LINE ||
                      holds(s.gpu, at + LINE, 0x5a, sizes[k] - LINE));
            }
        }
        for (k = 0; k < KINDS; k++) { /* an overlap would show in what another holds */
            for (j = 0; j < EACH; j++) {
                fill(s.gpu, slabs[k][j]->at, (int) (EACH * k) + j + 1, sizes[k]);
            }
        }
        for (k = 0; k < KINDS; k++) {
            for (j = 0; j < EACH; j++) {
                CHECK(holds(s.gpu, slabs[k][j]->at, (int) (EACH * k) + j + 1, sizes[k]));
                fill(s.gpu, slabs[k][j]->at, 0x5a, sizes[k] < LINE ? LINE : sizes[k]);
            }
        }
        leased = gpu_pool_usage(s.pool).leased;
        for (k = 0; k < KINDS * EACH; k++) {
            gr_gpu_pool_release(s.pool, slabs[k / EACH][k % EACH], 0);
        }
    }
    /* at most an eighth is lost to sizes */
    CHECK(leased >= asked / 2 && leased <= asked / 2 * 9 / 8);
    CHECK_INT(gpu_pool_usage(s.pool).leased, 0);
    CHECK(gpu_pool_usage(s.pool).held <= 10 * MIB);
    CHECK_INT(gpu_pool_usage(s.pool).held % (2 * MIB), 0);
    close_side(&s);
}

/* ---- bounds ---- */

static void a_lease_is_all_or_nothing(void)
{
    struct side s = open_side(0, 0, 4 * MIB);
    struct gr_gpu_slab *slabs[8];

    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 0, slabs), 0);
    CHECK_INT(gpu_pool_usage(s.pool).held, 0);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 5, slabs),
              GR_ERR_GPU_LIMIT);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, (size_t) 1 << 62, GR_GPU_ALIGN, 5, slabs),
              GR_ERR_GPU_LIMIT);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 3, slabs), 0);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 2, slabs + 3),
              GR_ERR_GPU_LIMIT);
    CHECK_INT(gpu_pool_usage(s.pool).leased, 3 * MIB);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 1, slabs + 3), 0);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, 1, GR_GPU_ALIGN, 1, slabs + 4),
              GR_ERR_GPU_LIMIT);
    gr_gpu_pool_release(s.pool, slabs[1], 0);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 1, slabs + 4), 0);
    CHECK(slabs[4] == slabs[1]);
    CHECK_INT(gpu_pool_usage(s.pool).held, 4 * MIB);
    close_side(&s);
}

static void no_memory_for_the_list_of_a_lease(void)
{
    struct gr_gpu_slab *slab = NULL;
    struct rlimit before, none;
    struct side s;

    if (GR_SANITIZER(false, true, true)) {
        return; /* its malloc() ends the program */
    }
    s = open_side(0, 0, 4 * MIB);
    CHECK_INT(getrlimit(RLIMIT_DATA, &before), 0);
    none = (struct rlimit) {.rlim_cur = 1, .rlim_max = before.rlim_max}; /* Linux ignores 0 */
    CHECK_INT(setrlimit(RLIMIT_DATA, &none), 0);
    /* a list that is larger than any memory that the C library has already */
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, INT_MAX, &slab),
              GR_ERR_NOMEM);
    CHECK_INT(setrlimit(RLIMIT_DATA, &before), 0);
    CHECK_INT(gpu_pool_usage(s.pool).held, 0);
    close_side(&s);
}

static void the_device_is_full(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu_slab *slabs[8];
    struct gr_pool_usage before;

    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 4, slabs), 0);
    before = gr_pool_usage(s.host);
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 4, slabs + 4),
              GR_ERR_GPU_SPACE);
    CHECK(NULL != strstr(gr_gpu_error(), "cuMemAlloc"));
    CHECK_INT(gpu_pool_usage(s.pool).leased, 4 * MIB);
    CHECK_INT(gpu_pool_usage(s.pool).held, 4 * MIB);
    CHECK_INT(gr_pool_usage(s.host).leased, before.leased);
    close_side(&s);
}

static void there_are_no_doors(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_pool *few = gr_pool_open((struct gr_peer_id) {1, 0}, 1024);
    struct gr_gpu_pool *pool = gr_gpu_pool_open(s.gpu, few, 64 * MIB);
    struct gr_gpu_slab *slab;

    CHECK_INT(gr_gpu_pool_lease(pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 1, &slab), GR_ERR_LIMIT);
    CHECK_INT(gr_gpu_pool_lease(pool, GR_ON_HOST, MIB, GR_GPU_ALIGN, 1, &slab), GR_ERR_LIMIT);
    CHECK_INT(gpu_pool_usage(pool).held, 0);
    gr_gpu_pool_close(pool);
    gr_pool_close(few);
    close_side(&s);
}

static CUresult CUDAAPI zeroing_fails(CUdeviceptr to, unsigned char value, size_t bytes,
                                      CUstream stream)
{
    (void) to;
    (void) value;
    (void) bytes;
    (void) stream;
    return CUDA_ERROR_LAUNCH_FAILED;
}

/* What cannot be cleaned is not leased. */
static void cleaning_fails(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    __typeof__(&zeroing_fails) right = s.gpus->cuda.cuMemsetD8Async;
    struct gr_gpu_slab *slabs[3];

    s.gpus->cuda.cuMemsetD8Async = zeroing_fails;
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 3, slabs), GR_ERR_CUDA);
    CHECK(NULL != strstr(gr_gpu_error(), "cuMemsetD8Async: "));
    CHECK_INT(gpu_pool_usage(s.pool).leased, 0);
    CHECK_INT(gr_pool_usage(s.host).leased, 0);
    s.gpus->cuda.cuMemsetD8Async = right;
    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB, GR_GPU_ALIGN, 3, slabs), 0);
    CHECK_INT(gpu_pool_usage(s.pool).held, 4 * MIB);
    close_side(&s);
}

/* ---- leases ---- */

/* A slab is free when both ends have left, in any order; many leases cost nothing lasting. */
static void a_slab_is_free_when_both_have_left(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu_pool *other = gr_gpu_pool_open(s.gpu, s.host, 0);
    size_t held = 0;
    int round;

    for (round = 0; round < 200; round++) {
        enum gr_gpu_where where = round / 2 % 2 ? GR_ON_HOST : GR_ON_DEVICE;
        struct gr_gpu_slab *slab = lease_one(s.pool, where, 5000), *next;
        struct gr_gpu_slab_handle handle = gr_gpu_pool_export(s.pool, slab);
        struct gr_gpu_mapped mapped = map(other, &handle);
        gr_gpu_ptr at = slab->at;
        size_t host = gr_pool_usage(s.host).leased;

        if (round % 2) {
            gr_gpu_leave(&mapped);
        }
        gr_gpu_pool_release(s.pool, slab, 1);
        if (0 == round % 2) { /* the other end is late */
            CHECK_INT(gr_pool_usage(s.host).leased, host);
            CHECK_INT(0 != gpu_pool_usage(s.pool).leased, GR_ON_DEVICE == where);
            next = lease_one(s.pool, where, 5000);
            CHECK(at != next->at);
            gr_gpu_pool_release(s.pool, next, 0);
            gr_gpu_leave(&mapped);
        }
        CHECK_INT(gpu_pool_usage(s.pool).leased, 0);
        CHECK_INT(gr_pool_usage(s.host).leased, 0);
        held = 3 == round ? gr_pool_usage(s.host).held : held;
    }
    CHECK_INT(gpu_pool_usage(s.pool).held, 2 * MIB);
    CHECK_INT(gr_pool_usage(s.host).held, held);
    gr_gpu_pool_close(other);
    close_side(&s);
}

/* The record of a slab stays its own until somebody has looked whether its user has left. */
static void doors_change_hands(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu_slab *slab, *second;
    struct gr_gpu_mapped mapped[2];
    struct gr_gpu_slab_handle handle;
    int k;

    slab = lease_one(s.pool, GR_ON_DEVICE, 5000);
    handle = gr_gpu_pool_export(s.pool, slab);
    mapped[0] = map(s.pool, &handle);
    gr_gpu_pool_release(s.pool, slab, 1);
    gr_gpu_leave(&mapped[0]);
    /* the same user, another size; nobody has looked at the first slab since */
    for (k = 0; k < 3; k++) {
        second = lease_one(s.pool, GR_ON_DEVICE, 50000);
        handle = gr_gpu_pool_export(s.pool, second);
        mapped[1] = map(s.pool, &handle);
        CHECK(mapped[1].user != mapped[0].user && mapped[1].lease > mapped[0].lease);
        gr_gpu_pool_release(s.pool, second, 1);
        gr_gpu_leave(&mapped[1]);
    }
    CHECK(lease_one(s.pool, GR_ON_DEVICE, 5000) == slab);
    close_side(&s);
}

/* The host of what is leased when the pool is closed come back when the other end leaves. */
static void closing_leaves_the_doors_to_their_users(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu_slab_handle handle =
        gr_gpu_pool_export(s.pool, lease_one(s.pool, GR_ON_DEVICE, 5000));
    struct gr_gpu_mapped mapped = map(s.pool, &handle);

    gr_gpu_pool_close(s.pool);
    CHECK(0 != gr_pool_usage(s.host).leased);
    gr_gpu_leave(&mapped);
    CHECK_INT(gr_pool_usage(s.host).leased, 0);
    s.pool = NULL;
    close_side(&s);
}

struct leaser {
    struct side *side;
    int number;
};

static void *lease_in_a_thread(void *arg)
{
    struct leaser *l = arg;
    int k;

    for (k = 0; k < 60; k++) {
        struct gr_gpu_slab *slabs[2];
        enum gr_gpu_where where = k % 3 ? GR_ON_DEVICE : GR_ON_HOST;

        CHECK_INT(gr_gpu_pool_lease(l->side->pool, where, 4096, 2 * GR_GPU_ALIGN, 2, slabs), 0);
        fill(l->side->gpu, slabs[1]->at, l->number, 4096);
        fill(l->side->gpu, slabs[0]->at, l->number, 4096);
        CHECK(holds(l->side->gpu, slabs[1]->at, l->number, 4096));
        gr_gpu_pool_release(l->side->pool, slabs[0], 0);
        gr_gpu_pool_release(l->side->pool, slabs[1], 0);
    }
    return NULL;
}

static void threads_never_share_a_slab(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct leaser leasers[3];
    pthread_t threads[3];
    int k;

    for (k = 0; k < 3; k++) {
        leasers[k] = (struct leaser) {&s, k + 1};
        CHECK_INT(pthread_create(&threads[k], NULL, lease_in_a_thread, &leasers[k]), 0);
    }
    for (k = 0; k < 3; k++) {
        pthread_join(threads[k], NULL);
    }
    CHECK_INT(gpu_pool_usage(s.pool).leased, 0);
    close_side(&s);
}

/* ---- mapping inside the process ---- */

static void map_between_devices(int expected)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu *second = get_gpu(s.gpus, 1);
    struct gr_gpu_pool *same = gr_gpu_pool_open(s.gpu, s.host, 0),
                       *other = gr_gpu_pool_open(second, s.host, 0);
    struct gr_gpu_slab *slabs[3];
    struct gr_gpu_mapped mapped;
    struct gr_gpu_slab_handle handle;
    int k;

    CHECK_INT(gr_gpu_pool_lease(s.pool, GR_ON_DEVICE, MIB + LINE, GR_GPU_ALIGN, 3, slabs), 0);
    for (k = 0; k < 3; k++) {
        handle = gr_gpu_pool_export(s.pool, slabs[k]);
        CHECK_INT(map(same, &handle).at, slabs[k]->at);
        CHECK_INT(gr_gpu_pool_map(other, &handle, &mapped), expected);
        CHECK(0 != expected || slabs[k]->at == mapped.at);
    }
    CHECK_INT(gpu_pool_usage(same).mapped, 0); /* nothing was opened */
    handle.arena += 1000;
    CHECK_INT(gr_gpu_pool_map(same, &handle, &mapped), GR_ERR_FOREIGN);
    handle = gr_gpu_pool_export(s.pool, slabs[0]);
    handle.host.segment.token[0]++;
    CHECK_INT(gr_gpu_pool_map(same, &handle, &mapped), GR_ERR_FOREIGN);
    gr_gpu_pool_close(same);
    gr_gpu_pool_close(other);
    gr_gpu_pool_close(NULL);
    close_side(&s);
}

static void devices_that_reach_each_other(void)
{
    map_between_devices(0);
}

static void devices_that_do_not(void)
{
    map_between_devices(GR_ERR_PEER);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(slabs_are_apart_and_begin_clean, NULL),
        ROW(a_lease_is_all_or_nothing, NULL),
        ROW(no_memory_for_the_list_of_a_lease, NULL),
        ROW(the_device_is_full, "FAKECUDA_MEM=6"),
        ROW(there_are_no_doors, NULL),
        ROW(cleaning_fails, NULL),
        ROW(a_slab_is_free_when_both_have_left, NULL),
        ROW(doors_change_hands, NULL),
        ROW(closing_leaves_the_doors_to_their_users, NULL),
        ROW(threads_never_share_a_slab, NULL),
        ROW(devices_that_reach_each_other, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=all"),
        ROW(devices_that_do_not, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
    };

    return RUN_ROWS(rows, argc, argv);
}
