/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of every test program: rank 0 prints TAP lines, and what it prints is what all ranks
 * agreed on. They agree by point-to-point messages on a communicator of their own: nothing here
 * uses a collective that is under test.
 *
 *     test_begin(&argc, &argv, MPI_THREAD_SINGLE);
 *     tap_check(what_this_rank_saw, "what should hold");      every rank, in the same order
 *     return test_end();
 */
#ifndef TEST_TAP_H
#define TEST_TAP_H

#include <stdbool.h>
#include <stdint.h>

extern int test_rank; /* in MPI_COMM_WORLD */
extern int test_size;
extern uint64_t test_seed; /* the same on all ranks: GPURING_SEED, or drawn by rank 0 */

/* Initialises MPI with this thread level, the counters and the seed. Returns the level provided. */
int test_begin(int *argc, char ***argv, int level);

/* Prints the counters and the plan, finalises MPI; returns the exit status: 0. */
int test_end(void);

/* Collective: an ok line when every rank says so. */
void tap_check(bool mine, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Collective: an ok line with a SKIP directive. */
void tap_skip(const char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Local: a comment line of rank 0. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Local: what this rank found wrong; the first few of each rank are printed. */
void tap_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Collective: true when it is true on all ranks. */
bool tap_agree(bool mine);

/* Collective: rank 0's value. */
int64_t tap_share(int64_t value);

/* Collective: sum over the ranks. */
int64_t tap_sum(int64_t value);

/* Collective: nobody leaves before everybody has come. */
void tap_sync(void);

/* The integer in this environment variable, else the value given. */
long env_long(const char *name, long otherwise);

/* Seconds since some point in the past. */
double seconds_now(void);

#endif
