/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a communicator inside one process: each has a pool and a team of its own, as if it
 * were a process, and this harness carries the handles between them that the engine would send as
 * messages.
 *
 *      EX_STEPPED   one thread runs all ranks, any of them next, each as far as a coin lets it: a
 *                   repeatable order
 *      EX_THREADS   a thread per rank, with delays
 *
 * Ranks go from one case to the next without waiting for each other, so several collectives are
 * under way on the same links. A gate before the host executor's ready() makes a stepper leave and
 * come back at any slot.
 *
 * The thread sanitizer knows memory by its address, and a link's two ends are two mappings of the
 * same memory. Under it the writer is therefore given the reader's address (after its own mapping
 * was made, and not used).
 *
 * exec_ranks.c   ranks, pools, teams, and the making of links
 * exec_run.c     running cases
 */
#ifndef GR_TESTS_EXEC_RANKS_H
#define GR_TESTS_EXEC_RANKS_H

#include "sanitizer/sanitizer.h"
#include "exec_data.h"

#include "exec/grouped.h"
#include "exec/host.h"
#include "link/connect.h"
#include "timing/port.h"
#include "timing/timer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define EX_TSAN GR_SANITIZER(0, 0, 1)

enum ex_mode { EX_STEPPED, EX_THREADS };

/*
 * The context of the gated executor: the host executor's, and a coin. Mailboxes ask the coin, too.
 */
struct ex_gate {
    struct gr_host_op op; /* first: the host executor takes a gate for its own context */
    uint64_t *random;
    unsigned one_in; /* one in so many questions is answered "not ready"; 0: none */
};

struct ex_world;

struct ex_rank {
    struct ex_world *world;
    int rank;
    struct gr_pool *pool;
    struct gr_team *team;
    struct gr_join join;
    struct gr_join_agreement joined; /* this rank's, after mapping */
    struct ex_gate gate;
    unsigned char *bounce;
    struct gr_plan plan;
    struct gr_stepper stepper;
    struct gr_timer timer; /* where the world has timing */
    struct gr_sync_port port;
    struct gr_plan_spec spec;    /* of the call that is timed */
    struct gr_grouped_call mail; /* in one mailbox: its `whole` */
    int posted;
    struct ex_buffers buffers;
    size_t at; /* number of the case that runs */
    int running;
    uint64_t random, hash, slots, idle;
    char why[160]; /* "" while all is well */
};

struct ex_world {
    struct gr_team_params params;
    int32_t pids[EX_MAX_RANKS]; /* all this process's */
    uint64_t first;             /* the next team's mailbox epochs begin after it; 0: as usual */
    struct ex_rank *ranks;
    uint64_t seed;          /* of all timing */
    unsigned one_in;        /* for all gates */
    uint32_t channels;      /* that set-ups of links make; 0: all */
    enum gr_step_sync sync; /* how steps are timed; set it, then ex_timers() */
    size_t polls; /* EX_STEPPED: leave everything as it is after so many polls; 0: never */
    /* the cases of this run */
    const struct ex_case *cases;
    size_t ncases;
    unsigned char **want;
    struct gr_join_agreement agreed; /* of the last set-up */
    pthread_barrier_t barrier;
    atomic_int stop; /* some rank has failed */
    char why[512];
};

/* Pools of at most pool_bytes each, and teams. 0, or -1 with why. */
int ex_open(struct ex_world *w, const struct gr_team_params *params, size_t pool_bytes,
            uint64_t seed);

/* Leave the teams, and make new ones over the same pools. */
void ex_leave(struct ex_world *w);
int ex_team(struct ex_world *w);

void ex_close(struct ex_world *w);

/*
 * Make what a way needs, from one thread. Returns the worst status; -1000 where the handles do
 * not match.
 */
int ex_link(struct ex_world *w, int use, int root);

/* The part of rank r in it, for r's own thread; all threads meet at the barrier. */
void ex_link_rank(struct ex_rank *r, int use, int root);

/*
 * Make the slabs for notes, and a timer at each rank, with that torus. From one thread; before the
 * links.
 */
void ex_timers(struct ex_world *w, enum gr_step_sync sync);

/* Whether this process may read its own memory in the way in which it would read another's. */
int ex_can_fetch(void);

/* Make the links that the cases need and run the cases on all ranks. 0, or -1 with why. */
int ex_run(struct ex_world *w, const struct ex_case *cases, size_t n, enum ex_mode mode);

#endif
