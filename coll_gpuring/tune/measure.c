/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures a machine: two threads on two processors do what two ranks do, one receives, the other
 * one sends. Both run the same measures in the same order, and meet before each.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "tune/machine.h"

#include "base/cma.h"
#include "base/errors.h"
#include "base/system.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECEIVER, SENDER };
enum { MOST_BYTES = 2 << 20 };
enum { SLOTS = 4, SLOT_BYTES = 64 << 10 }; /* defaults of the parameters */
enum { ROUNDS = 100 };                     /* exchanges of a batch */
enum { APART = 128 };                      /* lines are fetched in pairs */

/* How often each thing is done. */
static const struct {
    int batches;                  /* of exchanges */
    int calls;                    /* of single copy of a byte, and combinations */
    int copies[GR_MACHINE_SIZES]; /* of each size; 0: it is left unknown */
} efforts[GR_EFFORTS] = {
    [GR_EFFORT_BRIEF] = {3, 15, {4, 3, 0, 0}},
    [GR_EFFORT_QUICK] = {4, 20, {4, 3, 2, 1}},
    [GR_EFFORT_THOROUGH] = {40, 200, {40, 20, 15, 15}},
};

struct counter {
    alignas(APART) atomic_ulong value; /* has one writer, and only grows */
};

/* What both threads see. In memory as links have it, which processes share. */
struct shared {
    struct counter met[2];         /* [side]: how often it has come to meet the other */
    struct counter filled[2];      /* [sender]: slots, since the start */
    struct counter drained[2];     /* [sender]: the same, by the receiver */
    alignas(APART) atomic_int end; /* GR_ERR_...: why both must end; 0: they need not */
    alignas(APART) unsigned char slots[2][SLOTS][SLOT_BYTES]; /* [sender] */
};

struct side {
    int me;                             /* RECEIVER or SENDER */
    unsigned long met;                  /* how often it has met the other */
    unsigned long chunks[2];            /* [sender]: moved through that side's slots */
    double end;                         /* when the time is over, by gr_now() */
    const struct gr_measure_args *args; /* borrowed */
    struct shared *shared;              /* borrowed */
    unsigned char *sent[2];             /* [side][MOST_BYTES]: what it sends. Borrowed */
    unsigned char *got;                 /* [MOST_BYTES]: what this side receives. Borrowed */
    struct gr_machine *m;               /* the receiver's: results. Borrowed */
};

/*
 * Functions of both threads return 0, or GR_ERR_...: GR_ERR_TIMEOUT, GR_ERR_FOREIGN (single copy is
 * refused), GR_ERR_NOT_SUPPORTED (a thread must not run on its processor).
 */

/* ---- two threads ---- */

static void put(struct counter *counter, unsigned long value)
{
    atomic_store_explicit(&counter->value, value, memory_order_release);
}

/* Both threads must end. Returns why, of what was said first. */
static int end_both(const struct side *side, int why)
{
    int none = 0;

    atomic_compare_exchange_strong(&side->shared->end, &none, why);
    return 0 == none ? why : none;
}

/* Wait until the counter has that value. */
static int await(const struct side *side, const struct counter *counter, unsigned long value)
{
    unsigned polls = 0;
    int end;

    while (atomic_load_explicit(&counter->value, memory_order_acquire) < value) {
        if (0 == ++polls % 256) {
            end = atomic_load(&side->shared->end);
            if (0 != end) {
                return end;
            }
            if (gr_now() > side->end) {
                return end_both(side, GR_ERR_TIMEOUT);
            }
        }
    }
    return 0;
}

static int other(int side)
{
    return SENDER == side ? RECEIVER : SENDER;
}

/* Returns when both are here: one exchange of a line. */
static int meet(struct side *side)
{
    side->met++;
    put(&side->shared->met[side->me], side->met);
    return await(side, &side->shared->met[other(side->me)], side->met);
}

/* The same, where the time is not over. */
static int meet_in_time(struct side *side)
{
    return gr_now() > side->end ? end_both(side, GR_ERR_TIMEOUT) : meet(side);
}

/* ---- methods that move bytes: both threads call them ---- */

/* Write a chunk to this side's next slot, or read the other side's. */
static int write_slot(struct side *side, size_t at, size_t bytes)
{
    struct shared *s = side->shared;
    unsigned long chunk = side->chunks[side->me]++;
    int rc = chunk < SLOTS ? 0 : await(side, &s->drained[side->me], chunk - SLOTS + 1);

    if (0 == rc) {
        memcpy(s->slots[side->me][chunk % SLOTS], side->sent[side->me] + at, bytes);
        put(&s->filled[side->me], chunk + 1);
    }
    return rc;
}

