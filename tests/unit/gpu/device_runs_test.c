/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of many runs (cuda/stream.h): runs that are rows of a rectangle become one copy. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cuda/device.h"
#include "cuda/stream.h"
#include "device_app.h"

enum { BYTES = 400, MOST = 6 };

static __typeof__(&cuMemcpyAsync) copy_one;
static __typeof__(&cuMemcpy2DAsync) copy_rows;
static int ones, rectangles;

static CUresult CUDAAPI count_one(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ones++;
    return copy_one(to, from, bytes, stream);
}

static CUresult CUDAAPI count_rows(const CUDA_MEMCPY2D *c, CUstream stream)
{
    rectangles++;
    return copy_rows(c, stream);
}

/* Runs, as offsets on both sides; and in how many copies they are done. */
struct list {
    size_t n;
    struct {
        size_t dst, src, bytes;
    } runs[MOST];
    int ones, rectangles;
};

static void check_list(struct gr_gpu *gpu, const struct list *list, unsigned char *dst,
                       unsigned char *src)
{
    unsigned char want[BYTES], got[BYTES];
    struct gr_gpu_run runs[MOST], next;
    size_t k, n = 0;

    app_fill(dst, 1, BYTES);
    app_fill(src, 77, BYTES);
    CHECK_INT(gr_gpu_copy(gpu, want, dst, BYTES), 0);
    CHECK_INT(gr_gpu_copy(gpu, got, src, BYTES), 0);
    for (k = 0; k < list->n; k++) {
        memcpy(want + list->runs[k].dst, got + list->runs[k].src, list->runs[k].bytes);
        next = (struct gr_gpu_run) {.dst = dst + list->runs[k].dst,
                                    .src = src + list->runs[k].src,
                                    .bytes = list->runs[k].bytes};
        if (0 == n || !gr_gpu_run_join(&runs[n - 1], &next)) {
            runs[n++] = next;
        }
    }
    ones = rectangles = 0;
    CHECK_INT(gr_gpu_copy_runs(gpu, runs, n), 0);
    CHECK_INT(ones, list->ones);
    CHECK_INT(rectangles, list->rectangles);
    CHECK_INT(gr_gpu_copy(gpu, got, dst, BYTES), 0);
    CHECK_INT(memcmp(want, got, BYTES), 0);
}

static void runs_that_are_rows_are_one_copy(void)
{
    static const struct list lists[] = {
        {4, {{0, 3, 5}, {7, 13, 5}, {14, 23, 5}, {21, 33, 5}}, 0, 1},
        /* one side without gaps */
        {2, {{0, 0, 5}, {5, 9, 5}}, 0, 1},
        {1, {{9, 4, 30}}, 1, 0},
        /* one behind the other */
        {3, {{9, 4, 30}, {39, 34, 1}, {40, 35, 7}}, 1, 0},
        {4, {{0, 0, 4}, {10, 10, 4}, {14, 14, 4}, {24, 24, 4}}, 0, 2},
        {3, {{0, 0, 4}, {10, 4, 4}, {20, 8, 4}}, 0, 1},
        {3, {{20, 20, 5}, {10, 10, 5}, {0, 0, 5}}, 3, 0}, /* downwards */
        /* over each other */
        {3, {{0, 0, 9}, {5, 20, 9}, {10, 40, 9}}, 3, 0},
        {3, {{0, 0, 9}, {20, 5, 9}, {40, 10, 9}}, 3, 0},
        /* the distance changes */
        {5, {{0, 0, 4}, {10, 10, 4}, {20, 21, 4}, {30, 32, 4}, {40, 43, 4}}, 0, 2},
        /* the length does */
        {4, {{0, 0, 4}, {10, 10, 4}, {20, 20, 5}, {30, 30, 5}}, 0, 2},
        {3, {{0, 0, 4}, {50, 50, 0}, {100, 100, 4}}, 2, 0},
        {0, {{0, 0, 0}}, 0, 0},
    };
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned char *memory[APP_KINDS];
    size_t k;
    int a, b;

    app_use(0);
    copy_one = gpus->cuda.cuMemcpyAsync;
    copy_rows = gpus->cuda.cuMemcpy2DAsync;
    gpus->cuda.cuMemcpyAsync = count_one;
    gpus->cuda.cuMemcpy2DAsync = count_rows;
    for (a = 0; a < APP_KINDS; a++) {
        memory[a] = app_memory(a, APP_BYTES);
    }
    for (a = 0; a < APP_KINDS; a++) {
        for (b = 0; b < APP_KINDS; b++) {
            for (k = 0; k < sizeof(lists) / sizeof(lists[0]) && a != b; k++) {
                check_list(gpu, &lists[k], memory[a], memory[b]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        GPU_ROW(runs_that_are_rows_are_one_copy, NULL),
        GPU_ROW(runs_that_are_rows_are_one_copy, "FAKECUDA_DELAY=1"),
    };

    return RUN_ROWS(rows, argc, argv);
}
