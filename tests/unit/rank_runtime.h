/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's port (comm/runtime.h) for ranks that are threads of one process. A rank has a
 * process state and a pool of its own; messages lie in mailboxes in memory.
 */
#ifndef GR_TESTS_RANK_RUNTIME_H
#define GR_TESTS_RANK_RUNTIME_H

#include "comm/comm.h"
#include "comm/process.h"

#include <pthread.h>
#include <stdbool.h>

#define RR_MOST_RANKS 16

struct rr_letter;
struct rr_world;

/*
 * Whether the engine takes its locks. A test may clear it where the threads of two ranks never use
 * one process state: then each rank runs as a process of one thread does.
 */
extern bool rr_threads;

/* A rank: a thread. */
struct rr_rank {
    struct rr_world *world;
    int rank;
    pthread_t thread;
    struct gr_process process;
    struct gr_comm comm;            /* of all ranks */
    struct rr_letter *letters;      /* that have arrived; under the world's lock */
    struct rr_letter *job_messages; /* the same */
    int posts;                      /* messages posted so far */
    int fail_post;                  /* number of the post that fails, from 1; 0: none */
    int (*progress[2])(void *ctx);  /* registered functions, by enum gr_progress_kind */
    void *ctx[2];
};

/* A communicator of n ranks. */
struct rr_world {
    int n;
    int dead; /* 1 + the rank that has ended, as the runtime knows; 0: none */
    pthread_mutex_t lock;
    struct rr_rank ranks[RR_MOST_RANKS];
    /* counters of the engine's messages, calls and tests of memory, of all ranks together */
    atomic_int warnings, calls, fallbacks, tests;
};

/*
 * A world with n ranks, whose parameters have usable values; tests change them before the first
 * call. pool_bytes: most shared memory of a rank. NULL: no memory.
 */
struct rr_world *rr_world_new(int n, size_t pool_bytes);
/* Before the first call: a pool of at most that many bytes for the rank. */
void rr_limit_pool(struct rr_rank *rank, size_t pool_bytes);

void rr_world_free(struct rr_world *world);

/* Run a function in a thread for each rank, and wait for all. */
void rr_run(struct rr_world *world, void (*function)(struct rr_rank *rank));

#endif
