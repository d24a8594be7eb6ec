/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures a machine: two threads on two processors do what two ranks do. This one receives, the
 * other one sends. Both run the same measures in the same order, and meet before each.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "tune/measure.h"

#include "base/cma.h"
#include "base/errors.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RECEIVER, SENDER };
enum { MOST_BYTES = 2 << 20 };
enum { SLOTS = 4, SLOT_BYTES = 64 << 10 }; /* defaults of the parameters */
enum { ROUNDS = 100, BATCHES = 4, CALLS = 20 };
enum { APART = 128 }; /* lines are fetched in pairs */

/* How often each size is copied; the best counts. */
static const int copies[GR_MACHINE_SIZES] = {4, 3, 2, 2};

struct counter {
    alignas(APART) atomic_ulong value; /* has one writer, and only grows */
};

/* What both threads see. In memory as links have it, which processes share. */
struct shared {
    struct counter met[2];           /* [side]: how often it has come to meet the other */
    struct counter filled[2];        /* [sender]: slots, since the start */
    struct counter drained[2];       /* [sender]: the same, by the receiver */
    alignas(APART) atomic_bool over; /* both must end: the time is over, or all is measured */
    alignas(APART) unsigned char slots[2][SLOTS][SLOT_BYTES]; /* [sender] */
};

struct side {
    int me;                  /* RECEIVER or SENDER */
    unsigned long met;       /* how often it has met the other */
    unsigned long chunks[2]; /* [sender]: moved through that side's slots */
    double end;              /* when the time is over, by now() */
    struct shared *shared;   /* borrowed */
    unsigned char *sent[2];  /* [side][MOST_BYTES]: what it sends. Borrowed */
    unsigned char *got;      /* [MOST_BYTES]: what this side receives. Borrowed */
    gr_machine_sum_fn sum;   /* combines floats */
    struct gr_machine *m;    /* the receiver's: results. Borrowed */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---- two threads ---- */

static void put(struct counter *counter, unsigned long value)
{
    atomic_store_explicit(&counter->value, value, memory_order_release);
}

/* Wait until the counter has that value. false: the time is over. */
static bool await(const struct side *side, const struct counter *counter, unsigned long value)
{
    unsigned polls = 0;

    while (atomic_load_explicit(&counter->value, memory_order_acquire) < value) {
        if (0 == ++polls % 256 && now() > side->end) {
            atomic_store(&side->shared->over, true);
        }
        if (0 == polls % 256 && atomic_load(&side->shared->over)) {
            return false;
        }
    }
    return true;
}

static int other(int side)
{
    return SENDER == side ? RECEIVER : SENDER;
}

/* Returns when both are here: one exchange of a line. */
static bool meet(struct side *side)
{
    side->met++;
    put(&side->shared->met[side->me], side->met);
    return await(side, &side->shared->met[other(side->me)], side->met);
}

/* ---- methods that move bytes: both threads call them; false: the time is over, or refused ---- */

/* Write a chunk to this side's next slot, or read the other side's. */
static bool write_slot(struct side *side, size_t at, size_t bytes)
{
    struct shared *s = side->shared;
    unsigned long chunk = side->chunks[side->me]++;

    if (chunk >= SLOTS && !await(side, &s->drained[side->me], chunk - SLOTS + 1)) {
        return false;
    }
    memcpy(s->slots[side->me][chunk % SLOTS], side->sent[side->me] + at, bytes);
    put(&s->filled[side->me], chunk + 1);
    return true;
}

static bool read_slot(struct side *side, size_t at, size_t bytes)
{
    struct shared *s = side->shared;
    int sender = other(side->me);
    unsigned long chunk = side->chunks[sender]++;

    if (!await(side, &s->filled[sender], chunk + 1)) {
        return false;
    }
    memcpy(side->got + at, s->slots[sender][chunk % SLOTS], bytes);
    put(&s->drained[sender], chunk + 1);
    return true;
}

/* Move bytes in chunks; sends and receives say in which directions. */
static bool move(struct side *side, size_t bytes, size_t chunk, bool sends, bool receives)
{
    size_t at, n;

    for (at = 0; at < bytes; at += n) {
        n = bytes - at < chunk ? bytes - at : chunk;
        if ((sends && !write_slot(side, at, n)) || (receives && !read_slot(side, at, n))) {
            return false;
        }
    }
    return true;
}

/* The sender's and the receiver's work overlap. */
static bool one_way(struct side *side, size_t bytes)
{
    size_t chunk = bytes / SLOTS < SLOT_BYTES ? bytes / SLOTS : SLOT_BYTES;

    return move(side, bytes, chunk, SENDER == side->me, RECEIVER == side->me);
}

/* Both have their hands full: chunks are as long as may be, for fewer messages. */
static bool two_way(struct side *side, size_t bytes)
{
    return move(side, bytes, bytes < SLOT_BYTES ? bytes : SLOT_BYTES, true, true);
}

/* Read what the other side sends, from its memory. */
static bool fetch(struct side *side, size_t bytes)
{
    return 0 == gr_cma_read((int) getpid(), side->got,
                            (uint64_t) (uintptr_t) side->sent[other(side->me)], bytes);
}

/* By one side only; the sender has not written it since it was read last, as benchmarks do it. */
static bool fetch_again(struct side *side, size_t bytes)
{
    return SENDER == side->me || fetch(side, bytes);
}

/* ---- what is measured: both threads call each; false: the time is over, or it was refused ---- */

static void keep_least(float *best, double seconds)
{
    float us = (float) (1e6 * seconds);

    *best = 0 == *best || us < *best ? us : *best;
}

static bool measure_exchange(struct side *side)
{
    int b, k;

    for (b = 0; b < BATCHES; b++) {
        double start = now();

        for (k = 0; k < ROUNDS; k++) {
            if (!meet(side)) {
                return false;
            }
        }
        if (RECEIVER == side->me) {
            keep_least(&side->m->exchange, (now() - start) / ROUNDS);
        }
    }
    return true;
}

/*
 * The time of a method at one size. rewrite: what is sent is written just before. One way, each
 * thread waits for the other: a disturbance of either shows, so more copies are made.
 */
static bool measure_size(struct side *side, bool (*method)(struct side *side, size_t bytes),
                         int size, bool rewrite, float *us)
{
    int c, often = copies[size] * (one_way == method ? 3 : 1);
    double start;

    for (c = 0; c < often; c++) {
        if (rewrite) {
            memset(side->sent[side->me], c, gr_machine_bytes[size]);
        }
        if (!meet(side)) {
            return false;
        }
        start = now();
        if (!method(side, gr_machine_bytes[size])) {
            return false;
        }
        if (RECEIVER == side->me) {
            keep_least(us, now() - start);
        }
    }
    return true;
}

static bool measure_slots(struct side *side)
{
    struct gr_machine *m = side->m;
    int k;

    /* from here on each write is to lines that the other side has read, as it is with links */
    if (!two_way(side, SLOTS * SLOT_BYTES)) {
        return false;
    }
    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        if (!measure_size(side, one_way, k, false, &m->one_way[k]) ||
            !measure_size(side, two_way, k, false, &m->two_way[k])) {
            return false;
        }
    }
    return true;
}

