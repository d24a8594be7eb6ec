/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes in any order of ranks: every collective with data, across the wrap of epochs, with
 * several calls posted that are not taken yet. They are compiled into this file with hooks in the
 * place of what they do to memory, and ranks are fibers, of which chance holds one up at any hook. So
 * a rank also sees another one's post half done. Seed: GPURING_SEED.
 */
#include "depth.h"
#include "rng.h"

#include "exec/label.h"
#include "exec/reduce.h"
#include "link/board.h"
#include "sched/sched.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static void hooked_store(_Atomic uint64_t *at, uint64_t value, memory_order order);
static uint64_t hooked_load(const _Atomic uint64_t *at, memory_order order);
static void hooked_memcpy(void *to, const void *from, size_t n);
static void hooked_reduce(const struct gr_reducer *r, void *dst, const void *first, const void *src,
                          size_t n);

#pragma push_macro("atomic_store_explicit") /* macros themselves */
#pragma push_macro("atomic_load_explicit")
#undef atomic_store_explicit
#undef atomic_load_explicit
#define atomic_store_explicit hooked_store
#define atomic_load_explicit hooked_load
#define memcpy hooked_memcpy
#define gr_reduce_pair hooked_reduce
#include "exec/mailbox.h" /* before all that includes it, too */
#include "link/board.c"
#include "exec/mailbox.c"
#pragma pop_macro("atomic_store_explicit")
#pragma pop_macro("atomic_load_explicit")
#undef memcpy
#undef gr_reduce_pair

#include "mail_ranks.c" /* which calls the functions of mailbox.h */

#include <stdio.h>

#include "cmocka_test.h"

/* ---- fibers ---- */

enum { STACK = 128 << 10, IDLE = 4000 };

static struct {
    struct mail_world *world; /* NULL: no run */
    ucontext_t scheduler, fibers[EX_MAX_RANKS];
    char *stacks[EX_MAX_RANKS];
    int running;              /* rank */
    uint64_t random, resumed; /* resumed: fibers, since anything moved */
} f;

static void leave(void)
{
    swapcontext(&f.fibers[f.running], &f.scheduler);
}

/* Now and then let others go on. Outside of a run: nothing. */
static void fiber_pause(void)
{
    if (NULL != f.world && 0 == rng_below(&f.random, 2)) {
        leave();
    }
}

/* ---- hooks ---- */

static void hooked_store(_Atomic uint64_t *at, uint64_t value, memory_order order)
{
    fiber_pause();
    atomic_store_explicit(at, value, order);
}

static uint64_t hooked_load(const _Atomic uint64_t *at, memory_order order)
{
    fiber_pause();
    return atomic_load_explicit(at, order);
}

static void hooked_memcpy(void *to, const void *from, size_t n)
{
    fiber_pause();
    memcpy(to, from, n);
}

static void hooked_reduce(const struct gr_reducer *r, void *dst, const void *first, const void *src,
                          size_t n)
{
    fiber_pause();
    gr_reduce_pair(r, dst, first, src, n);
}

/* ---- runs ---- */

static void fiber(void)
{
    struct mail_rank *r = &f.world->ranks[f.running];

    while (!mail_through(r)) {
        int moved = mail_poll(r);

        if (moved < 0) {
            atomic_store(&f.world->stop, 1);
        }
        if (moved > 0) {
            f.resumed = 0;
        }
        leave();
    }
    for (;;) {
        leave();
    }
}

static void fibers_make(struct mail_world *w)
{
    int r;

    for (r = 0; r < w->shape.p; r++) {
        f.stacks[r] = malloc(STACK);
        if (NULL == f.stacks[r] || 0 != getcontext(&f.fibers[r])) {
            abort();
        }
        f.fibers[r].uc_stack.ss_sp = f.stacks[r];
        f.fibers[r].uc_stack.ss_size = STACK;
        f.fibers[r].uc_link = NULL; /* they never return */
        makecontext(&f.fibers[r], fiber, 0);
    }
}

/* Run the cases on all ranks. 0, or -1 with why. */
static int fibers_run(struct mail_world *w, const struct ex_case *cases, size_t n)
{
    int left, r;

    mail_begin(w, cases, n);
    f.world = w;
    f.random = w->seed;
    f.resumed = 0;
    fibers_make(w);
    do {
        f.running = rng_below(&f.random, w->shape.p);
        swapcontext(&f.scheduler, &f.fibers[f.running]);
        for (left = 0, r = 0; r < w->shape.p; r++) {
            left += !mail_through(&w->ranks[r]);
        }
    } while (left > 0 && !atomic_load(&w->stop) && ++f.resumed < IDLE * (uint64_t) w->shape.p);
    f.world = NULL;
    for (r = 0; r < w->shape.p; r++) {
        if (left > 0 && !atomic_load(&w->stop) && !mail_through(&w->ranks[r])) {
            mail_explain(&w->ranks[r]);
        }
        free(f.stacks[r]);
    }
    return mail_end(w);
}

static uint64_t seed;

/* Calls of any kind that fit a set. */
static struct ex_batch make_batch(const struct mail_shape *s, size_t ncalls)
{
    struct ex_batch b = {.random = &seed};
    struct ex_world w = {.params = {.p = s->p, .nchannels = 1, .nslots = 2, .slot_bytes = 64}};
    size_t room = gr_board_stride(s->bytes) - GR_SET_HEAD, k;

    for (k = 0; k < ncalls; k++) {
        struct ex_case *c =
            ex_add(&b, &w, GR_ALGO_MAILBOX, (enum gr_coll) rng_below(&seed, EX_MAIL_COLLS));
        size_t most = room / ex_kinds[c->kind].elem_bytes;

        c->kind = 0 == k % 2 ? c->kind : EX_ORDERED;
        c->in_place = rng_below(&seed, 2);
        if (ex_has_counts(c->coll) && 0 != rng_below(&seed, 3)) {
            ex_make_counts(&b, c, s->p, most / 2, 0 != rng_below(&seed, 2));
        } else {
            c->count = rng_below(&seed, 2) ? rng_below(&seed, 7) : rng_below(&seed, most + 1);
        }
        ex_fit(c, s->p, room);
    }
    return b;
}

/* Some calls in a new world; then again, on the boards as they are. */
static void play(int p, uint32_t nsets)
{
    static const size_t bytes[] = {100, 240, 48 * 16, 1000, 4096 - GR_SET_HEAD};
    struct mail_shape s = {p, nsets, bytes[rng_below(&seed, 5)], UINT64_MAX - rng_below(&seed, 100),
                           1 + rng_below(&seed, nsets)};
    struct ex_batch b = make_batch(&s, 100);
    struct mail_world w;
    int round;

    mail_open(&w, &s, rng_next(&seed));
    for (round = 0; round < 2; round++) {
        if (0 != fibers_run(&w, b.cases, b.n)) {
            fail_msg("%s", w.why);
        }
        w.seed = rng_next(&seed);
    }
    mail_close(&w);
    free(b.cases);
}

static void calls_are_right_in_any_order_of_steps(void **state)
{
    static const int sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 16};
    uint32_t nsets;
    size_t k;
    int again;

    for (again = 0; again < depth(2, 10); again++) {
        for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            for (nsets = 2; nsets <= GR_SETS; nsets *= 2) {
                play(sizes[k], nsets);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_right_in_any_order_of_steps)};

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
