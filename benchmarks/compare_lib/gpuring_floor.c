/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_floor: the least time that the hardware takes for the parts of a collective, between two
 * processes on two processors. No MPI. Prints CSV, a row per measure and size: measure, bytes, us
 * (the best of several), GBs.
 *
 *   exchange  both write a cache line and wait for the other's
 *   direct    one copies a block out of memory that it shares with the other
 *   cma       one copies a block out of the other's own memory, by process_vm_readv; no row where
 *             that is refused
 *   double    the other copies a block into slots of shared memory while one copies it out of them
 *
 * The other has written the block once, before: benchmarks do not write theirs between two calls
 * either, so blocks that fit the reader's caches are read from there. docs/measuring.md derives the
 * floor of a collective from these. Blocks for which there is too little memory are left out.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* sched_setaffinity, process_vm_readv */
#endif
#include "common/available.h"
#include "common/clock.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 64, APART = 128 }; /* lines are fetched in pairs */
enum { BATCHES = 40, BATCH = 500, COPIES = 15 };
enum { SLOTS = 8, SLOT_BYTES = 32 << 10, LEAST_CHUNK = 4 << 10 };
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };
enum { READER = 0, WRITER = 1 };
enum { NEEDED = 4 }; /* bytes for each byte of a block, with some to spare */

struct counter {
    alignas(APART) atomic_ulong value; /* has one writer, and only grows */
};

struct shared {
    struct counter met[2];
    struct counter filled, drained; /* chunks, since the start */
    alignas(APART) char slots[SLOTS][SLOT_BYTES];
};

/* One of the two processes. Both run the same measures in the same order. */
struct side {
    int me; /* READER or WRITER */
    unsigned long meetings, chunks;
    struct shared *shared;
    char *block; /* the writer's, shared */
    char *own;   /* the writer's, at this address in the writer only */
    char *copy;  /* the reader's */
    pid_t writer;
};

static void put(struct counter *counter, unsigned long value)
{
    atomic_store_explicit(&counter->value, value, memory_order_release);
}

static void await(const struct counter *counter, unsigned long value)
{
    while (atomic_load_explicit(&counter->value, memory_order_acquire) < value) {
    }
}

/* Returns when both are here: one exchange of a line. */
static void meet(struct side *side)
{
    side->meetings++;
    put(&side->shared->met[side->me], side->meetings);
    await(&side->shared->met[!side->me], side->meetings);
}

static double exchange(struct side *side)
{
    double best = INFINITY;

    for (int b = 0; b < BATCHES; b++) {
        double start = clock_us(), us;

        for (int i = 0; i < BATCH; i++) {
            meet(side);
        }
        us = (clock_us() - start) / BATCH;
        best = us < best ? us : best;
    }
    return best;
}

/* ---- methods that copy a block to the reader; both sides call them; 0, or -1: refused ---- */

static int copy_direct(struct side *side, size_t bytes)
{
    if (READER == side->me) {
        memcpy(side->copy, side->block, bytes);
    }
    return 0;
}

static int copy_cma(struct side *side, size_t bytes)
{
    for (size_t done = 0; READER == side->me && done < bytes;) {
        struct iovec to = {side->copy + done, bytes - done},
                     from = {side->own + done, bytes - done};
        ssize_t n = process_vm_readv(side->writer, &to, 1, &from, 1, 0);

        if (n <= 0) {
            return -1;
        }
        done += (size_t) n;
    }
    return 0;
}

static int copy_double(struct side *side, size_t bytes)
{
    struct shared *s = side->shared;
    size_t chunk = bytes / SLOTS;

    chunk = chunk < LEAST_CHUNK ? LEAST_CHUNK : chunk > SLOT_BYTES ? SLOT_BYTES : chunk;
    for (size_t done = 0; done < bytes; done += chunk, side->chunks++) {
        char *slot = s->slots[side->chunks % SLOTS];
        size_t n = bytes - done < chunk ? bytes - done : chunk;

        if (WRITER == side->me) {
            await(&s->drained, side->chunks < SLOTS ? 0 : side->chunks - SLOTS + 1);
            memcpy(slot, side->own + done, n);
            put(&s->filled, side->chunks + 1);
        } else {
            await(&s->filled, side->chunks + 1);
            memcpy(side->copy + done, slot, n);
            put(&s->drained, side->chunks + 1);
        }
    }
    return 0;
}

static const struct {
    const char *name;
    int (*copy)(struct side *side, size_t bytes);
} methods[] = {{"direct", copy_direct}, {"cma", copy_cma}, {"double", copy_double}};

