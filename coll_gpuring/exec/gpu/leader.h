/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The leader executor: the ranks of a call share one device, and one of them, the leader, launches
 * one kernel that works on the buffers of all (kernels/leader.cuh). Kernels of processes that share
 * a device would wait for each other while only one of them is resident; this one waits for nothing.
 *
 *      each rank                                         the leader, besides
 *      its inputs are ready: the device's default
 *      stream is empty, up to the call
 *      writes where its buffers are, and that it has
 *      arrived, on its board
 *                                                        all have arrived: claims the call, maps
 *                                                        the buffers, launches the kernel
 *                                                        the kernel has stored everything, and
 *                                                        `done` in pinned memory: writes it to
 *                                                        rank 0's board
 *      reads `done`
 *
 * Who leads. A kernel of another process than the last one costs a change of context, some 150 us
 * without MPS. So the leader of the last call claims the next one. Another rank does where its own
 * context is on the device, since its default stream was busy until it arrived as the last; or where
 * the last leader does not come for a while.
 *
 * Buffers. A buffer is mapped by CUDA IPC when its allocation is seen for the GR_LEADER_USES-th
 * time, since mapping takes some 0.3 ms; ranks see their own buffers only, and decide alone. What is
 * younger, or cannot be mapped (host, pinned and managed memory, pools, reserved ranges), is copied
 * by its owner, through a slab that the leader maps once: in pinned host memory where it is small,
 * since copies to the host change no context, else on the device. Calls larger than a slab go in
 * rounds, piece by piece, if some rank copies.
 *
 * The driver may wait for all work of a process when memory is mapped or allocated, and behind a
 * nonblocking call the application may have put work that waits for the call. So buffers and slabs
 * are mapped in blocking calls, and for others when the next is started (gr_leader_map_wanted());
 * until then they are copied, in small pieces, through slabs that all ranks map in the set-up.
 *
 * Boards. Each rank writes to its own (link/board.h), and the leader to rank 0's:
 *
 *      set 0   [rounds arrived at | - | where input and output are][their handles]
 *      set 1   [claim: call, and rank + 1 of its leader]             rank 0's
 *      set 2   [done: round, and how it ended | - | what follows]    rank 0's
 *      set 3   [the round whose kernel may have been launched]       rank 0's
 *
 * Failures. What fails before the first launch of a call is a refusal: all ranks learn of it from
 * `done`, and nothing was moved. Where only mappings failed, their owners copy, and all arrive once
 * more. A rank that leaves a call withdraws, on its board; the leader looks at that after it has
 * written to set 3, so that one of both sees the other.
 */
#ifndef GR_EXEC_GPU_LEADER_H
#define GR_EXEC_GPU_LEADER_H

#include "exec/gpu/leader_args.h"
#include "exec/gpu/team.h"
#include "exec/plan.h"
#include "link/team.h"

/* Uses of an allocation from which on it is mapped. */
#define GR_LEADER_USES 3

/* Memory of a leader's kernel, pinned: of the team, so that no call allocates it. */
struct gr_leader_words {
    _Atomic uint64_t done; /* the round whose kernel has stored everything */
    uint64_t pad[7];
    size_t sizes[]; /* counts [rank], displs [rank], places [rank * ranks + block] */
};

static inline size_t gr_leader_words_bytes(int p)
{
    size_t n = (size_t) p;

    return sizeof(struct gr_leader_words) + (2 * n + n * n) * sizeof(size_t);
}

/*
 * What a rank keeps for the calls of a team: mappings, and slabs. counter: a uint64_t of device
 * memory, zero; words: zero. Both are the team's. new: NULL: no memory.
 * free: NULL is fine; pool 0: the team's pool is closed already.
 */
struct gr_leader;
struct gr_leader *gr_leader_new(struct gr_gpu_team *team, gr_gpu_ptr counter,
                                struct gr_leader_words *words);
void gr_leader_free(struct gr_leader *leader, int pool);

/* Bytes of a set of the boards, for p ranks. */
size_t gr_leader_board_bytes(int p);