/* One side alone. */
static void measure_reduce(struct side *side)
{
    size_t n = gr_machine_bytes[0] / sizeof(float);
    double start;
    int c;

    for (c = 0; c < CALLS; c++) {
        start = now();
        side->sum(side->got, NULL, side->sent[side->me], side->got, n);
        keep_least(&side->m->reduce, now() - start);
    }
}

static bool measure_fetch(struct side *side)
{
    struct gr_machine *m = side->m;
    double start;
    int k;

    for (k = 0; k < CALLS; k++) {
        start = now();
        if (!fetch(side, 1)) {
            return false;
        }
        if (RECEIVER == side->me) {
            keep_least(&m->call, now() - start);
        }
    }
    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        if (!measure_size(side, fetch, k, true, &m->fetch_new[k]) ||
            !measure_size(side, fetch_again, k, false, &m->fetch[k])) {
            return false;
        }
    }
    return true;
}

/* Whether all was measured but, perhaps, single copy. */
static bool measure(struct side *side)
{
    struct gr_machine *m = side->m;

    /* pages, near their users */
    memset(side->sent[side->me], 1, MOST_BYTES);
    memset(side->got, 1, MOST_BYTES);
    memset(side->shared->slots[side->me], 1, sizeof(side->shared->slots[0]));
    if (!meet(side) || !measure_exchange(side) || !measure_slots(side)) {
        return false;
    }
    if (RECEIVER == side->me) {
        measure_reduce(side);
    }
    if (!measure_fetch(side) && RECEIVER == side->me) {
        m->call = 0;
        memset(m->fetch, 0, sizeof(m->fetch));
        memset(m->fetch_new, 0, sizeof(m->fetch_new));
    }
    return true;
}

static void *send_all(void *arg)
{
    (void) measure(arg);
    return NULL;
}

/* ---- processors ---- */

/* A number in a file of a processor in sysfs; -1: there is none. */
static int cpu_number(int cpu, const char *file)
{
    char path[128];
    FILE *f;
    int number = -1;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    f = fopen(path, "r");
    if (NULL != f) {
        if (1 != fscanf(f, "%d", &number)) {
            number = -1;
        }
        fclose(f);
    }
    return number;
}