/* The reader's best time in microseconds; NAN: refused. */
static double time_copies(struct side *side, int (*copy)(struct side *side, size_t bytes),
                          size_t bytes)
{
    double best = INFINITY, start, us;
    bool refused = false;

    for (int i = -1; i < COPIES; i++) { /* the first is not counted */
        meet(side);
        start = clock_us();
        refused = 0 != copy(side, bytes) || refused;
        us = clock_us() - start;
        best = i >= 0 && us < best ? us : best;
    }
    return refused ? NAN : best;
}

static void print_row(const struct side *side, const char *measure, size_t bytes, double us)
{
    if (READER == side->me && !isnan(us)) {
        printf("%s,%zu,%.4f,%.4f\n", measure, bytes, us, (double) bytes / us * 1e-3);
    }
}

static void run(struct side *side, size_t least, size_t most)
{
    if (WRITER == side->me) {
        memset(side->block, 1, most);
        memset(side->own, 1, most);
    } else {
        memset(side->copy, 2, most);
        printf("measure,bytes,us,GBs\n");
    }
    meet(side);
    print_row(side, "exchange", LINE, exchange(side));
    for (size_t bytes = least; bytes <= most; bytes *= 2) {
        for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++) {
            print_row(side, methods[k].name, bytes, time_copies(side, methods[k].copy, bytes));
        }
    }
}

/* ---- processes ---- */

static int stay_on(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t) cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

/* The first two processors that this process may use. Returns 0, or -1 where there are not two. */
static int default_cpus(int cpus[2])
{
    cpu_set_t set;
    int found = 0;

    if (0 != sched_getaffinity(0, sizeof set, &set)) {
        return -1;
    }
    for (int c = 0; c < CPU_SETSIZE && found < 2; c++) {
        if (CPU_ISSET((size_t) c, &set)) {
            cpus[found++] = c;
        }
    }
    return 2 == found ? 0 : -1;
}

static void *map(size_t bytes, int kind)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

    return MAP_FAILED == p ? NULL : p;
}

static int fail(const char *what)
{
    fprintf(stderr, "gpuring_floor: %s: %s\n", what, strerror(errno));
    return EXIT_WRONG;
}

static int run_both(const int cpus[2], size_t least, size_t most)
{
    struct side side = {.shared = map(sizeof(struct shared), MAP_SHARED),
                        .block = map(most, MAP_SHARED),
                        .own = map(most, MAP_PRIVATE),
                        .copy = map(most, MAP_PRIVATE)};
    pid_t parent = getpid();
    int status;

    if (NULL == side.shared || NULL == side.block || NULL == side.own || NULL == side.copy) {
        return fail("memory");
    }
    if (0 != stay_on(cpus[WRITER]) || (side.writer = fork()) < 0) {
        return fail("the second process");
    }
    if (0 == side.writer) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it waits without an end */
        if (getppid() == parent) {
            side.me = WRITER;
            run(&side, least, most);
        }
        _exit(EXIT_RIGHT);
    }
    if (0 != stay_on(cpus[READER])) {
        status = fail("the first process");
        kill(side.writer, SIGKILL);
        return status;
    }
    run(&side, least, most);
    waitpid(side.writer, &status, 0);
    return 0 == fflush(stdout) && !ferror(stdout) ? EXIT_RIGHT : fail("output");
}

int main(int argc, char **argv)
{
    size_t least = 64 << 10, most = 16 << 20;
    int cpus[2], option;
    char rest;

    if (0 != default_cpus(cpus)) {
        fprintf(stderr, "gpuring_floor: one processor only: there is no other to exchange with\n");
        return EXIT_WRONG;
    }
    while (-1 != (option = getopt(argc, argv, "c:m:"))) {
        if ('c' == option && 2 == sscanf(optarg, "%d,%d%c", &cpus[0], &cpus[1], &rest) &&
            cpus[0] >= 0 && cpus[1] >= 0 && cpus[0] < CPU_SETSIZE && cpus[1] < CPU_SETSIZE &&
            cpus[0] != cpus[1]) {
            continue;
        }
        if ('m' == option && 2 == sscanf(optarg, "%zu:%zu%c", &least, &most, &rest) &&
            least >= LINE && most >= least && most <= (size_t) 1 << 40) {
            continue;
        }
        fprintf(
            stderr,
            "usage: gpuring_floor [-c CPU,CPU] [-m MIN:MAX], two processors, bytes from %d on\n",
            LINE);
        return EXIT_USAGE;
    }
    while (most > least && most > available_bytes() / NEEDED) {
        most /= 2;
    }
    return run_both(cpus, least, most);
}
