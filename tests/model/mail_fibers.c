/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a mailbox world as fibers (mail_fibers.h). */
#include "mail_fibers.h"

#include "rng.h"

#include <stdlib.h>
#include <ucontext.h>

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

void fiber_pause(void)
{
    if (NULL != f.world && 0 == rng_below(&f.random, 2)) {
        leave();
    }
}

int fiber_on_board(const void *at)
{
    const struct mail_shape *s;
    size_t bytes;
    int r;

    if (NULL == f.world) {
        return 0;
    }
    s = &f.world->shape;
    bytes = gr_board_bytes(s->p, s->nsets, gr_board_stride(s->bytes));
    for (r = 0; r < s->p; r++) {
        const char *board = f.world->boards[r];

        if ((const char *) at >= board && (const char *) at < board + bytes) {
            return 1;
        }
    }
    return 0;
}

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

int fibers_run(struct mail_world *w, const struct ex_case *cases, size_t n)
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
    return mail_end(w, "fibers");
}
