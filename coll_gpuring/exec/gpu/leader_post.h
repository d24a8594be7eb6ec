/* SPDX-License-Identifier: BSD-3-Clause */
/* What the boards of a leader hold (leader.h). Internal to leader*.c. */
#ifndef GR_EXEC_GPU_LEADER_POST_H
#define GR_EXEC_GPU_LEADER_POST_H

#include "link/board.h"
#include "link/gpu_pool.h"
#include "link/ipc_cache.h"
#include "link/team.h"

#include <stdatomic.h>
#include <stdint.h>

/* Where a rank's input or output is. */
enum gr_leader_how {
    GR_LEADER_NONE,   /* the rank has none */
    GR_LEADER_MAPPED, /* in an allocation that the leader maps */
    GR_LEADER_COPIED, /* in the rank's slab, of which the owner keeps it up to date */
    GR_LEADER_LATE,   /* nowhere: the slab has no room for such pieces yet */
    GR_LEADER_REFUSED /* nowhere: the rank cannot take part */
};

struct gr_leader_place {
    uint64_t id; /* mapped: the driver's buffer id of the allocation; copied: the lease's number */
    uint64_t offset; /* of the buffer, in the allocation or the slab */
    uint64_t how;    /* enum gr_leader_how */
};

/* A rank's post: set 0 of its board. The first 64 bytes are all that a usual call reads. */
struct gr_leader_post {
    _Atomic uint64_t arrived;   /* rounds that the rank has arrived at */
    _Atomic uint64_t withdrawn; /* 1: it has left a call for good; written with the first post */
    struct gr_leader_place side[2];       /* input, output */
    struct gr_ipc_handle handle[2];       /* of those that are mapped */
    struct gr_gpu_slab_handle slab;       /* of the slab */
    struct gr_gpu_slab_handle first_slab; /* written in the set-up only; its lease 0: none */
    uint64_t has_places;                  /* 1: blocks of its output lie at places[] */
    uint64_t places[]; /* [block]: elements of the caller from the output's start */
};

/* How a round ended: the lower bits of `done`. */
enum gr_leader_end {
    GR_LEADER_OK = 1,
    GR_LEADER_AGAIN, /* some memory is not mapped: a new round does without it */
    GR_LEADER_REFUSAL,
    GR_LEADER_WITHDRAWN, /* a rank has left the call: nothing was launched */
    GR_LEADER_NENDS = 8
};

/* What is not mapped. all: whose allocations, a bit for each rank. */
struct gr_leader_unmapped {
    uint64_t all;
    uint64_t later; /* of these: they may be mapped for later calls */
    uint64_t slabs; /* 1: slabs, so the call goes in pieces for the slabs of the set-up */
};

/* Set 2 of rank 0's board. */
struct gr_leader_done {
    _Atomic uint64_t word;              /* round * GR_LEADER_NENDS + how it ended */
    uint64_t label;                     /* of boards; not used */
    uint64_t pieces;                    /* OK: of the call */
    struct gr_leader_unmapped unmapped; /* AGAIN */
};

/* Claims: the call, and 1 + the rank of its leader. */
#define GR_LEADER_CLAIMS 128

enum { GR_LEADER_SET_POST, GR_LEADER_SET_CLAIM, GR_LEADER_SET_DONE, GR_LEADER_SET_TAKEN };

static inline unsigned char *gr_leader_set(const struct gr_boards *boards, int rank, uint32_t set)
{
    return boards->box.boards[rank].sets + set * boards->box.stride;
}

static inline struct gr_leader_post *gr_leader_post_of(const struct gr_boards *boards, int rank)
{
    return (struct gr_leader_post *) (void *) gr_leader_set(boards, rank, GR_LEADER_SET_POST);
}

static inline struct gr_leader_done *gr_leader_done_of(const struct gr_boards *boards)
{
    return (struct gr_leader_done *) (void *) gr_leader_set(boards, 0, GR_LEADER_SET_DONE);
}

static inline _Atomic uint64_t *gr_leader_claim(const struct gr_boards *boards)
{
    return gr_board_epoch(gr_leader_set(boards, 0, GR_LEADER_SET_CLAIM));
}

static inline _Atomic uint64_t *gr_leader_taken(const struct gr_boards *boards)
{
    return gr_board_epoch(gr_leader_set(boards, 0, GR_LEADER_SET_TAKEN));
}

#endif