static int read_slot(struct side *side, size_t at, size_t bytes)
{
    struct shared *s = side->shared;
    int sender = other(side->me), rc;
    unsigned long chunk = side->chunks[sender]++;

    rc = await(side, &s->filled[sender], chunk + 1);
    if (0 == rc) {
        memcpy(side->got + at, s->slots[sender][chunk % SLOTS], bytes);
        put(&s->drained[sender], chunk + 1);
    }
    return rc;
}

/* Move bytes in chunks; sends and receives say in which directions. */
static int move(struct side *side, size_t bytes, size_t chunk, bool sends, bool receives)
{
    size_t at, n;
    int rc = 0;

    for (at = 0; at < bytes && 0 == rc; at += n) {
        n = bytes - at < chunk ? bytes - at : chunk;
        rc = sends ? write_slot(side, at, n) : 0;
        rc = 0 == rc && receives ? read_slot(side, at, n) : rc;
    }
    return rc;
}

/* The sender's and the receiver's work overlap. */
static int one_way(struct side *side, size_t bytes)
{
    size_t chunk = bytes / SLOTS < SLOT_BYTES ? bytes / SLOTS : SLOT_BYTES;

    return move(side, bytes, chunk, SENDER == side->me, RECEIVER == side->me);
}

/* Both have their hands full: chunks are as long as may be, for fewer messages. */
static int two_way(struct side *side, size_t bytes)
{
    return move(side, bytes, bytes < SLOT_BYTES ? bytes : SLOT_BYTES, true, true);
}

/* Read what the other side sends, from its memory. */
static int fetch(struct side *side, size_t bytes)
{
    return 0 == gr_cma_read((int) getpid(), side->got,
                            (uint64_t) (uintptr_t) side->sent[other(side->me)], bytes)
               ? 0
               : end_both(side, GR_ERR_FOREIGN);
}

/* By one side only; the sender has not written it since it was read last, as benchmarks do it. */
static int fetch_again(struct side *side, size_t bytes)
{
    return SENDER == side->me ? 0 : fetch(side, bytes);
}

/* ---- what is measured: both threads call each ---- */

static void keep_least(float *best, double seconds)
{
    float us = (float) (1e6 * seconds);

    *best = 0 == *best || us < *best ? us : *best;
}

static int measure_exchange(struct side *side)
{
    int b, k, rc = 0;

    for (b = 0; b < efforts[side->args->effort].batches && 0 == rc; b++) {
        double start = gr_now();

        for (k = 0; k < ROUNDS && 0 == rc; k++) {
            rc = meet(side);
        }
        if (RECEIVER == side->me && 0 == rc) {
            keep_least(&side->m->exchange, (gr_now() - start) / ROUNDS);
        }
    }
    return rc;
}

/*
 * The time of a method at one size. rewrite: what is sent is written just before. In one direction
 * each disturbance shows, and copies take half the time, so twice as many are made.
 */
static int measure_size(struct side *side, int (*method)(struct side *side, size_t bytes), int size,
                        bool rewrite, float *us)
{
    int c, rc = 0,
           often = efforts[side->args->effort].copies[size] *
                   (one_way == method || fetch_again == method ? 2 : 1);
    double start;

    for (c = 0; c < often && 0 == rc; c++) {
        if (rewrite) {
            memset(side->sent[side->me], c, gr_machine_bytes[size]);
        }
        rc = meet_in_time(side);
        start = gr_now();
        rc = 0 == rc ? method(side, gr_machine_bytes[size]) : rc;
        if (RECEIVER == side->me && 0 == rc) {
            keep_least(us, gr_now() - start);
        }
    }
    return rc;
}

static int measure_slots(struct side *side)
{
    struct gr_machine *m = side->m;
    /* from here on each write is to lines that the other side has read, as it is with links */
    int k, rc = two_way(side, SLOTS * SLOT_BYTES);

    for (k = 0; k < GR_MACHINE_SIZES && 0 == rc; k++) {
        rc = measure_size(side, one_way, k, false, &m->one_way[k]);
        rc = 0 == rc ? measure_size(side, two_way, k, false, &m->two_way[k]) : rc;
    }
    return rc;
}

/* One side alone. */
static void measure_reduce(struct side *side)
{
    size_t n = gr_machine_bytes[0] / sizeof(float);
    double start;
    int c;

    for (c = 0; c < efforts[side->args->effort].calls; c++) {
        start = gr_now();
        side->args->sum(side->got, NULL, side->sent[side->me], side->got, n);
        keep_least(&side->m->reduce, gr_now() - start);
    }
}

