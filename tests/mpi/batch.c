/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of pending calls, and the table of completion functions (batch.h). */
#include "batch.h"

#include <stdlib.h>

#include "rng.h"
#include "tap.h"

void shuffle(int n, int *order, uint64_t *rng)
{
    for (int i = 0; i < n; i++) {
        int j = rng_below(rng, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}

/* ---- ways to complete ---- */

/* Calls one for each request, in random order. */
static bool each(bool (*one)(MPI_Request *request), int n, MPI_Request *requests, uint64_t *rng)
{
    int *order = malloc((size_t) n * sizeof *order + 1);
    bool ok = true;

    shuffle(n, order, rng);
    for (int i = 0; i < n; i++) {
        ok = one(&requests[order[i]]) && ok;
    }
    free(order);
    return ok;
}

static bool wait_one(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = 0;

    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    return !cancelled;
}

static bool test_one(MPI_Request *request)
{
    int done = 0;

    while (!done) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    return true;
}

/* Asks without freeing: the request is as it was, and the wait that follows finds it complete. */
static bool ask_one(MPI_Request *request)
{
    MPI_Request before = *request;
    int done = 0, again = 0;

    if (MPI_REQUEST_NULL == before) {
        return true;
    }
    while (!done) {
        MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Request_get_status(*request, &again, MPI_STATUS_IGNORE);
    done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    return done && again;
}

static bool way_wait(int n, MPI_Request *requests, uint64_t *rng)
{
    return each(wait_one, n, requests, rng);
}

static bool way_test(int n, MPI_Request *requests, uint64_t *rng)
{
    return each(test_one, n, requests, rng);
}

static bool way_ask(int n, MPI_Request *requests, uint64_t *rng)
{
    return each(ask_one, n, requests, rng);
}

static bool way_waitall(int n, MPI_Request *requests, uint64_t *rng)
{
    MPI_Status *statuses = malloc((size_t) n * sizeof *statuses + 1);

    MPI_Waitall(n, requests, rng_below(rng, 2) ? statuses : MPI_STATUSES_IGNORE);
    free(statuses);
    return true;
}

static bool way_testall(int n, MPI_Request *requests, uint64_t *rng)
{
    int done = 0;

    (void) rng;
    while (!done) {
        MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
    }
    return true;
}

static bool way_waitany(int n, MPI_Request *requests, uint64_t *rng)
{
    int i = 0;

    (void) rng;
    while (MPI_UNDEFINED != i) {
        MPI_Waitany(n, requests, &i, MPI_STATUS_IGNORE);
    }
    return true;
}

static bool way_testany(int n, MPI_Request *requests, uint64_t *rng)
{
    int i = 0, done = 0;

    (void) rng;
    while (!done || MPI_UNDEFINED != i) {
        MPI_Testany(n, requests, &i, &done, MPI_STATUS_IGNORE);
    }
    return true;
}

/* Some and some more; every index comes once. */
static bool some(int (*one)(int, MPI_Request *, int *, int *, MPI_Status *), int n,
                 MPI_Request *requests)
{
    int got = 0, *indices = malloc(2 * (size_t) n * sizeof *indices + 1), *seen = indices + n;
    bool ok = true;

    for (int i = 0; i < n; i++) {
        seen[i] = 0;
    }
    for (;;) {
        one(n, requests, &got, indices, MPI_STATUSES_IGNORE);
        if (MPI_UNDEFINED == got) {
            break;
        }
        for (int i = 0; i < got; i++) {
            ok = ok && 0 == seen[indices[i]]++;
        }
    }
    free(indices);
    return ok;
}

static int mpi_waitsome(int n, MPI_Request *requests, int *got, int *indices, MPI_Status *statuses)
{
    return MPI_Waitsome(n, requests, got, indices, statuses);
}

static int mpi_testsome(int n, MPI_Request *requests, int *got, int *indices, MPI_Status *statuses)
{
    return MPI_Testsome(n, requests, got, indices, statuses);
}

static bool way_waitsome(int n, MPI_Request *requests, uint64_t *rng)
{
    (void) rng;
    return some(mpi_waitsome, n, requests);
}

static bool way_testsome(int n, MPI_Request *requests, uint64_t *rng)
{
    (void) rng;
    return some(mpi_testsome, n, requests);
}

static bool (*const ways[NUM_WAYS])(int n, MPI_Request *requests, uint64_t *rng) = {
    way_wait,    way_test,    way_ask,      way_waitall,  way_testall,
    way_waitany, way_testany, way_waitsome, way_testsome,
};
const char *const use_names[NUM_WAYS] = {"Wait",    "Test",     "Request_get_status",
                                         "Waitall", "Testall",  "Waitany",
                                         "Testany", "Waitsome", "Testsome"};

bool complete(int way, int n, MPI_Request *requests, uint64_t *rng)
{
    bool ok = ways[way](n, requests, rng);

    if (!ok) {
        tap_fault("MPI_%s says the wrong thing of %d requests", use_names[way], n);
    }
    return ok;
}

/* ---- batches ---- */

void batch_open(struct batch *b, int room)
{
    *b = (struct batch) {.room = room};
    b->calls = malloc((size_t) room * sizeof *b->calls);
    b->requests = malloc((size_t) room * sizeof(MPI_Request));
}

int batch_add(struct batch *b, MPI_Comm comm, const struct form_shape *shape)
{
    if (b->n == b->room) {
        abort();
    }
    form_make(&b->calls[b->n], comm, shape);
    b->requests[b->n] = MPI_REQUEST_NULL;
    return b->n++;
}

void batch_start(struct batch *b, int i, enum form form, uint64_t salt)
{
    form_fill(&b->calls[i], salt);
    form_start(&b->calls[i], form, &b->requests[i]);
}

int batch_post(struct batch *b, MPI_Comm comm, const struct form_shape *shape, enum form form,
               uint64_t salt)
{
    int i = batch_add(b, comm, shape);

    batch_start(b, i, form, salt);
    return i;
}

bool batch_complete(struct batch *b, uint64_t *rng)
{
    return complete(rng_below(rng, NUM_WAYS), b->n, b->requests, rng);
}

bool batch_check(struct batch *b)
{
    bool ok = true;

    for (int i = 0; i < b->n; i++) {
        ok = (!b->calls[i].filled || form_check(&b->calls[i])) && ok;
    }
    return ok;
}

static bool free_one(MPI_Request *request)
{
    if (MPI_REQUEST_NULL != *request) {
        MPI_Request_free(request);
    }
    return true;
}

void batch_close(struct batch *b, uint64_t *rng)
{
    each(free_one, b->n, b->requests, rng);
    for (int i = 0; i < b->n; i++) {
        form_free(&b->calls[i]);
    }
    free(b->calls);
    free(b->requests);
}

bool batch_finish(struct batch *b, uint64_t *rng)
{
    bool ok = batch_complete(b, rng);

    ok = batch_check(b) && ok;
    batch_close(b, rng);
    return ok;
}
