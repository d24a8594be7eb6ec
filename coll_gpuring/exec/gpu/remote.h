/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device links between nodes. Each end is a FIFO of its own; kernels use one side of it, and the
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
#ifndef GR_EXEC_GPU_REMOTE_H
#define GR_EXEC_GPU_REMOTE_H

#include "exec/gpu/team.h"
#include "link/fifo.h"

/*
 * Lease slabs for n connections, and set their ends. writes: 1: connections out. If the device has
 * no memory for slots, they are in host memory. Returns the result of gr_gpu_pool_lease().
 */
int gr_gpu_remote_lease(struct gr_gpu_team *team, struct gr_gpu_connection *connections, int n,
                        int writes);

/* Bytes of host memory of a connection whose slots are in host memory. */
size_t gr_gpu_remote_bytes(const struct gr_gpu_team *team);

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
