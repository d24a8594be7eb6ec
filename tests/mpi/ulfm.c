/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that dies inside collectives, under mpirun --with-ft ulfm (Open MPI 5):
 *
 *      ulfm blocking|nonblocking|persistent|first [allreduce|small|barrier [RANK]]
 *
 * first: it dies before the first call, which makes links. small: an allreduce of 16 B, through
 * boards. RANK, the last one if it is not given, kills itself. The others get MPI_ERR_PROC_FAILED,
 * revoke, shrink, and go on with collectives and barriers on what is left, through gpuring. Prints
 * TAP itself: the ranks of tap.h agree on MPI_COMM_WORLD, which is broken here.
 */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OMPI_MAJOR_VERSION)
#include <mpi-ext.h>
#endif

#include "colls.h"
#include "mpit_counts.h"
#include "quick.h"

#if defined(OMPI_HAVE_MPI_EXT_FTMPI)

/* Calls before the rank dies, and most that the others make afterwards. */
#define BEFORE 5
#define AFTER 50
#define COUNT 3000
#define SMALL 4

static int rank, size;
static MPI_Comm comm;
static const char *form;
static int count;  /* of an allreduce; 0: barriers instead */
static int victim; /* the rank that dies */

static int error_class(int code)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    return class;
}

static bool form_is(const char *name)
{
    return 0 == strcmp(form, name);
}

/* One call in the form that was asked for. MPI error code. */
static int call(const int *in, int *out, MPI_Request *persistent)
{
    MPI_Request request;
    int rc, flag = 0;

    if (form_is("persistent")) {
        rc = MPI_Start(persistent);
        while (MPI_SUCCESS == rc && !flag) {
            rc = MPI_Test(persistent, &flag, MPI_STATUS_IGNORE);
        }
        return rc;
    }
    if (form_is("nonblocking")) {
        rc = 0 == count ? MPI_Ibarrier(comm, &request)
                        : MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
        return MPI_SUCCESS == rc ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
    }
    return 0 == count ? MPI_Barrier(comm) : MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
}

/* The class of the first error that this rank gets; MPI_SUCCESS: it got none. */
static int collectives_until_error(void)
{
    static int in[COUNT], out[COUNT];
    MPI_Request persistent = MPI_REQUEST_NULL;
    int first = form_is("first") ? 0 : BEFORE, k, rc = MPI_SUCCESS;

    if (form_is("persistent") && 0 == count) {
        MPI_Barrier_init(comm, MPI_INFO_NULL, &persistent);
    } else if (form_is("persistent")) {
        MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent);
    }
    for (k = 0; k < first + AFTER && MPI_SUCCESS == rc; k++) {
        if (first == k && victim == rank) {
            raise(SIGKILL);
        }
        rc = call(in, out, &persistent);
    }
    return error_class(rc);
}

/* Each of the collectives and a barrier, three times. Whether all were right. */
static bool go_on(MPI_Comm left)
{
    bool right = true;
    int k;

    for (k = 0; k < 3 * NUM_COLLS; k++) {
        right =
            quick_call(left, (enum coll)(k % NUM_COLLS), 0 == k % 2 ? 5 : COUNT, (uint64_t) k) &&
            right;
    }
    for (k = 0; k < 3; k++) {
        right = MPI_SUCCESS == MPI_Barrier(left) && right;
    }
    return right;
}

/* Rank 0's TAP line says what held on all ranks of the communicator. */
static bool check(MPI_Comm on, int number, bool mine, const char *what)
{
    int all = 0, one = mine, r;

    MPI_Comm_rank(on, &r);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_LAND, on);
    if (0 == r) {
        printf("%s %d - %s\n", all ? "ok" : "not ok", number, what);
    }
    return all;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "allreduce";
    unsigned long long before;
    struct mpit_totals totals;
    MPI_Comm left;
    bool right;
    int class, r, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    form = argc > 1 ? argv[1] : "blocking";
    count = 0 == strcmp(what, "barrier") ? 0 : 0 == strcmp(what, "small") ? SMALL : COUNT;
    victim = argc > 3 ? atoi(argv[3]) : size - 1;
    mpit_counts_start();
    class = collectives_until_error();
    MPIX_Comm_revoke(comm);
    MPIX_Comm_shrink(comm, &left);
    MPI_Comm_rank(left, &r);
    MPI_Comm_size(left, &n);
    before = mpit_counts_read().calls;
    right = go_on(left);
    totals = mpit_counts_read();
    mpit_counts_stop();
    if (MPIX_ERR_PROC_FAILED != class && MPIX_ERR_REVOKED != class) {
        printf("# rank %d got error class %d\n", rank, class);
    }
    check(left, 1, size - 1 == n, "all other ranks are left");
    check(left, 2, MPIX_ERR_PROC_FAILED == class || MPIX_ERR_REVOKED == class,
          "each got MPI_ERR_PROC_FAILED, or MPI_ERR_REVOKED from one that had");
    check(left, 3, right, "collectives on the shrunk communicator are right");
    check(left, 4,
          before >= (form_is("first") ? 0 : BEFORE) && totals.calls >= before + 3 * (NUM_COLLS + 1),
          "and gpuring did them, and those before the death");
    if (0 == r) {
        printf("1..4\n# gpuring calls %llu handovers %llu\n", totals.calls, totals.handovers);
    }
    fflush(stdout);
    MPI_Comm_free(&left);
    MPI_Finalize();
    return EXIT_SUCCESS;
}

#else

int main(void)
{
    printf("1..0 # SKIP this Open MPI has no ULFM\n");
    return EXIT_SUCCESS;
}

#endif
