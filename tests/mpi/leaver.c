/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that has left a communicator while another one still sends to it, as after an error:
 * leaver FILE. Rank 1 frees the communicator and makes the file, without a call of MPI rank 0 waits
 * for the file, and then broadcasts on that communicator: for messages that nobody wants. What it
 * broadcasts on another one afterwards must arrive.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "quick.h"
#include "tap.h"

#define BYTES 60000 /* no more than the slots of a link hold */
#define ROUNDS 3

static bool bcast(MPI_Comm comm, int value)
{
    static char data[BYTES];
    int wrong = 0;

    memset(data, 0 == test_rank ? value : 0, BYTES);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, comm);
    for (int k = 0; k < BYTES; k++) {
        wrong += value != data[k];
    }
    if (wrong > 0) {
        tap_fault("%d of %d bytes are not %d", wrong, BYTES, value);
    }
    return 0 == wrong;
}

static void make_file(const char *name)
{
    FILE *file = fopen(name, "w");

    if (NULL != file) {
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm left, kept;
    bool ok = true;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    tap_check(bcast(left, 1) && bcast(kept, 2), "on both communicators"); /* makes links */
    if (1 == test_rank) {
        MPI_Comm_free(&left);
        make_file(argv[1]);
    } else {
        while (0 != access(argv[1], F_OK)) {
            quick_sleep(1000);
        }
        bcast(left, 3);
        MPI_Comm_free(&left);
    }
    for (int k = 0; k < ROUNDS; k++) {
        ok = bcast(kept, 4 + k) && ok;
    }
    tap_check(ok, "on the one that is left");
    MPI_Comm_free(&kept);
    return test_end();
}
