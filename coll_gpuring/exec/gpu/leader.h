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

#include "exec/gpu/leader_state.h"

/* The collectives that a leader's kernel can do (kernels/leader.cuh). */
#define GR_LEADER_COLLS (GR_BLOCK_COLLS | GR_ROOTED_COLLS | GR_BIT(GR_COLL_ALLTOALL))

/* Uses of an allocation from which on it is mapped. */
#define GR_LEADER_USES 3

/*
 * What a rank keeps for the calls of a team: mappings, and slabs. counter: a uint64_t of device
 * memory, zero; words: zero. Both are the team's. new: NULL: no memory.
 * free: NULL is fine; pool 0: the team's pool is closed already.
 */
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

/*
 * Begin a call; no poll before the application's work on its buffers is done. in, out: device
 * addresses of the rank's buffers, or of pinned memory; not used where the collective has none for
 * this rank. spec's arrays must stay until the end. boards: of GR_ALGO_LEADER. busy: the default
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
