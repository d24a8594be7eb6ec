/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements of costs.h. */
#include "costs.h"

#include "common/clock.h"
#include "common/fit.h"
#include "common/options.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"
#include "cuda/stream.h"

#include <stdlib.h>

enum { FINDS = 20000, ALLOCATIONS = 300, LAUNCHES = 200, COPY_ROUNDS = 5, COPIES = 8 };

/* ---- classification ---- */

/* Nanoseconds per call, with n pointers in turn. -1: an answer is wrong. */
static double time_finds(struct gr_gpus *gpus, const char *const *pointers, int n,
                         enum gr_memory right)
{
    int wrong = 0;
    double start = clock_us();

    for (int i = 0; i < FINDS; i++) {
        wrong += right != gr_pointer_find(gpus, pointers[i % n] + i % 64).memory;
    }
    return 0 == wrong ? (clock_us() - start) * 1e3 / FINDS : -1;
}

static int measure_finds(struct costs *costs, struct gr_gpus *gpus, struct gr_gpu *gpu)
{
    const char *pointers[ALLOCATIONS], *host = malloc(4096);
    int n = 0, rc = 0;

    for (gr_gpu_ptr at; n < ALLOCATIONS && 0 == rc; n += 0 == rc) {
        rc = gr_gpu_alloc(gpu, 4096, &at);
        pointers[n] = (const char *) (uintptr_t) at;
    }
    if (0 == rc && NULL != host) {
        costs->hit_ns = time_finds(gpus, pointers, 1, GR_MEMORY_DEVICE);
        costs->other_ns = time_finds(gpus, pointers, n, GR_MEMORY_DEVICE);
        costs->host_ns = time_finds(gpus, &host, 1, GR_MEMORY_HOST);
    }
    while (n > 0) {
        gr_gpu_free(gpu, (gr_gpu_ptr) (uintptr_t) pointers[--n]);
    }
    rc = NULL == host ? GR_ERR_NOMEM : rc;
    free((void *) (uintptr_t) host);
    return rc;
}

/* ---- launches ---- */

/* Polls until the launch is done: GR_DONE, GR_AGAIN where the block left, or an error. */
static int await(struct seat *seat)
{
    uint64_t moved = 0;
    int rc;

    do {
        rc = gr_gpu_op_poll(&seat->op, &moved);
    } while (GR_AGAIN == rc && seat->op.launched);
    return rc;
}

/* Launches at once: without the pause that follows launches without progress. */
static int launch(struct seat *seat)
{
    uint64_t moved = 0;

    seat->op.pause = 0;
    return gr_gpu_op_poll(&seat->op, &moved);
}

static double median(double *values, int n)
{
    fit_sort(values, n);
    return fit_percentile(values, n, 50);
}

/* Calls of no elements: every channel is done at once. */
static int measure_launches(struct costs *costs, struct seat *seat, struct gr_plan_spec spec)
{
    static const gr_gpu_ptr space[3];
    double put[LAUNCHES], done[LAUNCHES];
    int rc = GR_DONE;

    spec.total = 0;
    for (int i = 0; GR_DONE == rc && i < LAUNCHES; i++) {
        double start;
        rc = world_begin(seat, &spec, GR_KERNEL_copy, space, 1000, NULL);
        start = clock_us();
        rc = 0 == rc ? launch(seat) : rc;
        put[i] = clock_us() - start;
        rc = GR_AGAIN == rc ? await(seat) : rc;
        done[i] = clock_us() - start;
    }
    costs->put_us = median(put, LAUNCHES);
    costs->launch_us = median(done, LAUNCHES);
    return GR_DONE == rc ? 0 : GR_ERR_CUDA;
}

/*
 * Rank 1 of a broadcast begins, and leaves at the first poll, again and again; then comes rank 0.
 */
