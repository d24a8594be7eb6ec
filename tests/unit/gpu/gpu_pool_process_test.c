/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of devices (link/gpu_pool.h) of two processes, and slabs in pinned pages. The owner forks
 * its peer before either has a driver; handles go through one pipe, words of the peer come back
 * through another.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "device_peer.h"
#include "gpu_pool_fixture.h"

#include "cuda/pointer.h"
#include "usage.h"

#include <signal.h>

enum { LINE = GR_GPU_ALIGN, SLAB_BYTES = 300000 };

static void export_to(const struct peer *p, const struct gr_gpu_pool *pool,
                      const struct gr_gpu_slab *slab)
{
    struct gr_gpu_slab_handle handle = gr_gpu_pool_export(pool, slab);

    tell(p->out, &handle, sizeof(handle));
}

/* What the peer says when it is through with a slab. */
static void heard(const struct peer *p, int expected)
{
    int said = -100;

    hear(p->in, &said, sizeof(said));
    CHECK_INT(said, expected);
}

/*
 * The peer's program: for each handle says what mapping it gave; where it could, the slab must hold
 * a line of zeros and then 1, 2 is written to it and it is left. At the end of handles it says how
 * many arenas are mapped.
 */
static void answer(int in, int out, int ordinal)
{
    struct side s = open_side(1, ordinal, 0);
    struct gr_gpu_slab_handle handle;
    struct gr_gpu_mapped mapped;
    int rc, n;

    while (sizeof(handle) == (n = (int) read(in, &handle, sizeof(handle)))) {
        rc = gr_gpu_pool_map(s.pool, &handle, &mapped);
        if (0 == rc) {
            CHECK(holds(s.gpu, mapped.at, 0, LINE));
            CHECK(holds(s.gpu, mapped.at + LINE, 1, SLAB_BYTES - LINE));
            fill(s.gpu, mapped.at, 2, SLAB_BYTES);
            gr_gpu_leave(&mapped);
        }
        tell(out, &rc, sizeof(rc));
    }
    n = gpu_pool_usage(s.pool).mapped;
    tell(out, &n, sizeof(n));
    close_side(&s);
}

static void answer_from_0(int in, int out)
{
    answer(in, out, 0);
}

static void answer_from_1(int in, int out)
{
    answer(in, out, 1);
}

/* Offer slabs to a peer that answers; expected: what mapping gives it. */
static void export_slabs(struct side *s, const struct peer *p, enum gr_gpu_where where,
                         int expected)
{
    enum { N = 12, ROUNDS = 3 };
    struct gr_gpu_slab *slabs[N];
    int k, round;

    for (round = 0; round < ROUNDS; round++) {
        CHECK_INT(gr_gpu_pool_lease(s->pool, where, SLAB_BYTES, 2 * GR_GPU_ALIGN, N, slabs), 0);
        for (k = 0; k < N; k++) {
            fill(s->gpu, slabs[k]->at + LINE, 1, SLAB_BYTES - LINE);
            export_to(p, s->pool, slabs[k]);
            heard(p, expected);
            CHECK(0 != expected || holds(s->gpu, slabs[k]->at, 2, SLAB_BYTES));
        }
        for (k = 0; k < N; k++) {
            gr_gpu_pool_release(s->pool, slabs[k], 0 == expected);
        }
        CHECK_INT(gpu_pool_usage(s->pool).leased, 0);
        CHECK_INT(gr_pool_usage(s->host).leased, 0);
    }
}

/* No more handles: so many arenas were mapped, and the peer ends well. */
static void end_peer(struct peer *p, int mapped)
{
    close(p->out);
    heard(p, mapped);
    CHECK_INT(child_status(p->pid), 0);
}

static void slabs_on_one_device(void)
{
    struct peer p = start_peer(answer_from_0, NULL);
    struct side s = open_side(0, 0, 64 * MIB);

    export_slabs(&s, &p, GR_ON_DEVICE, 0);
    end_peer(&p, 1);
    close_side(&s);
}

