/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that join the job: spawn [child]. All ranks spawn two, which run this program; then
 * collectives on the intercommunicator, on the merged communicator, on parts of that, and on
 * MPI_COMM_WORLD of both sides; then they part, twice. At the end two halves of MPI_COMM_WORLD are
 * joined through a port.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"

#define CHILDREN 2
#define ROUNDS 2

/* Each of the eight and the others, of each size. */
static bool call_all(MPI_Comm comm)
{
    static const int counts[] = {1, 500, 60000};
    bool ok = true;

    for (int i = 0; i < 3; i++) {
        for (int coll = 0; coll < NUM_COLLS; coll++) {
            ok = quick_call(comm, (enum coll) coll, counts[i], (uint64_t) (i + coll)) && ok;
        }
        for (int other = 0; other < NUM_OTHERS; other++) {
            ok = quick_other(comm, (enum other) other, counts[i], (uint64_t) (i + other)) && ok;
        }
    }
    return ok;
}

/* Each side gets the sum of the other: of its ranks, each with 1 more. */
static bool call_between(MPI_Comm inter)
{
    int rank, remote, in, sum = 0;
    MPI_Request request;

    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    in = rank + 1;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, inter);
    if (remote * (remote + 1) / 2 != sum) {
        return false;
    }
    MPI_Ibarrier(inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_MAX, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(inter);
    return remote == sum;
}

/* The same on both sides; high: whether this side's ranks come last. */
static bool together(MPI_Comm inter, bool high)
{
    MPI_Comm merged, part;
    int rank;
    bool ok = call_between(inter);

    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Comm_rank(merged, &rank);
    ok = call_all(merged) && ok;
    MPI_Comm_split(merged, rank % 2, -rank, &part);
    ok = call_all(part) && ok;
    MPI_Comm_free(&part);
    ok = call_all(merged) && ok;
    MPI_Comm_free(&merged);
    return ok;
}

static int child(MPI_Comm parent)
{
    bool ok = together(parent, true) && call_all(MPI_COMM_WORLD);

    if (!ok) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

static bool with_children(char *program)
{
    char *argv[] = {"child", NULL};
    MPI_Comm inter;
    bool ok;

    MPI_Comm_spawn(program, argv, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    ok = together(inter, false);
    ok = call_all(MPI_COMM_WORLD) && ok;
    MPI_Comm_disconnect(&inter);
    return call_all(MPI_COMM_WORLD) && ok;
}

static bool through_port(void)
{
    const bool accepts = test_rank < test_size / 2;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;
    bool ok;

    MPI_Comm_split(MPI_COMM_WORLD, accepts, test_rank, &half);
    if (0 == test_rank) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, (int) sizeof port, MPI_CHAR, test_size / 2, 0, MPI_COMM_WORLD);
    } else if (test_size / 2 == test_rank) {
        MPI_Recv(port, (int) sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (accepts) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    } else {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    }
    ok = together(inter, accepts);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_free(&half);
    return ok;
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    if (argc > 1 && 0 == strcmp(argv[1], "child")) {
        MPI_Init(&argc, &argv);
        MPI_Comm_get_parent(&parent);
        return child(parent);
    }
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < ROUNDS; i++) {
        tap_check(with_children(argv[0]), "%d spawned processes, round %d", CHILDREN, i);
    }
    if (test_size < 2) {
        tap_skip("needs 2 ranks", "joined through a port");
    } else {
        tap_check(through_port(), "joined through a port");
    }
    return test_end();
}
