/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE with calls in all forms: nbthreads [ROUNDS]. Threads with a communicator
 * each, threads that wait for what another one has posted, and several that wait for calls of one
 * communicator.
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "batch.h"
#include "rng.h"
#include "tap.h"
#include "workers.h"

#define IN_FLIGHT 6
#define QUARTERS 4

/* In any of this many of the forms. */
static void post_any(struct batch *b, struct worker *w, int forms)
{
    struct form_shape shape = form_draw(&w->calls, SIZES_ANY);

    batch_post(b, w->comm, &shape, (enum form) rng_below(&w->calls, forms), rng_next(&w->calls));
}

/* ---- each with a communicator of its own ---- */

static void *all_forms(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < w->rounds; i++) {
        struct batch b;

        batch_open(&b, IN_FLIGHT);
        for (int k = 1 + rng_below(&w->calls, IN_FLIGHT); k > 0; k--) {
            form_delay(&w->mine);
            post_any(&b, w, forms_here);
        }
        w->ok = batch_finish(&b, &w->mine) && w->ok;
    }
    return NULL;
}

/* Every thread makes and frees communicators as fast as it can. */
static void *churn(void *arg)
{
    struct worker *w = arg, inner = *w;

    for (int i = 0; i < w->rounds; i++) {
        struct batch b;

        MPI_Comm_dup(w->comm, &inner.comm);
        batch_open(&b, IN_FLIGHT);
        for (int k = 0; k < IN_FLIGHT; k++) {
            post_any(&b, &inner, forms_here);
        }
        w->ok = batch_finish(&b, &w->mine) && w->ok;
        MPI_Comm_free(&inner.comm);
    }
    return NULL;
}

/* ---- one posts, another waits ---- */

struct relay {
    struct batch b;
    sem_t posted;
    pthread_t waiter;
    uint64_t mine;
    bool ok;
};

/* Takes them as they come, not all at once: so it often waits while the poster posts. */
static void *wait_for_posted(void *arg)
{
    struct relay *r = arg;

    for (int i = 0; i < r->b.room; i++) {
        sem_wait(&r->posted);
        form_delay(&r->mine);
        r->ok = complete(rng_below(&r->mine, NUM_WAYS), 1, &r->b.requests[i], &r->mine) && r->ok;
        r->ok = form_check(&r->b.calls[i]) && r->ok;
    }
    return NULL;
}

static void *post_for_waiter(void *arg)
{
    struct worker *w = arg;
    struct relay r = {.mine = rng_next(&w->mine), .ok = true};

    batch_open(&r.b, 8 * w->rounds);
    sem_init(&r.posted, 0, 0);
    pthread_create(&r.waiter, NULL, wait_for_posted, &r);
    for (int i = 0; i < r.b.room; i++) {
        form_delay(&w->mine);
        post_any(&r.b, w, FORM_PERSISTENT);
        sem_post(&r.posted);
    }
    pthread_join(r.waiter, NULL);
    sem_destroy(&r.posted);
    batch_close(&r.b, &w->mine);
    w->ok = r.ok;
    return NULL;
}

/* ---- several wait for calls of one communicator ---- */

struct quarter {
    pthread_t thread;
    struct batch *b;
    int first, n;
    uint64_t mine;
    bool ok;
};

static void *wait_for_quarter(void *arg)
{
    struct quarter *q = arg;

    q->ok = complete(rng_below(&q->mine, NUM_WAYS), q->n, q->b->requests + q->first, &q->mine);
    for (int i = q->first; i < q->first + q->n; i++) {
        q->ok = form_check(&q->b->calls[i]) && q->ok;
    }
    return NULL;
}

static void *quarters(void *arg)
{
    struct worker *w = arg;
    struct quarter q[QUARTERS];
    struct batch b;

    for (int i = 0; i < w->rounds; i++) {
        batch_open(&b, QUARTERS * IN_FLIGHT);
        while (b.n < b.room) {
            post_any(&b, w, FORM_PERSISTENT);
        }
        for (int t = 0; t < QUARTERS; t++) {
            q[t] = (struct quarter) {
                .b = &b, .first = t * IN_FLIGHT, .n = IN_FLIGHT, .mine = rng_next(&w->mine)};
            pthread_create(&q[t].thread, NULL, wait_for_quarter, &q[t]);
        }
        for (int t = 0; t < QUARTERS; t++) {
            pthread_join(q[t].thread, NULL);
            w->ok = q[t].ok && w->ok;
        }
        batch_close(&b, &w->mine);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level = test_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    int rounds = argc > 1 ? atoi(argv[1]) : 16;

    if (level < MPI_THREAD_MULTIPLE) {
        tap_skip("no MPI_THREAD_MULTIPLE", "threads");
        return test_end();
    }
    kinds_open();
    workers_run("one communicator each, all forms", all_forms, 1, rounds, 140);
    workers_run("one communicator each, all forms", all_forms, 4, rounds, 140);
    workers_run("making and freeing communicators", churn, 4, rounds, 140);
    workers_run("one thread posts, another waits", post_for_waiter, 2, rounds, 140);
    workers_run("several wait for one communicator's calls", quarters, 2, rounds, 140);
    kinds_close();
    return test_end();
}
