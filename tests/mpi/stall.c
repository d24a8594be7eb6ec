/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that does not come: stall MODE [COLLECTIVE [SECONDS [FORM [COUNT]]]], to be watched by a
 * script. FORM: blocking (default), nonblocking or persistent; the others wait in MPI_Wait then.
 *
 *     stop    rank 1 stops itself (SIGSTOP) before a call; the script continues it
 *     first   the same before the very first call on the communicator, so in set-up
 *     kill    rank 1 kills itself (SIGKILL)
 *     exit    rank 1 exits without MPI_Finalize
 *     abort   rank 1 calls MPI_Abort
 *     crash   rank 1 gets SIGSEGV, for which Open MPI has a handler
 *     sleep   rank 1 sleeps SECONDS (default 3)
 *     loop    all ranks call for SECONDS (default 60); the script kills them
 *     cross   rank 1 calls on another communicator than the others, which wait for it, as it for them
 *     other   rank 1 reduces, the others broadcast, to and from rank 1: likewise
 *
 * Each rank prints "# rank R pid P"; rank 1 prints "# rank 1 stalls" just before it does.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forms.h"
#include "quick.h"
#include "tap.h"

#define GOOD_CALLS 5
#define COUNT 1000 /* elements, unless the arguments say how many */

static enum coll coll_by_name(const char *name)
{
    for (int c = 0; c < NUM_COLLS; c++) {
        if (0 == strcmp(name, coll_infos[c].name)) {
            return (enum coll) c;
        }
    }
    return COLL_ALLREDUCE;
}

static enum form form_by_name(const char *name)
{
    for (int f = 0; f < forms_here; f++) {
        if (0 == strcmp(name, form_names[f])) {
            return (enum form) f;
        }
    }
    return FORM_BLOCKING;
}

static void stall(const char *mode, int seconds)
{
    printf("# rank %d stalls\n", test_rank);
    fflush(stdout);
    if (0 == strcmp(mode, "sleep")) {
        quick_sleep(seconds * 1000000);
    } else if (0 == strcmp(mode, "exit")) {
        exit(3);
    } else if (0 == strcmp(mode, "abort")) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (0 == strcmp(mode, "crash")) {
        raise(SIGSEGV);
    } else {
        raise(0 == strcmp(mode, "kill") ? SIGKILL : SIGSTOP);
    }
}

/* Calls that never end. */
static void part_ways(const char *mode, MPI_Comm comm)
{
    int in = 1, out = 0;
    MPI_Comm other;

    if (0 == strcmp(mode, "cross")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_set_name(other, "other communicator");
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, other);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, 1 == test_rank ? other : comm);
    } else if (1 == test_rank) {
        MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 1, comm);
    } else {
        MPI_Bcast(&out, 1, MPI_INT, 1, comm);
    }
}

/* A persistent request is made by the first call and used by all. */
static bool call(struct form_call *c, enum form form, MPI_Request *request)
{
    if (FORM_BLOCKING == form && NULL == c->out.borrowed) {
        return quick_call(c->comm, c->shape.coll, c->shape.count, 0);
    }
    form_fill(c, 0);
    form_start(c, form, request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return form_check(c);
}

/*
 * Rank 0's clock decides, and the collective itself tells the others: the root of this Bcast is
 * rank 0.
 */
static bool loop(struct form_call *c, int seconds)
{
    double end = seconds_now() + seconds;
    MPI_Request none = MPI_REQUEST_NULL;
    int go = 1;
    bool ok = true;

    while (go) {
        ok = call(c, FORM_BLOCKING, &none) && ok;
        go = seconds_now() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, c->comm);
    }
    return ok;
}

int main(int argc, char **argv)
{
    struct form_shape shape = {.kind = KIND_UINT32, .count = COUNT};
    MPI_Request request = MPI_REQUEST_NULL;
    struct form_call c;
    const char *mode;
    enum form form;
    int seconds;
    MPI_Comm comm;
    bool ok = true;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    mode = argc > 1 ? argv[1] : "sleep";
    shape.coll = coll_by_name(argc > 2 ? argv[2] : "allreduce");
    seconds = argc > 3 ? atoi(argv[3]) : 0 == strcmp(mode, "loop") ? 60 : 3;
    form = form_by_name(argc > 4 ? argv[4] : "blocking");
    shape.count = argc > 5 ? atoi(argv[5]) : COUNT;
    printf("# rank %d pid %d\n", test_rank, (int) getpid());
    fflush(stdout);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "stalled communicator");
    kinds_open();
    form_make(&c, comm, &shape);
    for (int i = 0; i < GOOD_CALLS && 0 != strcmp(mode, "first"); i++) {
        ok = call(&c, form, &request) && ok;
    }
    if (0 == strcmp(mode, "loop")) {
        tap_note("looping");
        ok = loop(&c, seconds) && ok;
    } else if (0 == strcmp(mode, "cross") || 0 == strcmp(mode, "other")) {
        part_ways(mode, comm);
    } else if (1 == test_rank) {
        stall(mode, seconds);
    }
    for (int i = 0; i < GOOD_CALLS; i++) {
        ok = call(&c, form, &request) && ok;
    }
    tap_check(ok, "results before and after");
    tap_note(ok ? "finished right" : "finished wrong");
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    form_free(&c);
    kinds_close();
    MPI_Comm_free(&comm);
    return test_end();
}
