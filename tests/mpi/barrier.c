/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Barrier, MPI_Ibarrier and MPI_Barrier_init: barrier FILE [ROUNDS]. A rank that has not
 * entered holds all others back.
 *
 * FILE becomes memory that all ranks share, on all hosts of one machine: how often each rank has
 * entered, looked in vain, and left. Rank 0 makes the file. In each round another rank is late: it
 * enters only after all others have entered and looked, and none has left.
 *
 * barrier FILE stop: rank 1 stops itself (SIGSTOP) before its second barrier; the script that
 * started the program continues it.
 */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "forms.h" /* FORM_INIT */
#include "mpit_counts.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

enum { MAX_RANKS = 64, LOOKS = 20, COMMS = 3 };

/* Of one rank; numbers of rounds. */
struct record {
    _Atomic long entered, looked, left;
    char padding[64];
};

static struct record *records; /* [rank of MPI_COMM_WORLD] */
static long number;            /* of the round */
static uint64_t calls, mine;   /* random numbers: the same on all ranks, and of each rank */

static struct record *map(const char *path, bool create)
{
    size_t bytes = MAX_RANKS * sizeof(struct record);
    int fd = open(path, create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0600);
    void *at = MAP_FAILED;

    if (fd >= 0 && 0 == ftruncate(fd, (off_t) bytes)) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return MAP_FAILED == at ? NULL : at;
}

static struct record *map_on_all(const char *path)
{
    struct record *at = 0 == test_rank ? map(path, true) : NULL;

    tap_sync();
    return 0 == test_rank ? at : map(path, false);
}

/* Wait until all ranks but `except` have come so far. What they wait for is not MPI. */
static void await_looks(int except)
{
    int r;

    for (r = 0; r < test_size; r++) {
        while (r != except && records[r].looked < number) {
            sched_yield();
        }
    }
}

/* Whether no rank has left this round. */
static bool none_left(void)
{
    bool none = true;
    int r;

    for (r = 0; r < test_size; r++) {
        if (records[r].left >= number) {
            tap_fault("round %ld: rank %d has left, rank %d has not entered", number, r, test_rank);
            none = false;
        }
    }
    return none;
}

/* Whether all ranks have entered this round. */
static bool all_entered(void)
{
    bool all = true;
    int r;

    for (r = 0; r < test_size; r++) {
        if (records[r].entered < number) {
            tap_fault("round %ld: rank %d leaves before rank %d enters", number, test_rank, r);
            all = false;
        }
    }
    return all;
}

/* The late rank: all others have entered, and got a while to leave. */
static bool come_last(void)
{
    int k;

    await_looks(test_rank);
    for (k = 0; k < LOOKS * test_size; k++) {
        sched_yield();
    }
    return none_left();
}

/* The others look whether the request is complete, which it must not be. */
static bool look(MPI_Request *request)
{
    int done = 0, k;

    for (k = 0; k < LOOKS && !done; k++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        sched_yield();
    }
    if (done) {
        tap_fault("round %ld: complete on rank %d before all have entered", number, test_rank);
    }
    return !done;
}