static int measure_leaving(struct costs *costs, struct world *w, const struct gr_plan_spec *spec,
                           gr_gpu_ptr data)
{
    gr_gpu_ptr space[3] = {data, data, 0};
    struct seat *root = &w->seats[0], *waits = &w->seats[1];
    double us[LAUNCHES];
    int rc = world_begin(waits, spec, GR_KERNEL_copy, space, 1, NULL);

    for (int i = 0; 0 == rc && i < LAUNCHES; i++) {
        double start = clock_us();
        rc = GR_AGAIN == launch(waits) && GR_AGAIN == await(waits) ? 0 : GR_ERR_CUDA;
        us[i] = clock_us() - start;
    }
    costs->again_us = median(us, LAUNCHES);
    rc = 0 == rc ? world_begin(root, spec, GR_KERNEL_copy, space, 1, NULL) : rc;
    if (0 != rc) {
        return rc;
    }
    return GR_AGAIN == launch(root) && GR_DONE == await(root) && GR_AGAIN == launch(waits) &&
                   GR_DONE == await(waits)
               ? 0
               : GR_ERR_CUDA;
}

struct work {
    struct costs *costs;
    struct gr_gpu *gpu;
};

static int measure_kernels(struct crew *crew, void *ctx)
{
    struct work *work = ctx;
    struct world_shape shape = {
        .algo = GR_ALGO_CHAIN, .channels = 1, .slots = 2, .slot_bytes = 4096};
    struct gr_plan_spec spec = {
        .coll = GR_COLL_BCAST, .algo = GR_ALGO_CHAIN, .nchannels = 1, .elem_bytes = 1, .total = 64};
    struct world world;
    gr_gpu_ptr data = 0;
    int rc;

    rc = world_open(&world, crew, work->gpu, &shape);
    rc = 0 == rc ? gr_gpu_alloc(work->gpu, 64, &data) : rc;
    rc = 0 == rc ? measure_launches(work->costs, &world.seats[0], spec) : rc;
    rc = 0 == rc ? measure_leaving(work->costs, &world, &spec, data) : rc;
    world_close(&world);
    if (0 != data) {
        gr_gpu_free(work->gpu, data);
    }
    return 0 != rc;
}

int costs_measure(struct costs *costs, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error)
{
    struct work work = {costs, gpu};

    if (0 != measure_finds(costs, gpus, gpu) ||
        0 != crew_run(2, 0, world_board_bytes(2, 1), measure_kernels, &work)) {
        snprintf(error, CLI_ERROR_CHARS, "costs: %s", gr_gpu_error());
        return -1;
    }
    if (costs->hit_ns < 0 || costs->other_ns < 0 || costs->host_ns < 0) {
        snprintf(error, CLI_ERROR_CHARS,
                 "costs: a pointer was classified as another kind of memory");
        return -1;
    }
    return 0;
}

/* ---- the copy rate ---- */

double costs_copy_rate(struct gr_gpu *gpu, size_t footprint)
{
    struct gr_gpu_stream *stream = NULL;
    size_t half = footprint / 2;
    gr_gpu_ptr at = 0;
    double best = 0;
    int rc;

    rc = half > 0 ? gr_gpu_stream_open(gpu, &stream) : -1;
    rc = 0 == rc ? gr_gpu_alloc(gpu, 2 * half, &at) : rc;
    for (int i = 0; 0 == rc && i < COPY_ROUNDS; i++) {
        double start = clock_us(), rate;
        /* several, so that the wait for the last counts little */
        for (int k = 0; 0 == rc && k < COPIES; k++) {
            rc = gr_gpu_stream_copy(stream, at + half, at, half);
        }
        while (0 == rc) {
            rc = gr_gpu_stream_done(stream);
        }
        rate = 2.0 * (double) half * COPIES / (clock_us() - start) * 1e6;
        best = 1 == rc && rate > best ? rate : best;
        rc = 1 == rc ? 0 : rc;
    }
    gr_gpu_stream_close(stream);
    if (0 != at) {
        gr_gpu_free(gpu, at);
    }
    return 0 == rc ? best : 0;
}
