/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls in host memory that check themselves, for tests of order and lifetime, not of data.
 * Thread-safe.
 */
#ifndef TEST_QUICK_H
#define TEST_QUICK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "colls.h"

/*
 * Calls beside the eight blocking ones: collectives that gpuring leaves to others, and nonblocking
 * ones.
 */
enum other {
    OTHER_BARRIER,
    OTHER_ALLTOALLV,
    OTHER_GATHER,
    OTHER_SCAN,
    OTHER_IBCAST,
    OTHER_IALLREDUCE,
    OTHER_IALLGATHER,
    NUM_OTHERS
};

/*
 * One call of the collective with about count 32-bit integers in each block. Count and salt are the
 * same on all ranks of the communicator. True when the result is right on this rank.
 */
bool quick_call(MPI_Comm comm, enum coll coll, int count, uint64_t salt);
bool quick_other(MPI_Comm comm, enum other other, int count, uint64_t salt);

void quick_sleep(int us);

/*
 * Sleeps up to max_us microseconds, one time in three; draws from *rng, of which every rank has its
 * own.
 */
void quick_delay(uint64_t *rng, int max_us);

#endif
