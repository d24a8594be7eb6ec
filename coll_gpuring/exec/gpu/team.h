/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device part of a team: one rank's device, its stream, and its links in device memory.
 *
 *      this rank's device memory              pinned host memory
 *      [ends in][ends out], by protocol       [report of each channel]
 *      [order 0][order 1][counts][displs]     [abort word][counts, displs, peers on their way]
 *      [place of each channel][peers]
 *      [steps], by algorithm and root
 *
 * Links are made by the steps of link/connect.h. The writer, too, has something that its peer must
 * map: readers lease a slab for tail and slots; writers map it and reply with a slab for the heads;
 * or, if their device cannot map the reader's, with a slab for the whole link in pinned host memory.
 *
 * A link to a rank on another node lies in pinned host memory at both ends: a FIFO each (remote.c)
 * whose other end is the caller's network, which moves what kernels push and needs nothing of them.
 * Where that reaches device memory, an end's slots lie there; only its own are its concern.
 *
 *      writer's slab [head][tail][slot][slot]...[fill][until]  ~~ network ~~>  reader's slab [head][tail][slot][slot]...
 */
#ifndef GR_EXEC_GPU_TEAM_H
#define GR_EXEC_GPU_TEAM_H

#include "exec/gpu/step_tables.h"
#include "cuda/device.h"
#include "cuda/rdma.h"
#include "exec/plan.h"
#include "link/connect.h"
#include "link/gpu_pool.h"
#include "link/ipc_cache.h"
#include "link/rings.h"

struct gr_gpu_team {
    int p, rank;
    /* 0, or why the device part is missing: such a team's set-ups all fail */
    int status;
    uint32_t nchannels, nslots;
    size_t slot_bytes;
    /* channels that calls may use: by the last verdict, the same on all ranks */
    uint32_t usable;
    int shared; /* whether another rank uses the same device */
    /*
     * [rank]: whether it is on another node; NULL: none is. Where some is, calls go in the Simple
     * protocol, on all ranks alike
     */
    const unsigned char *remote;
    /* whether, and how, the network writes to slots on this rank's device */
    enum gr_gpu_rdma direct;
    enum gr_path path; /* what the links are like: the same on all ranks */
    struct gr_gpu *gpu;
    struct gr_gpu_pool *pool;
    struct gr_ipc_cache *share; /* of the application's memory; NULL: no zero copy */
    /* [rank]: outputs of others that the call under way has mapped */
    struct gr_ipc_mapped *outputs;
    struct gr_gpu_stream *stream;
    struct gr_rings rings;
    /* [channel * p + rank]: what is held; connected where ends[0].slots is not 0 */
    struct gr_gpu_connection *in, *out;
    unsigned char *links;  /* [algorithm * p + root]: an enum gr_links */
    unsigned char *pinned; /* what host and kernels share */
    gr_gpu_ptr tables;     /* in device memory */
    /* [algorithm * p + root]: steps that kernels read there, or NULL */
    struct gr_gpu_steps **steps;
    uint64_t launches; /* so far, */
    /* and calls that might use zero copy: the same number on all ranks */
    uint64_t zeros;
};

/* One link that is there or being made. */
struct gr_gpu_connection {
    struct gr_connection end;
    /* mine: tail and slots (in), head (out), or all three (out, in host memory; remote) */
    struct gr_gpu_slab *slab;
    struct gr_gpu_slab *slots;   /* remote: slots on the device; NULL: they are in the slab */
    struct gr_gpu_mapped mapped; /* theirs; at 0: not mapped */
    struct gr_gpu_end ends[GR_NPROTOCOLS]; /* for the kernels */
    struct gr_gpu_slab_handle handle;      /* of the reader's slab, which the writer maps */
    struct gr_gpu_slab_handle reply;       /* of the writer's slab, which the reader maps */
};

/* The tables of an algorithm (and root), one behind the other. */
struct gr_gpu_steps {
    gr_gpu_ptr base;
    /* at 0: there is no schedule for it, or so many chunks */
    struct gr_gpu_table of[GR_NCOLLS][GR_GPU_TABLES];
};

struct gr_gpu_team_params {
    int p, rank;
    uint32_t nchannels, nslots;  /* nchannels <= GR_GPU_CHANNELS */
    size_t slot_bytes;           /* a multiple of GR_GPU_LINE */
    const int *order;            /* [position] = rank, forward; copied */
    struct gr_torus torus;       /* that the ranks form; ndims 0: none is known */
    const struct gr_gpu_id *ids; /* [rank]: everybody's device; looked at here only */
    enum gr_path path;           /* where no link has to go through host memory */
    /* [rank]: whether it is on another node; must outlive the team. NULL: none is */
    const unsigned char *remote;
    int direct;         /* the network between nodes reaches device memory, and may */
    struct gr_gpu *gpu; /* NULL: this rank has none, */
    int status;         /* and this is why */
    struct gr_gpu_pool *pool;
    /* NULL: this rank neither maps others' outputs nor lets them map its own */
    struct gr_ipc_cache *share;
};

