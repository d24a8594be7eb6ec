/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which torus a communicator has: torus_of [TORUS]. 8 ranks; to be run with the algorithm bucket
 * and without mailboxes. A sum of floats whose sizes differ wildly depends on its order, and that
 * of a bucket on the extents, their order and which of them are lines: two communicators give the
 * same bits where they have the same torus. What is meant is said by the info key. TORUS: what the
 * parameter says, another one than 4x2.
 */
#include <mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rng.h"
#include "tap.h"

enum { COUNT = 4096 };

static const int ring[8] = {1, 1, 1, 1, 1, 1, 1, 1};

/* A hash of what this rank gets; frees comm. */
static uint64_t bits_of(MPI_Comm comm)
{
    static float in[COUNT], out[COUNT];
    uint64_t key = rng_key(7, 7, (uint64_t) test_rank), hash = 14695981039346656037u;

    for (int i = 0; i < COUNT; i++) {
        in[i] = ldexpf((float) rng_below(&key, 1 << 24), rng_below(&key, 40));
    }
    MPI_Allreduce(in, out, COUNT, MPI_FLOAT, MPI_SUM, comm);
    for (size_t i = 0; i < sizeof out; i++) {
        hash = (hash ^ ((unsigned char *) out)[i]) * 1099511628211u;
    }
    MPI_Comm_free(&comm);
    return hash;
}

static MPI_Comm keyed(MPI_Comm from, const char *torus)
{
    MPI_Comm comm;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "gpuring_torus", torus);
    MPI_Comm_dup_with_info(from, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

static uint64_t of_key(const char *torus)
{
    return bits_of(keyed(MPI_COMM_WORLD, torus));
}

static MPI_Comm grid(int n, const int *dims, const int *periods)
{
    MPI_Comm comm;

    MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &comm);
    return comm;
}

static uint64_t of_grid(int n, const int *dims, const int *periods)
{
    return bits_of(grid(n, dims, periods));
}

static uint64_t of_grid_and_key(const char *torus)
{
    MPI_Comm comm = grid(2, (int[]) {2, 4}, ring);
    uint64_t bits = bits_of(keyed(comm, torus));

    MPI_Comm_free(&comm);
    return bits;
}

int main(int argc, char **argv)
{
    uint64_t wide, tall;
    char longer[65];
    MPI_Comm plain;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    wide = of_key("4x2");
    tall = of_key("2x4");
    tap_check(wide != tall, "two tori, two results");
    tap_check(of_key("4x2") == wide, "the same again");
    tap_check(of_grid(2, (int[]) {2, 4}, ring) == wide, "MPI's last dimension is the first");
    tap_check(of_grid(2, (int[]) {4, 2}, ring) == tall, "and its first the last");
    tap_check(of_grid(2, (int[]) {2, 4}, (int[]) {0, 1}) == wide, "a line of two ranks is a ring");
    tap_check(of_grid(2, (int[]) {2, 4}, (int[]) {1, 0}) != wide, "a line of four is none");
    tap_check(of_grid(4, (int[]) {1, 2, 1, 4}, (int[]) {0, 1, 0, 1}) == wide,
              "extents of 1 are left out");
    tap_check(of_grid(6, (int[]) {2, 1, 2, 1, 2, 1}, ring) == of_key("2x2x2"),
              "however many there are");
    tap_check(of_grid_and_key("2x4") == tall, "the key comes before the grid");
    tap_check(of_grid_and_key("3x3") == wide, "the grid, where the key does not fit");
    tap_check(of_grid_and_key("2x") == wide, "the grid, where the key is none");
    /* whose first 63 characters are no torus, and which is one as a whole */
    snprintf(longer, sizeof longer, "%061d2x4", 0);
    tap_check(of_grid_and_key(longer) == wide, "the grid, where the key is too long to be read");
    if (argc > 1) {
        MPI_Comm_dup(MPI_COMM_WORLD, &plain);
        tap_check(bits_of(plain) == of_key(argv[1]),
                  "the parameter, where nothing else says anything");
        tap_check(of_grid(2, (int[]) {2, 4}, ring) == wide && of_key("4x2") == wide,
                  "and only there");
    }
    return test_end();
}