/* One round of a form; request: of the persistent one. Rank `late` enters last. */
static bool round_of(enum form form, MPI_Comm comm, MPI_Request *request, int late)
{
    struct record *me = &records[test_rank];
    bool ok;

    number++;
    ok = late != test_rank || come_last();
    me->entered = number;
    if (FORM_BLOCKING == form) {
        me->looked = number; /* the late rank waits a while */
        MPI_Barrier(comm);
    } else {
        if (FORM_NONBLOCKING == form) {
            MPI_Ibarrier(comm, request);
        } else {
            MPI_Start(request);
        }
        ok = (late == test_rank || look(request)) && ok;
        me->looked = number;
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    ok = all_entered() && ok;
    me->left = number;
    tap_sync(); /* none enters the next round before all have checked this one */
    return ok;
}

static void make_request(enum form form, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    if (FORM_PERSISTENT == form) {
        FORM_INIT(Barrier, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    }
}

static void test_form(enum form form, int rounds)
{
    unsigned long long taken = mpit_counts_read().calls;
    MPI_Request request;
    bool ok = true;
    int k;

    make_request(form, &request);
    for (k = 0; k < rounds * test_size; k++) {
        ok = round_of(form, MPI_COMM_WORLD, &request, k % test_size) && ok;
    }
    if (FORM_PERSISTENT == form) {
        MPI_Request_free(&request);
    }
    taken = mpit_counts_read().calls - taken;
    tap_note("%s: gpuring took %llu", form_names[form], taken);
    tap_check(ok, "%s: whoever has not entered holds all others back", form_names[form]);
}

/* Pending barriers of several communicators, blocking ones among them, and other collectives. */
static bool mix_once(MPI_Comm *comms, bool freed)
{
    MPI_Request requests[4 * COMMS];
    bool ok = true;
    int n = 0, k, at;

    for (k = 0; k < 4 * COMMS; k++) {
        MPI_Comm comm = comms[rng_below(&calls, COMMS)];

        switch (rng_below(&calls, 4)) {
        case 0:
            MPI_Barrier(comm);
            break;
        case 1:
            ok = quick_call(comm, (enum coll) rng_below(&calls, NUM_COLLS),
                            1 + rng_below(&calls, 40), rng_next(&calls)) &&
                 ok;
            break;
        default:
            MPI_Ibarrier(comm, &requests[n++]);
        }
        quick_delay(&mine, 200);
    }
    if (freed) {
        MPI_Comm_free(&comms[0]);
    }
    while (n > 0) { /* in an order of each rank's own */
        at = rng_below(&mine, n);
        MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
        requests[at] = requests[--n];
    }
    return ok;
}

static void test_mixtures(int rounds)
{
    bool ok = true, taken = tap_agree(mpit_counts_read().calls > 0);
    int k;

    for (k = 0; k < 10 * rounds; k++) {
        MPI_Comm comms[COMMS];
        /* stock Open MPI 4.1 crashes where a communicator is freed while a barrier is pending */
        bool freed = taken && 0 == k % 3;
        int c;

        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comms[1]);
        MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &comms[2]);
        ok = mix_once(comms, freed) && ok;
        for (c = freed; c < COMMS; c++) {
            MPI_Comm_free(&comms[c]);
        }
    }
    tap_check(ok, "among other collectives, on communicators that come and go");
}

/* Several persistent barriers, started at once in orders of each rank's own. */
static void test_started_at_once(int rounds)
{
    MPI_Request requests[COMMS], turned[COMMS];
    int k, c;

    for (c = 0; c < COMMS; c++) {
        make_request(FORM_PERSISTENT, &requests[c]);
    }
    for (k = 0; k < 10 * rounds; k++) {
        for (c = 0; c < COMMS; c++) {
            turned[c] = requests[(c + test_rank + k) % COMMS];
        }
        MPI_Startall(COMMS, turned);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(COMMS, turned, MPI_STATUSES_IGNORE);
    }
    for (c = 0; c < COMMS; c++) {
        MPI_Request_free(&requests[c]);
    }
    tap_check(true, "persistent: several at once, each rank in its own order");
}

/* What gpuring leaves to others: one rank alone, and intercommunicators. */
static void test_others(void)
{
    MPI_Comm half, inter;
    MPI_Request request;
    int first = (test_size + 1) / 2, second = test_rank >= first;

    MPI_Barrier(MPI_COMM_SELF);
    MPI_Ibarrier(MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, second, test_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : first, 7, &inter);
    MPI_Barrier(inter);
    MPI_Ibarrier(inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    tap_check(true, "on one rank and between two groups");
}

static void stop(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (1 == test_rank) {
        printf("# rank 1 pid %d\n", (int) getpid());
        fflush(stdout);
        raise(SIGSTOP);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(true, "goes on when the stopped rank does");
}

static void test_all(int rounds)
{
    int form;

    for (form = 0; form < forms_here; form++) {
        test_form((enum form) form, rounds);
    }
    test_mixtures(rounds);
    if (forms_here > FORM_PERSISTENT) {
        test_started_at_once(rounds);
    }
    test_others();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    records = argc > 1 && test_size <= MAX_RANKS ? map_on_all(argv[1]) : NULL;
    calls = test_seed;
    mine = test_seed + 1 + (uint64_t) test_rank;
    if (!tap_agree(NULL != records)) {
        tap_check(false, "barrier FILE [ROUNDS]: all ranks map the file");
    } else if (argc > 2 && 0 == strcmp(argv[2], "stop")) {
        stop();
    } else {
        test_all(argc > 2 ? atoi(argv[2]) : 3);
    }
    if (0 == test_rank) {
        mpit_counts_list(stdout, "count");
    }
    return test_end();
}