/* Each process sees one device, not the same, and calls it 0. */
static void slabs_of_a_device_that_the_peer_does_not_see(void)
{
    struct peer p = start_peer(answer_from_0, "CUDA_VISIBLE_DEVICES=1");
    struct side s;

    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    s = open_side(0, 0, 64 * MIB);
    export_slabs(&s, &p, GR_ON_DEVICE, 0);
    export_slabs(&s, &p, GR_ON_HOST, 0);
    end_peer(&p, 1);
    close_side(&s);
}

static void slabs_on_devices_that_reach_each_other(void)
{
    struct peer p = start_peer(answer_from_1, NULL);
    struct side s = open_side(0, 0, 64 * MIB);

    export_slabs(&s, &p, GR_ON_DEVICE, 0);
    end_peer(&p, 1);
    close_side(&s);
}

/* What cannot be mapped is refused, each time, and pinned pages serve instead. */
static void only_pinned_pages(void)
{
    struct peer p = start_peer(answer_from_1, NULL);
    struct side s = open_side(0, 0, 64 * MIB);

    export_slabs(&s, &p, GR_ON_DEVICE, GR_ERR_PEER);
    export_slabs(&s, &p, GR_ON_HOST, 0);
    export_slabs(&s, &p, GR_ON_DEVICE, GR_ERR_PEER);
    end_peer(&p, 0);
    close_side(&s);
}

static void every_arena_is_opened_once(void)
{
    struct peer p = start_peer(answer_from_0, NULL);
    struct side s = open_side(0, 0, 64 * MIB);
    int k;

    for (k = 0; k < 10; k++) { /* never released: six fit an arena */
        struct gr_gpu_slab *slab = lease_one(s.pool, GR_ON_DEVICE, SLAB_BYTES);

        fill(s.gpu, slab->at + LINE, 1, SLAB_BYTES - LINE);
        export_to(&p, s.pool, slab);
        heard(&p, 0);
    }
    CHECK_INT(gpu_pool_usage(s.pool).held, 4 * MIB);
    end_peer(&p, 2);
    close_side(&s);
}

/* Maps what is offered, says so, and stays until it is killed. */
static void hold_on(int in, int out)
{
    struct side s = open_side(1, 0, 0);
    struct gr_gpu_slab_handle handle;
    int rc;

    for (;;) {
        hear(in, &handle, sizeof(handle));
        (void) map(s.pool, &handle);
        rc = 0;
        tell(out, &rc, sizeof(rc));
    }
}

/* Nobody knows what a killed process's kernels may still write: its slabs are not used again. */
static void slabs_of_a_killed_peer_stay_out(void)
{
    static const enum gr_gpu_where places[] = {GR_ON_DEVICE, GR_ON_HOST};
    struct peer p = start_peer(hold_on, NULL);
    struct side s = open_side(0, 0, 64 * MIB);
    gr_gpu_ptr lost[2];
    size_t host;
    int k, round;

    for (k = 0; k < 2; k++) {
        struct gr_gpu_slab *slab = lease_one(s.pool, places[k], SLAB_BYTES);

        export_to(&p, s.pool, slab);
        heard(&p, 0);
        lost[k] = slab->at;
        gr_gpu_pool_release(s.pool, slab, 1);
    }
    kill(p.pid, SIGKILL);
    (void) child_status(p.pid);
    host = gr_pool_usage(s.host).leased;
    for (round = 0; round < 5; round++) {
        for (k = 0; k < 2; k++) {
            struct gr_gpu_slab *slab = lease_one(s.pool, places[k], SLAB_BYTES);

            CHECK(slab->at != lost[k]);
            gr_gpu_pool_release(s.pool, slab, 0);
        }
    }
    CHECK(gpu_pool_usage(s.pool).leased >= SLAB_BYTES);
    CHECK(0 != host && host == gr_pool_usage(s.host).leased);
    close_side(&s);
}