/* A team without links; what its device lacks is its status. NULL: no memory. */
struct gr_gpu_team *gr_gpu_team_create(const struct gr_gpu_team_params *params);

/*
 * Leave all links and free the team; its stream must be empty, or is waited for. Sends nothing.
 * NULL is fine. pool 0: the pool is closed already, and the links with it.
 */
void gr_gpu_team_destroy(struct gr_gpu_team *team, int pool);

/*
 * What an algorithm needs: how far it is; only algorithms that are rooted have other links for
 * another.
 */
unsigned char *gr_gpu_team_state(const struct gr_gpu_team *team, enum gr_algo algo, int root);

/* ---- its memory ---- */

/* Where things lie for the kernels. */
gr_gpu_ptr gr_gpu_team_in(const struct gr_gpu_team *team, enum gr_protocol protocol);
gr_gpu_ptr gr_gpu_team_out(const struct gr_gpu_team *team, enum gr_protocol protocol);
gr_gpu_ptr gr_gpu_team_order(const struct gr_gpu_team *team, int k);
gr_gpu_ptr gr_gpu_team_places(const struct gr_gpu_team *team);
gr_gpu_ptr gr_gpu_team_counts(const struct gr_gpu_team *team); /* [2 * p]: counts, then displs */
/* [p]: receive buffers of others, args.h */
gr_gpu_ptr gr_gpu_team_peers(const struct gr_gpu_team *team);

/*
 * Where kernels read the steps of an algorithm; at 0: they compute them. They are there once they
 * were written, which is done with the links: 0, GR_ERR_NOMEM, GR_ERR_GPU_SPACE or GR_ERR_CUDA.
 * Nothing to do is fine.
 */
int gr_gpu_team_write_steps(struct gr_gpu_team *team, enum gr_algo algo, int root);
struct gr_gpu_table gr_gpu_team_steps(const struct gr_gpu_team *team, enum gr_coll coll,
                                      enum gr_algo algo, int root, uint32_t nchunks);

/* And for the host, pinned; the same addresses for the kernels. */
struct gr_gpu_report *gr_gpu_team_reports(const struct gr_gpu_team *team);
_Atomic uint64_t *gr_gpu_team_abort(const struct gr_gpu_team *team);
size_t *gr_gpu_team_counts_host(const struct gr_gpu_team *team);
gr_gpu_ptr *gr_gpu_team_peers_host(const struct gr_gpu_team *team);

/* ---- links to other nodes (remote.c) ---- */

/*
 * Lease slabs for each of n remote connections, and set their ends; writes: those of links out.
 * What gr_gpu_pool_lease() returns. Slots for which the device has no room lie in host memory.
 */
int gr_gpu_remote_lease(struct gr_gpu_team *team, struct gr_gpu_connection *connections, int n,
                        int writes);

/* Bytes of host memory of one with slots there. */
size_t gr_gpu_remote_bytes(const struct gr_gpu_team *team);

/* What the network is to be given of a remote connection. */
struct gr_fifo gr_gpu_remote_fifo(const struct gr_gpu_team *team,
                                  const struct gr_gpu_connection *connection, int writes);

/*
 * The number of the first of a link's slots that are not to travel yet, UINT64_MAX: all may;
 * connection: one out.
 */
_Atomic uint64_t *gr_gpu_remote_until(const struct gr_gpu_team *team,
                                      const struct gr_gpu_connection *connection);

/*
 * The ranks on other nodes to which something lies in this rank's slots that the network has not
 * taken, on these channels; up to `most` of them. Returns how many.
 */
int gr_gpu_remote_unsent(const struct gr_gpu_team *team, uint32_t nchannels, int *ranks, int most);

/* ---- making links (connect.c; connection.c) ---- */

/* Lease a slab for each of the connections. What gr_gpu_pool_lease() returns. */
int gr_gpu_connections_lease(const struct gr_gpu_team *team, enum gr_gpu_where where, size_t bytes,
                             size_t clean, struct gr_gpu_connection *connections, int n);

/* Give them back, where there are any; used: somebody else has learnt of them. */
void gr_gpu_connection_release(const struct gr_gpu_team *team, struct gr_gpu_connection *connection,
                               int used);

/* Links between devices: slots in the reader's memory, or in pinned memory (connect.c). */
extern const struct gr_link_memory gr_gpu_links;

/*
 * Begin a set-up of the links of an algorithm. Steps and ends are written to the tables that
 * kernels read. 0, or GR_ERR_NOMEM: there is no join.
 */
int gr_gpu_team_join(struct gr_join *join, struct gr_gpu_team *team, enum gr_algo algo, int root);

#endif
