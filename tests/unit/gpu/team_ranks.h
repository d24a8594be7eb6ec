/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a communicator inside one process, for the tests of exec/gpu/team.h: each has host
 * and a pool of its own, as if it were a process, and rank r uses device r modulo their number.
 * This harness carries the handles and replies that the engine sends as messages. What ranks do,
 * each does in a thread of its own.
 *
 * team_driver.c   the driver's functions, counted and made to fail team_ranks.c    ranks, teams,
 * and the making of links team_net.c      the network between them, where they are on several nodes
 * team_calls.c    calls with buffers in device memory team_test.c     calls of every kind, and the
 * main program; team_kernel_rows.c, team_link_rows.c, team_nodes_rows.c,
 *                 team_stop_rows.c and team_fail_rows.c have the other rows
 */
#ifndef GR_TESTS_TEAM_RANKS_H
#define GR_TESTS_TEAM_RANKS_H

#include "device_app.h"
#include "team_driver.h"

#include "sanitizer/sanitizer.h"

#include "cuda/device.h"
#include "exec/gpu/op.h"

#define TR_RANKS 8

#define TR_TSAN GR_SANITIZER(0, 0, 1)

/* Threads of a block where a test is not about their number: two warps. */
enum { TR_THREADS = 64 };

struct tr_rank {
    struct gr_gpu *gpu;
    struct gr_pool *host;
    struct gr_gpu_pool *pool;
    struct gr_ipc_cache *share;
};

struct tr_world {
    int p;
    struct gr_gpus *gpus;
    struct gr_gpu_id ids[TR_RANKS];
    struct tr_rank ranks[TR_RANKS];
};

/*
 * How much memory ranks may use, and of how many threads blocks are (0: as many as in an
 * application).
 */
struct tr_bounds {
    size_t host, pool;
    uint32_t threads;
};

/* Whether there are kernels of few types and operations only (team_kernels.cu). */
int tr_few_kernels(void);

/* bounds NULL: what is enough. */
void tr_open(struct tr_world *w, int p, const struct tr_bounds *bounds);

/* Nothing may be leased any more, and nothing may be left when all is closed. */
void tr_close(struct tr_world *w);

/* Bytes that the rank's pools have leased, of device memory and host. */
size_t tr_leased(const struct tr_world *w, int rank);

/* Call body for each of p ranks, each in a thread. */
typedef void (*tr_body)(void *ctx, int rank);
void tr_each(int p, tr_body body, void *ctx);

/* ---- teams ---- */

struct tr_team {
    struct tr_world *world;
    struct gr_gpu_team *ranks[TR_RANKS];
    /* of the last making of links */
    enum gr_algo algo;
    int root;
    struct gr_join joins[TR_RANKS];
    struct gr_join_agreement mine[TR_RANKS], agreed;
    /* NULL, or called when offers (0), answers (1) have arrived */
    void (*carried)(struct tr_team *, int answers);
};

struct tr_shape {
    uint32_t nchannels, nslots;
    size_t slot_bytes;
    int order[TR_RANKS];   /* all 0: that of the ranks */
    struct gr_torus torus; /* that they form; ndims 0: none */
    int lacking;           /* 1: rank 1 has no device */
};

void tr_make(struct tr_team *t, struct tr_world *w, const struct tr_shape *shape);

/* Make the links that are missing. Returns the worst status. */
int tr_link(struct tr_team *t, enum gr_algo algo, int root);

/* How far the rank's links of an algorithm are: an enum gr_links. */
int tr_state(const struct tr_team *t, int rank, enum gr_algo algo, int root);

/* Leave it: one rank, or all that have not. */
void tr_leave_rank(struct tr_team *t, int rank);
void tr_leave(struct tr_team *t);

/*
 * What most rows begin and end with: the row's world, a team of p ranks, and the links of an
 * algorithm.
 */
enum { TR_NO_LINKS = -1 };
void tr_set_up(struct tr_team *t, int p, const struct tr_shape *shape, int algo);
void tr_tear_down(struct tr_team *t);

#endif
