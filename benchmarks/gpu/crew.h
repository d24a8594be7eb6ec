/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes that run the ranks: one for all, or one for each. They meet in shared memory.
 * Forked before the driver is used.
 */
#ifndef BENCH_GPU_CREW_H
#define BENCH_GPU_CREW_H

#include <stddef.h>

enum { CREW_RANKS = 64, CREW_BYTES = 256 };

struct crew_shared;

struct crew {
    int ranks;
    int first; /* this process runs the ranks first .. first + n - 1 */
    int n;
    struct crew_shared *shared;
    void *board; /* memory that all processes share, zero at first */
};

/*
 * Runs work() in one process, or in one per rank, and returns the worst status. When a process is
 * killed or returns another status than 0 or 1, the others are killed: they may wait for it.
 */
int crew_run(int ranks, int processes, size_t board_bytes,
             int (*work)(struct crew *crew, void *ctx), void *ctx);

/* Returns when all processes have called it. */
void crew_meet(struct crew *crew);

/*
 * Exchanges at most CREW_BYTES of each rank: mine has those of this process's ranks, all gets those
 * of rank r at all + r * bytes. Collective.
 */
void crew_tell(struct crew *crew, const void *mine, void *all, size_t bytes);

/* The sum and the maximum over processes of a number that is not negative. Collective. */
double crew_sum(struct crew *crew, double mine);
double crew_max(struct crew *crew, double mine);

#endif
