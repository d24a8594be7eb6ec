/* SPDX-License-Identifier: BSD-3-Clause */
/* What the leader executor keeps for a team. Internal to leader*.c. */
#ifndef GR_EXEC_GPU_LEADER_STATE_H
#define GR_EXEC_GPU_LEADER_STATE_H

#include "exec/gpu/leader.h"
#include "exec/gpu/leader_post.h"
#include "link/gpu_pool.h"
#include "link/ipc_cache.h"

/* What this rank knows of another rank's memory, so that it reads a post's handles once. */
struct gr_leader_peer {
    uint64_t id[2];                 /* of the handles; 0: none */
    struct gr_ipc_handle handle[2]; /* of the rank's last input and output */
    struct gr_ipc_mapped mapped[2]; /* in use by the round that this rank leads */
    int wanted[2];     /* handle[] is to be mapped when gr_leader_map_wanted() is called */
    uint64_t lease[2]; /* of the slabs that are mapped, as gr_leader.slab; 0: none */
    struct gr_gpu_mapped slab[2];          /* mapped */
    struct gr_gpu_slab_handle wanted_slab; /* is to be mapped, too; its lease 0: none */
};

/* An allocation of this process that calls have used. */
struct gr_leader_seen {
    uint64_t id;   /* the driver's buffer id */
    uint32_t uses; /* calls */
    uint64_t call; /* the last of them */
    int unmapped;  /* it is not, or cannot be, mapped by others */
};
enum { GR_LEADER_SEEN = 64 };

struct gr_leader {
    struct gr_gpu_team *team;    /* borrowed */
    uint64_t calls;              /* begun so far */
    uint64_t rounds;             /* arrived at so far */
    struct gr_gpu_slab *slab[2]; /* of this rank: in pinned memory, on the device; NULL: none */
    size_t slab_bytes[2];
    size_t wanted_bytes[2]; /* of slabs for later calls */
    int no_export;          /* the driver exports no memory: slabs lie in pinned memory */
    struct gr_leader_seen seen[GR_LEADER_SEEN]; /* by id modulo their number */

    gr_gpu_ptr counter;            /* args.counter; borrowed */
    struct gr_leader_words *words; /* borrowed */
    struct gr_leader_peer peers[]; /* [rank] */
};

/* ---- sizes ---- */

/* Blocks of this call's inputs (side 0), or outputs. */
static inline int gr_leader_blocks(const struct gr_leader_run *run, int side)
{
    static const unsigned char by_rank[2][GR_NCOLLS] = {
        {[GR_COLL_REDUCE_SCATTER] = 1, [GR_COLL_ALLTOALL] = 1},
        {[GR_COLL_ALLGATHER] = 1, [GR_COLL_ALLTOALL] = 1}};

    return by_rank[side][run->spec.coll] ? run->leader->team->p : 1;
}

/* Elements of a block. */
static inline size_t gr_leader_block(const struct gr_leader_run *run, int block)
{
    enum gr_coll coll = run->spec.coll;

    return GR_COLL_ALLREDUCE == coll || GR_COLL_REDUCE == coll || GR_COLL_BCAST == coll
               ? run->spec.total
           : NULL == run->spec.counts ? run->spec.block
                                      : run->spec.counts[block] * run->scale;
}

/* ---- leader_launch.c: the leader's part ---- */

/*
 * All ranks have arrived, and this rank has claimed the call: map their buffers and launch the
 * kernel of the round. Returns GR_LEADER_OK: it was launched, and run->pieces is set; or how the
 * round ends instead, with *unmapped set for GR_LEADER_AGAIN.
 */
enum gr_leader_end gr_leader_launch(struct gr_leader_run *run, struct gr_leader_unmapped *unmapped);

/* All ranks have arrived: whether gr_leader_launch() would map nothing new. */
int gr_leader_has_mapped(const struct gr_leader_run *run);

/* Map a slab of another rank. 0, or an error. */
int gr_leader_map_slab(struct gr_leader *leader, int rank, const struct gr_gpu_slab_handle *handle);

/* gr_leader_map_wanted(): the memory of other ranks. */
void gr_leader_map_peers(struct gr_leader *leader);

/* The round is over: its mappings are not used any more. */
void gr_leader_release(struct gr_leader *leader);

#endif
