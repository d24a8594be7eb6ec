/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a team's device part: connections, which are the ends of links, and what it owns. */
#ifndef GR_EXEC_GPU_STATE_H
#define GR_EXEC_GPU_STATE_H

#include "exec/gpu/step_tables.h"
#include "link/connect.h"
#include "link/gpu_pool.h"
#include "link/ipc_cache.h"

struct gr_leader;

/* Connection of a device link: its slabs and mappings at this end. Kept as long as the link. */
struct gr_gpu_connection {
    struct gr_connection end;

    /*
     * This rank's slab. Inside a node: tail and slots (in), heads (out), or all of them in pinned
     * host memory (out, if this device cannot map the reader's). Between nodes: see team.h.
     */
    struct gr_gpu_slab *slab;

    struct gr_gpu_slab *slots;   /* between nodes: slots on the device; NULL: they are in `slab` */
    struct gr_gpu_mapped mapped; /* the other rank's slab; at 0: not mapped */
    struct gr_gpu_end ends[GR_NPROTOCOLS]; /* for kernels, by protocol */
    struct gr_gpu_slab_handle handle;      /* of the reader's slab, which the writer maps */
    struct gr_gpu_slab_handle reply;       /* of the writer's slab, which the reader maps */
    struct gr_gpu_connection *next_remote; /* next one of the team's list, in or out */
};

/* The members up to `status` are given to gr_gpu_team_create(), and what they point to is borrowed. */
struct gr_gpu_team {
    int p;                       /* number of ranks */
    int rank;                    /* this rank */
    uint32_t nchannels;          /* channels of links, <= GR_GPU_CHANNELS */
    uint32_t nslots;             /* slots of a link */
    size_t slot_bytes;           /* of a slot in protocol Simple, a multiple of GR_GPU_ALIGN */
    const unsigned char *remote; /* [rank]: 1: on another node, so Simple is used; NULL: none is */
    enum gr_gpu_rdma rdma;       /* whether and how the network writes to this rank's device */
    /*
     * Path of the slowest links. As given: what it is if all peers' memory can be mapped; after a
     * set-up: as all ranks agreed.
     */
    enum gr_path path;
    int contends;                   /* some ranks share a device without MPS; equal on all ranks */
    struct gr_gpu *gpu;             /* NULL: none */
    struct gr_gpu_pool *pool;       /* where slabs are leased */
    struct gr_ipc_cache *ipc_cache; /* mappings of application memory; NULL: no zero copy */
    /* 0, or the error that makes all set-ups of links fail. As given it counts where gpu is NULL */
    int status;

    uint32_t usable;                /* channels of calls, agreed by all ranks in the last set-up */
    int one_device;                 /* all ranks use the same device; the same on all ranks */
    int refused;                    /* some rank cannot use devices; agreed by all ranks */
    struct gr_ipc_mapped *mappings; /* [rank]: of outputs, by the current call */
    struct gr_gpu_stream *stream;   /* all kernels run here */
    struct gr_rings rings;          /* orders of the ranks */
    struct gr_gpu_connection *in;   /* [channel * p + rank]: connected: ends[0].slots not 0 */
    struct gr_gpu_connection *out;  /* [channel * p + rank] */
    struct gr_gpu_connection *remote_in;  /* list of those of `in` to other nodes */
    struct gr_gpu_connection *remote_out; /* list of those of `out` to other nodes */
    unsigned char *links;                 /* [algorithm * p + root]: enum gr_links */
    unsigned char *pinned;                /* the pinned memory */
    gr_gpu_ptr tables;                    /* the device memory */
    size_t longest_table;                 /* bytes of the longest step table */
    struct gr_gpu_tables steps;           /* step tables in GR_REGION_STEPS */
    uint64_t launches;                    /* number of launches so far */
    uint64_t zeros;           /* calls so far that may use zero copy; equal on all ranks */
    struct gr_leader *leader; /* of calls with one kernel for all ranks; NULL: there are none */
};

#endif
