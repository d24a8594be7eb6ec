/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of collect.h. */
#include "collect.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TAG_GATHER = 1, TAG_SHARE = 2, TAG_BEGIN = 3 };

void collect_gather(const void *mine, void *all, size_t bytes)
{
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (0 != rank) {
        MPI_Send(mine, (int) bytes, MPI_BYTE, 0, TAG_GATHER, MPI_COMM_WORLD);
        return;
    }
    memcpy(all, mine, bytes);
    for (int r = 1; r < ranks; r++) {
        MPI_Recv((char *) all + (size_t) r * bytes, (int) bytes, MPI_BYTE, r, TAG_GATHER,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

void collect_share(void *data, size_t bytes)
{
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (0 != rank) {
        MPI_Recv(data, (int) bytes, MPI_BYTE, 0, TAG_SHARE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int r = 1; r < ranks; r++) {
        MPI_Send(data, (int) bytes, MPI_BYTE, r, TAG_SHARE, MPI_COMM_WORLD);
    }
}

double collect_sum(double mine)
{
    int rank, ranks;
    double other;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (0 != rank) {
        MPI_Send(&mine, 1, MPI_DOUBLE, 0, TAG_GATHER, MPI_COMM_WORLD);
    }
    for (int r = 1; 0 == rank && r < ranks; r++) {
        MPI_Recv(&other, 1, MPI_DOUBLE, r, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mine += other;
    }
    return mine;
}

bool collect_agree(bool mine)
{
    double refusals = collect_sum(mine ? 0 : 1);

    collect_share(&refusals, sizeof refusals);
    return 0 == refusals;
}

bool collect_complaint(char *text, size_t bytes)
{
    char other[bytes];
    int rank, ranks;
    bool silent;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (0 != rank) {
        MPI_Send(text, (int) bytes, MPI_BYTE, 0, TAG_GATHER, MPI_COMM_WORLD);
    }
    for (int r = 1; 0 == rank && r < ranks; r++) {
        MPI_Recv(other, (int) bytes, MPI_BYTE, r, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if ('\0' == text[0] && '\0' != other[0]) {
            snprintf(text, bytes, "rank %d: %s", r, other);
        }
    }
    silent = '\0' == text[0];
    collect_share(&silent, sizeof silent);
    return silent;
}

void collect_begin_together(void)
{
    int rank, ranks, distance;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (distance = 1; distance < ranks; distance *= 2) {
        MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + distance) % ranks, TAG_BEGIN, NULL, 0, MPI_BYTE,
                     (rank + ranks - distance) % ranks, TAG_BEGIN, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}
