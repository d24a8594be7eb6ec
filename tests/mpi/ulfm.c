/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that dies inside collectives, under mpirun --with-ft ulfm (Open MPI 5): ulfm
 * blocking|nonblocking|persistent|first. "first": it dies before the first call, which makes links.
 * The last rank kills itself. The others get MPI_ERR_PROC_FAILED, revoke, shrink, and go on with
 * collectives on what is left, through gpuring. Prints TAP itself: the ranks of tap.h agree on
 * MPI_COMM_WORLD, which is broken here.
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

static int rank, size;
static MPI_Comm comm;

static int error_class(int code)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    return class;
}

/* One allreduce in the form that was asked for. MPI error code. */
static int call(const char *form, const int *in, int *out, MPI_Request *persistent)
{
    MPI_Request request;
    int rc, flag = 0;

    if (0 == strcmp(form, "persistent")) {
        rc = MPI_Start(persistent);
        while (MPI_SUCCESS == rc && !flag) {
            rc = MPI_Test(persistent, &flag, MPI_STATUS_IGNORE);
        }
        return rc;
    }
    if (0 == strcmp(form, "nonblocking")) {
        rc = MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm, &request);
        return MPI_SUCCESS == rc ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
    }
    return MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
}

/* The class of the first error that this rank gets; MPI_SUCCESS: it got none. */
static int collectives_until_error(const char *form)
{
    static int in[COUNT], out[COUNT];
    MPI_Request persistent = MPI_REQUEST_NULL;
    int first = 0 == strcmp(form, "first") ? 0 : BEFORE, k, rc = MPI_SUCCESS;

    if (0 == strcmp(form, "persistent")) {
        MPI_Allreduce_init(in, out, COUNT, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent);
    }
    for (k = 0; k < first + AFTER && MPI_SUCCESS == rc; k++) {
        if (first == k && size - 1 == rank) {
            raise(SIGKILL);
        }
        rc = call(form, in, out, &persistent);
    }
    return error_class(rc);
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
    const char *form = argc > 1 ? argv[1] : "blocking";
    unsigned long long before;
    struct mpit_totals totals;
    MPI_Comm left;
    bool right = true;
    int class, r, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mpit_counts_start();
    class = collectives_until_error(form);
    MPIX_Comm_revoke(comm);
    MPIX_Comm_shrink(comm, &left);
    MPI_Comm_rank(left, &r);
    MPI_Comm_size(left, &n);
    before = mpit_counts_read().calls;
    for (int k = 0; k < 3 * NUM_COLLS; k++) {
        right =
            quick_call(left, (enum coll)(k % NUM_COLLS), 0 == k % 2 ? 5 : COUNT, (uint64_t) k) &&
            right;
    }
    totals = mpit_counts_read();
    mpit_counts_stop();
    if (MPIX_ERR_PROC_FAILED != class && MPIX_ERR_REVOKED != class) {
        printf("# rank %d got error class %d\n", rank, class);
    }
    check(left, 1, size - 1 == n, "all other ranks are left");
    check(left, 2, MPIX_ERR_PROC_FAILED == class || MPIX_ERR_REVOKED == class,
          "each got MPI_ERR_PROC_FAILED, or MPI_ERR_REVOKED from one that had");
    check(left, 3, right, "collectives on the shrunk communicator are right");
    check(left, 4, totals.calls >= before + 3 * NUM_COLLS, "and gpuring did them");
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