/* How well a processor stands for that of another rank near this one: not a thread of one core. */
static int suits(int mine, int theirs)
{
    bool same_socket = cpu_number(mine, "topology/physical_package_id") ==
                       cpu_number(theirs, "topology/physical_package_id");
    bool same_core = same_socket &&
                     cpu_number(mine, "topology/core_id") == cpu_number(theirs, "topology/core_id");
    bool same_cache = cpu_number(mine, "cache/index3/id") == cpu_number(theirs, "cache/index3/id");

    return same_core ? 1 : 2 + same_socket + (same_socket && same_cache);
}

/* Another processor that this process may use; -1: there is none. */
static int find_other(int mine, const cpu_set_t *allowed)
{
    int cpu, found = -1, best = 0, value;

    for (cpu = 0; cpu < CPU_SETSIZE && best < 4; cpu++) {
        if (cpu != mine && CPU_ISSET((size_t) cpu, allowed)) {
            value = suits(mine, cpu);
            if (value > best) {
                best = value;
                found = cpu;
            }
        }
    }
    return found;
}

static void stay_on(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t) cpu, &set);
    (void) sched_setaffinity(0, sizeof(set), &set);
}

/* All processors that the kernel lets this process use, even if it is bound to fewer. */
static void find_allowed(const cpu_set_t *bound, cpu_set_t *allowed)
{
    memset(allowed, 0xff, sizeof(*allowed));
    if (0 != sched_setaffinity(0, sizeof(*allowed), allowed) ||
        0 != sched_getaffinity(0, sizeof(*allowed), allowed)) {
        *allowed = *bound;
    }
}

/* ---- the measurement ---- */

static void *map(size_t bytes, int kind)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

    return MAP_FAILED == p ? NULL : p;
}

static void unmap(void *p, size_t bytes)
{
    if (NULL != p) {
        munmap(p, bytes);
    }
}

/* Both threads, this one on processor mine, the other one on theirs. */
static int measure_on(int mine, int theirs, struct side sides[2])
{
    cpu_set_t set;
    pthread_attr_t attr;
    pthread_t thread;
    bool started, done;

    CPU_ZERO(&set);
    CPU_SET((size_t) theirs, &set);
    pthread_attr_init(&attr);
    started = 0 == pthread_attr_setaffinity_np(&attr, sizeof(set), &set) &&
              0 == pthread_create(&thread, &attr, send_all, &sides[SENDER]);
    pthread_attr_destroy(&attr);
    if (!started) {
        return GR_ERR_NOMEM;
    }
    stay_on(mine);
    done = measure(&sides[RECEIVER]);
    atomic_store(&sides[RECEIVER].shared->over, true);
    pthread_join(thread, NULL);
    return done ? 0 : GR_ERR_TIMEOUT;
}

/* The same on processors that this process may use; bound where it was before. */
static int measure_here(struct side sides[2])
{
    cpu_set_t bound, allowed;
    int rc, mine = sched_getcpu(), theirs;

    if (mine < 0 || 0 != sched_getaffinity(0, sizeof(bound), &bound)) {
        return GR_ERR_NOT_SUPPORTED;
    }
    find_allowed(&bound, &allowed);
    theirs = find_other(mine, &allowed);
    rc = theirs >= 0 ? measure_on(mine, theirs, sides) : GR_ERR_NOT_SUPPORTED;
    (void) sched_setaffinity(0, sizeof(bound), &bound);
    return rc;
}

int gr_machine_measure(double limit, gr_machine_sum_fn sum, struct gr_machine *m)
{
    struct shared *shared = map(sizeof(*shared), MAP_SHARED);
    unsigned char *memory = map(4 * MOST_BYTES, MAP_PRIVATE);
    struct gr_machine unused = {.exchange = 0};
    struct side sides[2];
    int rc = GR_ERR_NOMEM, k;

    memset(m, 0, sizeof(*m));
    if (NULL != shared && NULL != memory) {
        for (k = 0; k < 2; k++) {
            sides[k] = (struct side) {.me = k,
                                      .end = now() + limit,
                                      .shared = shared,
                                      .sent = {memory, memory + MOST_BYTES},
                                      .got = memory + (2 + k) * MOST_BYTES,
                                      .sum = sum,
                                      .m = RECEIVER == k ? m : &unused};
        }
        rc = measure_here(sides);
    }
    unmap(shared, sizeof(*shared));
    unmap(memory, 4 * MOST_BYTES);
    if (0 == rc && !gr_machine_good(m)) {
        rc = GR_ERR_TIMEOUT;
    }
    if (0 != rc) {
        memset(m, 0, sizeof(*m));
    }
    return rc;
}