/* Whether so many ranks can have a leader. */
static inline int gr_leader_fits(int p)
{
    return p >= 2 && p <= GR_LEADER_RANKS;
}

/* Where a rank is in a call. */
enum gr_leader_state {
    GR_LEADER_FILL,    /* what is copied of its input is to be put on the stream */
    GR_LEADER_COPIES,  /* waits for these copies */
    GR_LEADER_ARRIVED, /* waits for the others, or the leader */
    GR_LEADER_LEADS,   /* is the leader; its kernel is on the device */
    GR_LEADER_TAKE,    /* waits until what is copied of its output is there */
    GR_LEADER_STOPPED  /* a rank has withdrawn: waits to be aborted */
};

/* A call of this rank. */
struct gr_leader_run {
    struct gr_leader *leader;
    struct gr_boards *boards;
    enum gr_kernel kernel;
    struct gr_plan_spec spec; /* in the kernel's elements; its arrays are the caller's */
    size_t scale;             /* kernel's elements in one of the caller's */
    gr_gpu_ptr at[2];         /* input, output; 0: this rank has none */
    int copied[2];            /* whether they are copied through the slab */
    size_t largest;           /* elements of the largest block */
    size_t most;              /* elements of each block in a piece */
    size_t cell;              /* bytes of a block in the slab */
    int on_device;            /* whether slabs of this call are on the device */
    enum gr_leader_state state;
    uint64_t call;          /* number of the call of the team */
    uint64_t round;         /* of the team */
    uint64_t piece, pieces; /* of the call; pieces 0: not known yet */
    int refused;            /* this rank cannot take part */
    int busy;               /* the default stream was at work at the call */
    int may_wait;           /* nothing that the application may have put on streams waits for MPI */
    int copies;             /* this rank copies its buffers in this call */
    int small;              /* the pieces of the call are those of the slabs of the set-up */
    int last;               /* all others had arrived when this rank did */
    int leads;              /* this rank has claimed the call */
    int arrived;            /* ranks from 0 on that were seen to have arrived */
    double since;           /* when all were seen to have arrived; 0: not yet */
    double turn;            /* seconds from then on for which the last leader may claim the call */
    uint32_t polls;
};

/*
 * Begin a call; no poll before the application's work on its buffers is done. in, out: device
 * addresses of the rank's buffers, or of pinned memory; not used where the collective has none for
 * this rank. spec's arrays must stay until the end. boards: of GR_WAY_LEADER. busy: the default
 * stream was at work at the call. may_wait: no work of the application on the device waits for this
 * call or another, so the driver may wait for that work.
 */
void gr_leader_begin(struct gr_leader_run *run, struct gr_leader *leader, struct gr_boards *boards,
                     const struct gr_plan_spec *spec, enum gr_kernel kernel, gr_gpu_ptr in,
                     gr_gpu_ptr out, int busy, int may_wait);

/*
 * In the set-up of the boards: put this rank's slab into set 0 of its board, and, when all have, map
 * those of others. What fails is made up for when a call needs it.
 */
void gr_leader_offer(struct gr_leader *leader, void *set);
void gr_leader_accept(struct gr_leader *leader, const struct gr_boards *boards);

/*
 * Map what calls wanted to be mapped while the driver was not to wait. No call of the team is in
 * progress, and the driver may wait.
 */
void gr_leader_map_wanted(struct gr_leader *leader);

/*
 * Advance. GR_DONE, GR_AGAIN; GR_ERR_FALLBACK: refused on all ranks, nothing was moved; or an error
 * of the driver.
 */
int gr_leader_poll(struct gr_leader_run *run, uint64_t *moved);

/*
 * Leave a call that has failed. Returns whether no kernel uses this rank's buffers any more; else
 * call again.
 */
int gr_leader_abort(struct gr_leader_run *run);

/*
 * The ranks that the call waits for: those that have not arrived, or the leader. ranks has an entry
 * for each rank. Returns their number; *leads: it is the leader.
 */
int gr_leader_waits(const struct gr_leader_run *run, int *ranks, int *leads);

#endif
