/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program on a rank: its steps in order, and between them actions that the rank draws for
 * itself.
 */
#include "run.h"

#include <stdlib.h>

#include "quick.h"
#include "rng.h"
#include "steps.h"
#include "tap.h"

#define MAX_ANY_ORDER 4

/* ---- between steps ---- */

static void delay(struct run *r)
{
    double end;

    switch (rng_below(&r->rng, 16)) {
    case 0:
        quick_sleep(rng_below(&r->rng, 0 == rng_below(&r->rng, 40) ? 40000 : 1500));
        break;
    case 1:
    case 2:
        end = seconds_now() + 1e-6 * rng_below(&r->rng, 200);
        while (seconds_now() < end) {
        }
        break;
    default:
        break;
    }
}

/* Nothing that MPI does with negative tags is to be seen by the program. */
static void probe(struct run *r, int k)
{
    MPI_Status status;
    int there = 0;

    if (MPI_COMM_NULL != r->comms[0].mpi) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, r->comms[0].mpi, &there, &status);
    }
    if (there && (status.MPI_TAG < 0 || status.MPI_TAG >= MAX_STEPS)) {
        step_fail(r, k, "MPI_Iprobe finds a message that the program has not sent, before");
    }
}

static void between(struct run *r, int k)
{
    delay(r);
    for (int n = rng_below(&r->rng, 4); n > 1 && 0 == rng_below(&r->rng, r->patience); n--) {
        step_at(r, k, "waiting for any before");
        pending_poke(&r->pending);
    }
    if (0 == rng_below(&r->rng, 10)) {
        probe(r, k);
    }
}

/*
 * How many steps from k on each rank may do in an order of its own: calls on different
 * communicators, of which at most one blocks. No rank waits for one of them between these, since
 * others may be in the one that blocks.
 */
static int any_order(const struct program *p, int k)
{
    int n = 0, blocking = 0;

    for (; n < MAX_ANY_ORDER && k + n < p->n; n++) {
        const struct step *s = &p->steps[k + n];

        blocking += BLOCKING == s->form;
        if (STEP_COLLECTIVE != s->kind || PERSISTENT == s->form || blocking > 1 ||
            p->left_out[k + n]) {
            break;
        }
        for (int j = k; j < k + n; j++) {
            if (p->steps[j].comm == s->comm) {
                return n;
            }
        }
    }
    return n;
}

/* ---- all of it ---- */

static void clean_up(struct run *r)
{
    uint64_t alike =
        rng_key(r->p->seed, (uint64_t) r->p->thread, 7); /* MPI_Comm_free is collective */
    const bool some = 0 == rng_below(&alike, 2);

    step_at(r, r->p->n, "freeing communicators");
    for (int c = 0; c < MAX_COMMS; c++) {
        if (0 != rng_below(&alike, 2) && some && MPI_COMM_NULL != r->comms[c].mpi) {
            step_free_comm(r, &r->comms[c]);
        }
    }
    step_at(r, r->p->n, "waiting for all");
    pending_finish(&r->pending, NULL);
    for (int k = 0; k < r->p->n; k++) {
        step_release(r, k);
    }
    step_at(r, r->p->n, "freeing communicators");
    for (int c = MAX_COMMS - 1; c >= 0; c--) {
        if (MPI_COMM_NULL != r->comms[c].mpi) {
            step_free_comm(r, &r->comms[c]);
        }
        comm_forget(&r->comms[c]);
    }
}

static void draw_own(struct run *r, int k)
{
    r->step = k;
    r->rng = rng_key(rng_key(r->p->seed, (uint64_t) r->p->thread, 5),
                     (uint64_t) (test_rank * MAX_COMMS + k), (uint64_t) r->repeat);
}

/* One step, or some in an order of the rank's own; returns how many. */
static int steps_do(struct run *r, int k)
{
    int order[MAX_ANY_ORDER] = {0}, n = any_order(r->p, k), j;
    const bool shuffles = 0 == rng_below(&r->rng, 2);

    if (n < 2) {
        step_do(r, k);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        j = shuffles ? rng_below(&r->rng, i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < n; i++) {
        draw_own(r, k + order[i]);
        delay(r);
        step_do(r, k + order[i]);
    }
    return n;
}

long program_run(const struct program *p, MPI_Comm world, int repeat, struct whereabouts *w)
{
    struct run *r = calloc(1, sizeof *r);
    long calls;

    if (NULL == r) {
        abort();
    }
    r->p = p;
    r->w = w;
    r->repeat = repeat;
    for (int c = 0; c < MAX_COMMS; c++) {
        r->comms[c].mpi = MPI_COMM_NULL;
    }
    r->comms[0].mpi = world;
    r->comms[0].topology = NUM_ORIGINS;
    comm_known(&r->comms[0]);
    r->pending.program = r;
    r->pending.done = step_request_done;
    r->pending.failed = step_wait_failed;
    r->pending.rng = &r->rng;
    draw_own(r, p->n);
    r->patience = (int[]) {1, 4, 12}[rng_below(&r->rng, 3)];
    for (int k = 0; k < p->n;) {
        draw_own(r, k);
        between(r, k);
        k += steps_do(r, k);
    }
    draw_own(r, p->n);
    clean_up(r);
    calls = r->calls;
    free(r);
    return calls;
}
