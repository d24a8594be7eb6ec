/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that does not come: stall MODE [COLLECTIVE [SECONDS]], to be watched by a script.
 *
 *     stop    rank 1 stops itself (SIGSTOP) before a call; the script continues it
 *     first   the same before the very first call on the communicator, so in set-up
 *     kill    rank 1 kills itself (SIGKILL)
 *     sleep   rank 1 sleeps SECONDS (default 3)
 *     loop    all ranks call for SECONDS (default 60); the script kills them
 *
 * Each rank prints "# rank R pid P"; rank 1 prints "# rank 1 stalls" just before it does.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quick.h"
#include "tap.h"

#define GOOD_CALLS 5
#define COUNT      1000

static enum coll coll_by_name(const char *name)
{
    static const char *const names[NUM_COLLS] = {"allreduce",            "allgather", "allgatherv", "reduce_scatter",
                                                 "reduce_scatter_block", "bcast",     "reduce"};

    for (int c = 0; c < NUM_COLLS; c++) {
        if (0 == strcmp(name, names[c])) {
            return (enum coll) c;
        }
    }
    return COLL_ALLREDUCE;
}

static void stall(const char *mode, int seconds)
{
    printf("# rank %d stalls\n", test_rank);
    fflush(stdout);
    if (0 == strcmp(mode, "sleep")) {
        quick_sleep(seconds * 1000000);
    } else {
        raise(0 == strcmp(mode, "kill") ? SIGKILL : SIGSTOP);
    }
}

/* Rank 0's clock decides, and the collective itself tells the others: the root of this Bcast is rank 0. */
static bool loop(MPI_Comm comm, int seconds)
{
    double end = seconds_now() + seconds;
    int go = 1;
    bool ok = true;

    while (go) {
        ok = quick_call(comm, COLL_ALLREDUCE, COUNT, 1) && ok;
        go = seconds_now() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, comm);
    }
    return ok;
}

int main(int argc, char **argv)
{
    const char *mode;
    enum coll coll;
    int seconds;
    MPI_Comm comm;
    bool ok = true;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    mode = argc > 1 ? argv[1] : "sleep";
    coll = coll_by_name(argc > 2 ? argv[2] : "allreduce");
    seconds = argc > 3 ? atoi(argv[3]) : 0 == strcmp(mode, "loop") ? 60 : 3;
    printf("# rank %d pid %d\n", test_rank, (int) getpid());
    fflush(stdout);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "stalled communicator");
    for (int i = 0; i < GOOD_CALLS && 0 != strcmp(mode, "first"); i++) {
        ok = quick_call(comm, coll, COUNT, 0) && ok;
    }
    if (0 == strcmp(mode, "loop")) {
        tap_note("looping");
        ok = loop(comm, seconds) && ok;
    } else if (1 == test_rank) {
        stall(mode, seconds);
    }
    for (int i = 0; i < GOOD_CALLS; i++) {
        ok = quick_call(comm, coll, COUNT, 0) && ok;
    }
    tap_check(ok, "results before and after");
    tap_note(ok ? "finished right" : "finished wrong");
    MPI_Comm_free(&comm);
    return test_end();
}
