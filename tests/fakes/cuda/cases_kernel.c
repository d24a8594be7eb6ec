/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: kernels, and errors of kernels. */
#include "cases.h"

enum { THREADS = 544, BLOCKS = 4, ROUNDS = 40 };

static void bad_launches(void)
{
    CUfunction f = (begin(0), kernel("nothing"));
    void *extra[] = {NULL};

    IS(ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
    IS(ERROR_INVALID_VALUE, cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    IS(ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 65536, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    IS(ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 16, NULL, NULL, NULL));
    IS(ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    IS(ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    IS(ERROR_INVALID_VALUE,
       cuLaunchKernel(kernel("load_word"), 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

/* A message is handed on 40 times; HAND_OVER_BUG: what is left out (test_kernels.cu). */
static void hand_over(void)
{
    const char *threads_word = getenv("HAND_OVER_THREADS"), *bug_word = getenv("HAND_OVER_BUG");
    const unsigned threads = NULL == threads_word ? THREADS : (unsigned) atoi(threads_word);
    CUdeviceptr links = (begin(0), zeros(BLOCKS / 2 * 4096 * 8)), out = zeros(8 * BLOCKS * threads);
    uint64_t rounds = ROUNDS, got[BLOCKS * THREADS];
    int bug = NULL == bug_word ? 0 : atoi(bug_word);

    launch("hand_over", BLOCKS, threads, NULL, (void *[]) {&links, &out, &rounds, &bug});
    OK(cuMemcpyDtoH(got, out, 8 * BLOCKS * threads));
    for (uint64_t i = 0; i < BLOCKS * threads; i++) {
        const uint64_t t = i % threads, reader = i / threads % 2;
        CHECK(got[i] == reader * (1000 * rounds * (rounds + 1) / 2 + rounds * t));
    }
}

/* Threads look at what their neighbour stores, with no barrier: some order shows each outcome. */
static void no_barrier(void)
{
    CUdeviceptr out = (begin(0), zeros(8 * THREADS));
    uint64_t got[THREADS], seen = 0;

    launch("no_barrier", 1, THREADS, NULL, (void *[]) {&out});
    OK(cuMemcpyDtoH(got, out, sizeof(got)));
    for (int i = 0; i < THREADS; i++) {
        seen += 0 != got[i];
    }
    printf("%llu neighbours had stored\n", (unsigned long long) seen);
}

static void wrong(const char *name)
{
    begin(0);
    launch(name, 1, 32, NULL, NULL);
}
static void barrier_after_exit(void)
{
    wrong("barrier_after_exit");
}
static void barriers_mixed(void)
{
    wrong("barriers_mixed");
}
static void warp_masks_differ(void)
{
    wrong("warp_masks_differ");
}
static void warp_lane_missing(void)
{
    wrong("warp_lane_missing");
}

/* On a GPU nothing is left of a word that is shifted by all its bits. */
static void shift_too_far(void)
{
    CUdeviceptr at = (begin(0), zeros(4));
    uint32_t bits = 31;

    launch("shift_word", 1, 1, NULL, (void *[]) {&at, &bits});
    fprintf(stderr, "so far so good\n");
    bits = 32;
    launch("shift_word", 1, 1, NULL, (void *[]) {&at, &bits});
}

static void deep_stack(void)
{
    CUdeviceptr out = (begin(0), zeros(8));
    int depth = 1;

    launch("deep_stack", 1, 1, NULL, (void *[]) {&out, &depth});
}

/* For a build with AddressSanitizer. */
static void local_overrun(void)
{
    CUdeviceptr out = (begin(0), zeros(8));
    int index = 8;

    launch("local_overrun", 1, 1, NULL, (void *[]) {&out, &index});
}

/* How many of the blocks have begun. */
static unsigned begun(CUdeviceptr seen, unsigned blocks)
{
    unsigned n = 0;

    for (unsigned i = 0; i < blocks; i++) {
        n += 1 == word_at(seen + 8 * i);
    }
    return n;
}

/*
 * Blocks of so many threads that wait until the host lets them go: `fit` of them begin, and no
 * others.
 */
static void launch_waiting(CUdeviceptr flag, unsigned blocks, unsigned threads, unsigned fit,
                           CUstream s)
{
    CUdeviceptr seen = zeros(8 * blocks);
    uint64_t one = 1;

    OK(cuLaunchKernel(kernel("wait_for"), blocks, 1, 1, threads, 1, 1, 0, s,
                      (void *[]) {&flag, &one, &seen}, NULL));
    while (begun(seen, blocks) < fit) {
        usleep(1000);
    }
    usleep(300000);
    CHECK(fit == begun(seen, blocks));
}

/* FAKECUDA_SMS=3 */
static void residency(void)
{
    CUdeviceptr flag = (begin(0), zeros(8));
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);

    launch_waiting(flag, 5, 544, 3, s);
    set_word(flag, 1); /* those exit, the others begin */
    OK(cuStreamSynchronize(s));
    set_word(flag, 0);
    launch_waiting(flag, 8, 512, 6, s);
    set_word(flag, 1);
    OK(cuStreamSynchronize(s));
}

/* FAKECUDA_SMS=1: a kernel waits for ever for one that has no room beside it. */
static void hostage(void)
{
    CUdeviceptr words = (begin(0), zeros(24)), seen = words + 8, other = words + 16;
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING), t = new_stream(CU_STREAM_NON_BLOCKING);
    uint64_t one = 1;

    /* the first waits for the word that the second stores when it begins */
    OK(cuLaunchKernel(kernel("wait_for"), 1, 1, 1, 544, 1, 1, 0, s,
                      (void *[]) {&other, &one, &seen}, NULL));
    while (1 != word_at(seen)) {
        usleep(1000);
    }
    OK(cuLaunchKernel(kernel("wait_for"), 1, 1, 1, 544, 1, 1, 0, t,
                      (void *[]) {&seen, &one, &other}, NULL));
    OK(cuStreamSynchronize(t));
    OK(cuStreamSynchronize(s));
}

const struct test_case kernel_cases[] = {
    {"bad_launches", bad_launches},
    {"hand_over", hand_over},
    {"no_barrier", no_barrier},
    {"barrier_after_exit", barrier_after_exit},
    {"barriers_mixed", barriers_mixed},
    {"warp_masks_differ", warp_masks_differ},
    {"warp_lane_missing", warp_lane_missing},
    {"shift_too_far", shift_too_far},
    {"deep_stack", deep_stack},
    {"local_overrun", local_overrun},
    {"residency", residency},
    {"hostage", hostage},
    {NULL, NULL},
};
