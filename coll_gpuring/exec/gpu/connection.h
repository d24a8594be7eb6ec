/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: the ends of device links that a rank holds. */
#ifndef GR_EXEC_GPU_CONNECTION_H
#define GR_EXEC_GPU_CONNECTION_H

#include "exec/gpu/args.h"
#include "link/connect.h"
#include "link/gpu_pool.h"

struct gr_gpu_team;

/* Connection of a device link: its slabs and mappings at this end. Kept as long as the link. */
struct gr_gpu_connection {
    struct gr_connection end;

    /*
     * This rank's slab. Inside a node: tail and slots (in), heads (out), or all of them in pinned
     * host memory (out, if this device cannot map the reader's). Between nodes: see remote.h.
     */
    struct gr_gpu_slab *slab;

    struct gr_gpu_slab *slots;   /* between nodes: slots on the device; NULL: they are in `slab` */
    struct gr_gpu_mapped mapped; /* the other rank's slab; at 0: not mapped */
    struct gr_gpu_end ends[GR_NPROTOCOLS]; /* for kernels, by protocol */
    struct gr_gpu_slab_handle handle;      /* of the reader's slab, which the writer maps */
    struct gr_gpu_slab_handle reply;       /* of the writer's slab, which the reader maps */
    struct gr_gpu_connection *next_remote; /* next one of the team's list, in or out */
};

/* Lease a slab for each of n connections. Returns the result of gr_gpu_pool_lease(). */
int gr_gpu_connections_lease(const struct gr_gpu_team *team, enum gr_gpu_where where, size_t bytes,
                             size_t clean, struct gr_gpu_connection *connections, int n);

/* Release a connection's slabs. used: another rank may have used them. */
void gr_gpu_connection_release(const struct gr_gpu_team *team, struct gr_gpu_connection *connection,
                               int used);

#endif