static int measure_fetch(struct side *side)
{
    struct gr_machine *m = side->m;
    double start;
    int k, rc = 0;

    for (k = 0; k < efforts[side->args->effort].calls && 0 == rc; k++) {
        start = gr_now();
        rc = start > side->end ? end_both(side, GR_ERR_TIMEOUT) : fetch(side, 1);
        if (RECEIVER == side->me && 0 == rc) {
            keep_least(&m->call, gr_now() - start);
        }
    }
    for (k = 0; k < GR_MACHINE_SIZES && 0 == rc; k++) {
        rc = measure_size(side, fetch, k, true, &m->fetch_new[k]);
        rc = 0 == rc ? measure_size(side, fetch_again, k, false, &m->fetch[k]) : rc;
    }
    return rc;
}

static int stay_on(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t) cpu, &set);
    return 0 == sched_setaffinity(0, sizeof(set), &set) ? 0 : GR_ERR_NOT_SUPPORTED;
}

/* Pages for memory, near this thread: at once where the kernel can, which takes half as long. */
static void populate(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    if (0 == madvise(memory, bytes, MADV_POPULATE_WRITE)) {
        return;
    }
#endif
    memset(memory, 1, bytes);
}

static int measure(struct side *side)
{
    size_t most = MOST_BYTES;
    int k, rc = stay_on(side->args->cpus[side->me]);

    if (0 != rc) {
        return end_both(side, rc);
    }
    for (k = GR_MACHINE_SIZES - 1; 0 == efforts[side->args->effort].copies[k]; k--) {
        most = gr_machine_bytes[k - 1];
    }
    populate(side->sent[side->me], most);
    populate(side->got, most);
    memset(side->shared->slots[side->me], 1, sizeof(side->shared->slots[0]));
    rc = meet(side);
    rc = 0 == rc ? measure_exchange(side) : rc;
    rc = 0 == rc ? measure_slots(side) : rc;
    if (RECEIVER == side->me && 0 == rc) {
        measure_reduce(side);
    }
    return 0 == rc ? measure_fetch(side) : rc;
}

/* A thread: arg is its struct side. */
static void *run_side(void *arg)
{
    (void) measure(arg);
    return NULL;
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

/* Both threads, so that the caller stays where it is. */
static int run_both(struct side sides[2])
{
    pthread_t threads[2];
    int k, started;

    for (started = 0; started < 2; started++) {
        if (0 != pthread_create(&threads[started], NULL, run_side, &sides[started])) {
            (void) end_both(&sides[0], GR_ERR_NOMEM);
            break;
        }
    }
    for (k = 0; k < started; k++) {
        pthread_join(threads[k], NULL);
    }
    return atomic_load(&sides[0].shared->end);
}

static void forget_single_copy(struct gr_machine *m)
{
    m->call = 0;
    memset(m->fetch, 0, sizeof(m->fetch));
    memset(m->fetch_new, 0, sizeof(m->fetch_new));
}

/*
 * One method's sizes that were not measured: as much longer than the size before as they are at
 * the distance that was measured whole.
 */
static void extend(float us[GR_MACHINE_SIZES], const float whole[GR_MACHINE_SIZES])
{
    int k;

    for (k = 1; k < GR_MACHINE_SIZES; k++) {
        if (0 == us[k] && 0 != whole[k - 1]) {
            us[k] = whole[k] * us[k - 1] / whole[k - 1];
        }
    }
}

int gr_machine_measure(const struct gr_measure_args *args, struct gr_machine *m)
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
                                      .end = gr_now() + args->limit,
                                      .args = args,
                                      .shared = shared,
                                      .sent = {memory, memory + MOST_BYTES},
                                      .got = memory + (2 + k) * MOST_BYTES,
                                      .m = RECEIVER == k ? m : &unused};
        }
        rc = run_both(sides);
    }
    unmap(shared, sizeof(*shared));
    unmap(memory, 4 * MOST_BYTES);
    if (GR_ERR_FOREIGN == rc) { /* single copy comes last */
        forget_single_copy(m);
        rc = 0;
    }
    if (0 == rc && NULL != args->whole) {
        extend(m->one_way, args->whole->one_way);
        extend(m->two_way, args->whole->two_way);
        extend(m->fetch, args->whole->fetch);
        extend(m->fetch_new, args->whole->fetch_new);
    }
    if (0 == rc && (0 == m->exchange || !gr_machine_good(m))) {
        rc = GR_ERR_TIMEOUT;
    }
    if (0 != rc) {
        memset(m, 0, sizeof(*m));
    }
    return rc;
}
