/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the leader executor keeps: of a call, for a team, and on the boards (leader.h). But for
 * struct gr_leader_run, internal to leader*.c.
 */
#ifndef GR_EXEC_GPU_LEADER_STATE_H
#define GR_EXEC_GPU_LEADER_STATE_H

#include "exec/gpu/leader_args.h"
#include "exec/gpu/state.h"

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

/* ---- the boards ---- */

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
    uint64_t later;   /* of these: they may be mapped for later calls */
    uint64_t slabs;   /* 1: slabs, so the call goes in pieces for the slabs of the set-up */
    uint64_t refused; /* 1: the driver does not map a rank's slab on the device */
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

/* ---- of a team ---- */

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
    int refused;            /* the same, of some rank in some call */
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

/* ---- leader_buffers.c: a rank's own buffers ---- */

/* Whether a rank has an input (side 0), or output. */
int gr_leader_has_side(const struct gr_leader_run *run, int rank, int side);

/* How the call is cut into pieces, where it is: equal on all ranks. */
void gr_leader_set_pieces(struct gr_leader_run *run);

/* In the first round of a call: decide where this rank's buffers are, and write it to its post. */
void gr_leader_place_sides(struct gr_leader_run *run, struct gr_leader_post *post);

/* Put the copies of a side's piece on the stream: into the slab, or out of it. 0 or an error. */
int gr_leader_copy_side(struct gr_leader_run *run, int side, int out);

/*
 * This rank's memory on the device cannot be mapped: neither its allocations, nor its slab. later:
 * not now, so they are copied in this call.
 */
void gr_leader_copy_from_now_on(struct gr_leader_run *run, int later);

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
