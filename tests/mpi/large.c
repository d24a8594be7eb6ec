/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of more than 2^31 elements (before MPI-4: bytes) on two ranks, once per collective. Inputs
 * repeat a pattern of some pages, which is mapped again and again, so they take no memory. The
 * period is no power of two: an offset that has lost its upper bits shows.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memfd_create */
#endif
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rng.h"
#include "tap.h"

#define RANKS 2
#define PERIOD ((size_t) 16411 * 4096) /* bytes */

/* An element, and the functions whose counts go beyond the limit. */
#if MPI_VERSION >= 4
typedef int8_t element;
#define TYPE MPI_INT8_T
#define CALL(Name, ...) MPI_##Name##_c(__VA_ARGS__)
typedef MPI_Count count_t;
typedef MPI_Aint displ_t;
#else
typedef int32_t element;
#define TYPE MPI_INT32_T
#define CALL(Name, ...) MPI_##Name(__VA_ARGS__)
typedef int count_t, displ_t;
#endif
#define COUNT ((count_t) (((size_t) 1 << 31) / sizeof(element) + 5001))

static unsigned char *patterns[RANKS + 1]; /* of the ranks, and their sum */
static unsigned char *in, *out;            /* room for RANKS blocks each */

static size_t room(void)
{
    size_t bytes = RANKS * ((size_t) COUNT + 64) * sizeof(element);

    return (bytes / PERIOD + 1) * PERIOD;
}

/* This rank's pattern, over and over. NULL: not to be had. */
static unsigned char *make_input(void)
{
    int file = memfd_create("pattern", 0);
    unsigned char *at = mmap(NULL, room(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool ok = file >= 0 && MAP_FAILED != at &&
              (ssize_t) PERIOD == write(file, patterns[test_rank], PERIOD);

    for (size_t done = 0; ok && done < room(); done += PERIOD) {
        ok = MAP_FAILED !=
             mmap(at + done, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    return ok ? at : NULL;
}

static void make_patterns(void)
{
    for (int r = 0; r < RANKS; r++) {
        uint64_t rng = rng_key(test_seed, 40, (uint64_t) r);

        patterns[r] = malloc(PERIOD);
        for (size_t k = 0; k < PERIOD; k += sizeof(uint64_t)) {
            uint64_t bits = rng_next(&rng);

            memcpy(patterns[r] + k, &bits, sizeof bits);
        }
    }
    patterns[RANKS] = malloc(PERIOD);
    for (size_t k = 0; k < PERIOD / sizeof(element); k++) {
        element a[RANKS], sum;

        memcpy(&a[0], patterns[0] + k * sizeof sum, sizeof sum);
        memcpy(&a[1], patterns[1] + k * sizeof sum, sizeof sum);
        sum = (element) ((uint32_t) a[0] + (uint32_t) a[1]);
        memcpy(patterns[RANKS] + k * sizeof sum, &sum, sizeof sum);
    }
}

/* Whether n elements of the output, from `at` on, are the pattern from its element `first` on. */
static bool is(size_t at, size_t n, int pattern, size_t first)
{
    size_t bytes = n * sizeof(element), k = 0, phase = first * sizeof(element) % PERIOD;

    while (k < bytes) {
        size_t part = PERIOD - phase < bytes - k ? PERIOD - phase : bytes - k;

        if (0 != memcmp(out + at * sizeof(element) + k, patterns[pattern] + phase, part)) {
            tap_fault("rank %d: wrong within %zu bytes from byte %zu on", test_rank, part,
                      at * sizeof(element) + k);
            return false;
        }
        k += part;
        phase = 0;
    }
    return true;
}

static bool allreduce(void)
{
    CALL(Allreduce, in, out, COUNT, TYPE, MPI_SUM, MPI_COMM_WORLD);
    return is(0, (size_t) COUNT, RANKS, 0);
}

static bool reduce(void)
{
    CALL(Reduce, in, out, COUNT, TYPE, MPI_SUM, 1, MPI_COMM_WORLD);
    return 1 != test_rank || is(0, (size_t) COUNT, RANKS, 0);
}

static bool bcast(void)
{
    CALL(Bcast, 1 == test_rank ? in : out, COUNT, TYPE, 1, MPI_COMM_WORLD);
    return 1 == test_rank || is(0, (size_t) COUNT, 1, 0);
}

static bool allgather(void)
{
    CALL(Allgather, in, COUNT, TYPE, out, COUNT, TYPE, MPI_COMM_WORLD);
    return is(0, (size_t) COUNT, 0, 0) && is((size_t) COUNT, (size_t) COUNT, 1, 0);
}

static bool allgatherv(void)
{
    const count_t counts[RANKS] = {COUNT, COUNT - 7};
    const displ_t displs[RANKS] = {(displ_t) (COUNT + 3), 0};

    CALL(Allgatherv, in, counts[test_rank], TYPE, out, counts, displs, TYPE, MPI_COMM_WORLD);
    return is((size_t) displs[0], (size_t) counts[0], 0, 0) && is(0, (size_t) counts[1], 1, 0);
}

static bool reduce_scatter(void)
{
    const count_t counts[RANKS] = {COUNT, COUNT / 3};

    CALL(Reduce_scatter, in, out, counts, TYPE, MPI_SUM, MPI_COMM_WORLD);
    return is(0, (size_t) counts[test_rank], RANKS, 0 == test_rank ? 0 : (size_t) counts[0]);
}

static bool reduce_scatter_block(void)
{
    CALL(Reduce_scatter_block, in, out, COUNT, TYPE, MPI_SUM, MPI_COMM_WORLD);
    return is(0, (size_t) COUNT, RANKS, (size_t) test_rank * (size_t) COUNT);
}

static bool alltoall(void)
{
    size_t first = (size_t) test_rank * (size_t) COUNT;

    CALL(Alltoall, in, COUNT, TYPE, out, COUNT, TYPE, MPI_COMM_WORLD);
    return is(0, (size_t) COUNT, 0, first) && is((size_t) COUNT, (size_t) COUNT, 1, first);
}

static const struct {
    const char *name;
    bool (*call)(void);
} calls[] = {
    {"Allreduce", allreduce},
    {"Reduce", reduce},
    {"Bcast", bcast},
    {"Allgather", allgather},
    {"Allgatherv", allgatherv},
    {"Reduce_scatter", reduce_scatter},
    {"Reduce_scatter_block", reduce_scatter_block},
    {"Alltoall", alltoall},
};

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    make_patterns();
    in = make_input();
    out = malloc(room());
    if (RANKS != test_size || NULL == in || NULL == out) {
        printf("two ranks, and memory for the buffers\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        double begin = seconds_now();

        memset(out, 0x5a, room());
        tap_check(calls[k].call(), "%s of %lld elements, of %zu bytes each", calls[k].name,
                  (long long) COUNT, sizeof(element));
        tap_note("%.1f s", seconds_now() - begin);
    }
    return test_end();
}
