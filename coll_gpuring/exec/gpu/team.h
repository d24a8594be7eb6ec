/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device part of a team: one rank's device, its stream, its links, and the memory that host and
 * kernels share.
 *
 *      device memory                              pinned host memory
 *      [link ends in][link ends out] by protocol  [report of each channel]
 *      [cells][cursor of each channel][peers]     [abort word]
 *      [step tables]                              [cells][peers][step table], to be copied
 */
#ifndef GR_EXEC_GPU_TEAM_H
#define GR_EXEC_GPU_TEAM_H

#include "exec/gpu/state.h"

/*
 * Create a team without links. given: its members up to `status` are set; status counts where gpu
 * is NULL, else errors of the device become it. order: [position]: rank, forward direction; torus:
 * of the ranks; ids: [rank]: its device; none of them is kept. Returns NULL: no memory.
 */
struct gr_gpu_team *gr_gpu_team_create(const struct gr_gpu_team *given, const int *order,
                                       struct gr_torus torus, const struct gr_gpu_id *ids);

/*
 * Wait for the stream, release all links, and free the team. Sends no messages. team may be NULL.
 * pool 0: the pool is closed already, with its links.
 */
void gr_gpu_team_destroy(struct gr_gpu_team *team, int pool);

/* The state of an algorithm's links (enum gr_links). root matters for rooted algorithms only. */
unsigned char *gr_gpu_team_state(const struct gr_gpu_team *team, enum gr_algo algo, int root);

/* Release a connection's slabs. used: another rank may have used them. */
void gr_gpu_connection_release(const struct gr_gpu_team *team, struct gr_gpu_connection *connection,
                               int used);

/* ---- device memory ---- */

enum gr_gpu_region {
    GR_REGION_IN,      /* ends of links that this rank reads: struct gr_gpu_end */
    GR_REGION_OUT,     /* ends of links that this rank writes */
    GR_REGION_COUNTER, /* uint64_t: of a leader's kernel */
    GR_REGION_CURSORS, /* [nchannels]: struct gr_gpu_cursor */
    GR_REGION_CELLS,   /* [p]: struct gr_cells, of calls with counts of their own */
    GR_REGION_STEPS,   /* step tables */
    GR_REGION_PEERS,   /* [p]: outputs of other ranks (args.h) */
    GR_REGIONS
};
gr_gpu_ptr gr_gpu_team_region(const struct gr_gpu_team *team, enum gr_gpu_region region);

/* The ends of a protocol, in GR_REGION_IN or GR_REGION_OUT. */
gr_gpu_ptr gr_gpu_team_ends(const struct gr_gpu_team *team, enum gr_gpu_region region,
                            enum gr_protocol protocol);

/*
 * The step table of a schedule. If it is new, a copy of it is put on the stream. The last op's work
 * must be done. Returns 0 or GR_ERR_CUDA.
 */
int gr_gpu_team_steps(struct gr_gpu_team *team, const struct gr_plan_spec *spec, uint32_t nchunks,
                      struct gr_gpu_table *table);

/* ---- pinned memory, at the same address for host and kernels ---- */

enum gr_gpu_pinned_region {
    GR_PINNED_REPORTS, /* [nchannels]: struct gr_gpu_report */
    GR_PINNED_ABORT,   /* _Atomic uint64_t: kernels leave when it is not 0 */
    GR_PINNED_COUNTS,  /* [2 * p]: size_t: counts, then displs, in the kernel's elements */
    GR_PINNED_CELLS,   /* [p]: struct gr_cells, for GR_REGION_CELLS */
    GR_PINNED_STEPS,   /* a step table, for GR_REGION_STEPS */
    GR_PINNED_LEADER,  /* struct gr_leader_words, where so few ranks may have a leader */
    GR_PINNED_PEERS,   /* [p]: gr_gpu_ptr, for GR_REGION_PEERS */
    GR_PINNED_REGIONS
};
void *gr_gpu_team_pinned(const struct gr_gpu_team *team, enum gr_gpu_pinned_region region);

/*
 * ---- set-up: connect.c ----
 *
 * The set-up of device links: the device's row of struct gr_link_memory (link/connect.h).
 *
 *      reader   leases a slab for tail and slots
 *      writer   maps it, and replies with a slab for the heads. If its device cannot map the
 *               reader's memory, it replies with a slab for the whole link in pinned host memory
 *      reader   maps the writer's slab
 */

/*
 * Begin the set-up of an algorithm's links, with step tables and the link ends that kernels read.
 * algo may be GR_ALGO_LEADER: of no links.
 * Returns 0, or GR_ERR_NOMEM: the join has not begun.
 */
int gr_gpu_team_join(struct gr_join *join, struct gr_gpu_team *team, enum gr_algo algo, int root);

/*
 * ---- links between nodes: connect.c ----
 *
 * Each end is a FIFO of its own; kernels use one side of it, and the
 * network (net/), which the caller progresses, the other. The FIFO is in pinned host memory near
 * the device. If the network can access device memory, the slots are there:
 *
 *      slab in host memory     [heads][tail][slot][slot]...[valid_bytes][send_limit]
 *
 *      slab in host memory     [heads][tail][valid_bytes][send_limit]
 *      slots on the device     [slot][slot]...
 *
 * heads and tail have GR_GPU_ALIGN bytes each. A writer's FIFO has `valid_bytes`, the bytes in use
 * of each slot, which the kernel stores, and `send_limit`, the first slot that the network must not
 * send yet, which the host stores (struct gr_fifo, link/fifo.h). Only protocol Simple works between
 * nodes: the network neither finds the end of messages of LL and LL128, nor keeps flags and data
 * together.
 */

/* The FIFO of a connection, for the network. */
struct gr_fifo gr_gpu_remote_fifo(const struct gr_gpu_team *team,
                                  const struct gr_gpu_connection *connection, int writes);

/*
 * Number of the first slot that the network must not send yet, of a connection out; UINT64_MAX:
 * none.
 */
_Atomic uint64_t *gr_gpu_remote_send_limit(const struct gr_gpu_team *team,
                                           const struct gr_gpu_connection *connection);

/*
 * Begin (1) or end (0) to have the network look at all connections of the team each time: kernels
 * use their FIFOs, and cannot ring doorbells.
 */
void gr_gpu_remote_hold(const struct gr_gpu_team *team, int hold);

/*
 * Ranks on other nodes to which messages remain to be sent, on the first nchannels channels; at
 * most `most` of them. Returns their number.
 */
int gr_gpu_remote_unsent(const struct gr_gpu_team *team, uint32_t nchannels, int *ranks, int most);

#endif