/* ---- pinned pages inside the process ---- */

/* Pages are pinned once, whoever uses them, and as long as anybody does. */
static void pools_share_pinned_pages(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu *second = get_gpu(s.gpus, 1);
    struct gr_gpu_pool *other = gr_gpu_pool_open(second, s.host, 0);
    struct gr_gpu_slab *slab = lease_one(s.pool, GR_ON_HOST, SLAB_BYTES);
    struct gr_gpu_slab_handle handle = gr_gpu_pool_export(s.pool, slab);
    struct gr_gpu_mapped mapped = map(other, &handle), again = map(s.pool, &handle);
    void *at = (void *) (uintptr_t) mapped.at;

    CHECK_INT(gpu_pool_usage(other).held, 0);
    CHECK_INT(mapped.at, again.at);
    CHECK_INT(slab->at % 4096, 0);
    fill(second, mapped.at, 3, SLAB_BYTES);
    CHECK(holds(s.gpu, slab->at, 3, SLAB_BYTES));
    CHECK_INT(gr_pointer_find(s.gpus, at).memory, GR_MEMORY_PINNED);
    gr_gpu_pool_close(s.pool);
    CHECK_INT(gr_pointer_find(s.gpus, at).memory, GR_MEMORY_PINNED);
    gr_gpu_pool_close(other);
    CHECK_INT(gr_pointer_find(s.gpus, at).memory, GR_MEMORY_HOST);
    s.pool = NULL;
    close_side(&s);
}

static void pinned_slabs_begin_clean(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    int round;

    for (round = 0; round < 3; round++) {
        struct gr_gpu_slab *slab = lease_one(s.pool, GR_ON_HOST, SLAB_BYTES);

        CHECK(holds(s.gpu, slab->at, 0, 2 * LINE));
        CHECK(0 == round || holds(s.gpu, slab->at + 2 * LINE, 5, SLAB_BYTES - 2 * LINE));
        fill(s.gpu, slab->at, 5, SLAB_BYTES);
        gr_gpu_pool_release(s.pool, slab, 0);
    }
    close_side(&s);
}

/* Such handles are not from our own code; they must not pin what is not the slab's. */
static void handles_beyond_the_segment(void)
{
    struct side s = open_side(0, 0, 64 * MIB);
    struct gr_gpu_slab_handle handle = gr_gpu_pool_export(
                                  s.pool, lease_one(s.pool, GR_ON_HOST, SLAB_BYTES)),
                              bad = handle;
    struct gr_gpu_mapped mapped;

    bad.arena = handle.host.segment_bytes;
    CHECK_INT(gr_gpu_pool_map(s.pool, &bad, &mapped), GR_ERR_FOREIGN);
    bad = handle;
    bad.offset = handle.host.segment_bytes + 1;
    CHECK_INT(gr_gpu_pool_map(s.pool, &bad, &mapped), GR_ERR_FOREIGN);
    (void) map(s.pool, &handle);
    close_side(&s);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(slabs_on_one_device, NULL),
        ROW(slabs_of_a_device_that_the_peer_does_not_see, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=all"),
        ROW(slabs_on_devices_that_reach_each_other, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=all"),
        ROW_AS("only_pinned_pages, the devices are apart", only_pinned_pages,
               "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
        ROW_AS("only_pinned_pages, no IPC", only_pinned_pages,
               "FAKECUDA_DEVICES=2 FAKECUDA_IPC=none"),
        ROW(every_arena_is_opened_once, NULL),
        ROW(slabs_of_a_killed_peer_stay_out, NULL),
        ROW(pools_share_pinned_pages, "FAKECUDA_DEVICES=2"),
        ROW(pinned_slabs_begin_clean, NULL),
        ROW(handles_beyond_the_segment, NULL),
    };

    return RUN_ROWS(rows, argc, argv);
}
