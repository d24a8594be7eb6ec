/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on devices: what they are, and host memory in their place. See coll_gpuring.h for who does what. */
#ifndef MCA_COLL_GPURING_GPU_H
#define MCA_COLL_GPURING_GPU_H

#include "coll_gpuring.h"

#include "exec/cuda_pointer.h"
#include "exec/gpu_op.h"
#include "exec/gpu_staged.h"

BEGIN_C_DECLS

/* ---- devices (gpu.c) ---- */

/*
 * Whether this process may have buffers on a device, as it says to all others at MPI_Init and never again: by parameter,
 * driver and device file; loads nothing.
 */
bool mca_coll_gpuring_gpu_possible(void);

/* Whether it can have some now: the driver is loaded. Cheap (15 ns) while nothing else was loaded since the last time. */
bool mca_coll_gpuring_gpu_loaded(void);

/*
 * No rank of the communicator has said that it may have buffers on a device. Whether the call has one all the same, since
 * the driver was loaded later: MPI_ERR_BUFFER, and said once. Buffers of the last call that had none before the driver was
 * loaded need not be looked at: gr_is_known_host().
 */
int mca_coll_gpuring_gpu_late(mca_coll_gpuring_module_t *module, const struct gr_call *call);

static inline bool gr_is_known_host(const mca_coll_gpuring_module_t *module, const struct gr_call *call)
{
    return module->hosts[0] == call->sbuf && module->hosts[1] == call->rbuf;
}

/* What kind of memory a buffer is; host memory where no driver is loaded in this process. */
struct gr_pointer mca_coll_gpuring_pointer(const void *buffer);

/* Whether kernels on gpu can use the memory of a buffer, at the same address. */
bool mca_coll_gpuring_reaches(struct gr_gpu *gpu, const void *buffer);

/*
 * The device for a call: that of its buffers, else the current one, else one by local rank; and its pool. Loads the
 * driver. NULL on error, with *error an enum gr_error.
 */
struct gr_gpu *mca_coll_gpuring_gpu_pick(const struct gr_call *call, int *error);
struct gr_gpu_pool *mca_coll_gpuring_gpu_pool(struct gr_gpu *gpu, int *error);

/*
 * Order a buffer's use behind what the application has put on default streams. settle: in the calling thread of an MPI
 * call, which alone knows what context is current (the application's own, or another device's). follow: before a kernel
 * on gpu uses the buffer, where that is another device's. OMPI error codes, and said when it failed.
 */
int mca_coll_gpuring_settle(struct gr_pointer pointer);
int mca_coll_gpuring_follow(struct gr_gpu *gpu, const void *buffer);

/*
 * Points in the default streams of the devices that a nonblocking call's buffers are on, and of `team`, at the moment of
 * the call: what is put there later is not waited for when the call starts. n 0: there are none, what is there at the
 * start comes first.
 */
#define GR_POINTS 3
struct gr_points {
    int n;
    struct gr_gpu_point at[GR_POINTS];
};
void mca_coll_gpuring_points_set(struct gr_points *points, const struct gr_call *call, struct gr_gpu *team);
void mca_coll_gpuring_points_free(struct gr_points *points);

/*
 * The stream comes after the points; NULL, or without any: after what is on its device's default
 * stream. 0 or negative.
 */
int mca_coll_gpuring_points_follow(const struct gr_points *points, struct gr_gpu_stream *stream);

/*
 * Copy between any two places, after the points; NULL, or without any: after what is on default streams now. OMPI error
 * code, and said when it failed.
 */
int mca_coll_gpuring_copy(const struct gr_points *after, void *dst, const void *src, size_t bytes);
int mca_coll_gpuring_copy_runs(const struct gr_points *after, const struct gr_gpu_run *runs, size_t n);

/* The device whose memory a buffer is; NULL: none's. */
struct gr_gpu *mca_coll_gpuring_gpu_of(const void *buffer);

/* A device that this process uses, for what any can do; NULL: none so far. */
struct gr_gpu *mca_coll_gpuring_gpu_any(void);

/* The cache of a device's memory that is shared with other processes, or theirs with it. NULL: no memory. */
struct gr_gpu_share *mca_coll_gpuring_gpu_share(struct gr_gpu *gpu);

/* A ticket of a buffer of that many bytes; of none where it cannot be shared. */
struct gr_gpu_ticket mca_coll_gpuring_ticket(const void *buffer, size_t bytes);

/* A communicator is gone: what its ranks have freed need not stay mapped. */
void mca_coll_gpuring_gpus_trim(void);

void mca_coll_gpuring_gpus_close(void);

/* ---- rooms (room.c) ---- */

/* Memory that grows and stays: pinned, so that devices can use it, where there are any. */
struct gr_room {
    unsigned char *base;
    size_t bytes;
    struct gr_gpu *gpu; /* through which it was pinned, or NULL */
};

/* At least that many bytes; NULL: none to be had. Shrinks to nothing when it is above `keep`. Any thread. */
unsigned char *mca_coll_gpuring_room_get(struct gr_room *room, size_t bytes);
void mca_coll_gpuring_room_shrink(struct gr_room *room, size_t keep);

/* Free those that wait to be used again. */
void mca_coll_gpuring_rooms_close(void);

/* ---- what a call's buffers consist of (sides.c) ---- */

/* A run of elements of one type: a buffer, or a block of one. */
struct gr_block {
    unsigned char *at; /* what an MPI call would be given for it */
    size_t count;
    struct ompi_datatype_t *type;
};

/* One of a call's two buffers, at this rank: n blocks. */
struct gr_side {
    const struct gr_call *call;
    bool receive;
    enum gr_parts parts; /* NONE: it has none here */
    int n;
};

struct gr_side mca_coll_gpuring_side(const struct gr_call *call, bool receive);
struct gr_block mca_coll_gpuring_block(const struct gr_side *side, int k);

/* The first byte of the first block that has data; NULL: none has. */
const void *mca_coll_gpuring_side_first(const struct gr_side *side);

/* The ranks that a side's messages go to or come from, one each; a side of one block may have several. */
struct gr_others {
    int n;
    int *ranks; /* owned; MPI_PROC_NULL: a grid ends there */
};

/* OMPI error code; ranks are to be freed whatever it is. */
int mca_coll_gpuring_others(const struct gr_side *side, struct gr_others *others);

/* The bytes that a block covers, gaps too: [*low, *high) as offsets from where it is. False: none. */
bool mca_coll_gpuring_block_span(const struct gr_block *block, ptrdiff_t *low, ptrdiff_t *high);

/* Whether the call reads block k of its receive side; and whether it writes it: then *block has its count of that. */
bool mca_coll_gpuring_reads_block(const struct gr_call *call, int k);
bool mca_coll_gpuring_writes_block(const struct gr_call *call, int k, struct gr_block *block);

/* ---- blocks that lie far apart (apart.c) ---- */

/* A side of one of the ...w calls with all blocks in one run of bytes. All zero at first. */
struct gr_apart {
    int n;
    size_t bytes;                   /* of that run */
    struct ompi_datatype_t **types; /* owned, as the arrays below: a block each, */
    int *counts;                    /* 1, or 0 of what has no data, */
    int *zeros;                     /* and displacements, in both widths */
    MPI_Aint *offsets;
};

/* Describe a side so; put: into the call, whose buffer is to be that run. OMPI error code. */
int mca_coll_gpuring_apart_make(struct gr_apart *apart, const struct gr_side *side);
void mca_coll_gpuring_apart_put(const struct gr_apart *apart, struct gr_call *call, bool receive);
void mca_coll_gpuring_apart_free(struct gr_apart *apart);

/* ---- staging (stage.c) ---- */

/* The buffers of one call whose place is taken by host memory. All zero at first. */
struct gr_stage {
    bool in, out;            /* which */
    bool brought;            /* the results are where they belong already */
    bool kept;               /* the host memory stays where it is from call to call (persistent) */
    struct gr_points after;  /* of a nonblocking call; events are kept for the next one */
    struct gr_call original;
    struct gr_room send, receive;
    struct gr_apart apart[2]; /* send, receive: where blocks lie too far apart to be copied as they lie */
};

/*
 * Put host memory in the place of those of the call's buffers that cannot be used where they are: by the host (gpu
 * NULL), or by kernels on gpu, and copy what they hold. Writes the call's sbuf and rbuf, and where blocks lie
 * far apart their counts, displacements and types. OMPI error code.
 */
int mca_coll_gpuring_stage_in(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu);

/* Which those are, only; then the two halves of the rest: the place, and the copies. OMPI error codes. */
void mca_coll_gpuring_stage_sides(struct gr_stage *stage, const struct gr_call *call, struct gr_gpu *gpu);
int mca_coll_gpuring_stage_place(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu);
int mca_coll_gpuring_stage_copy(struct gr_stage *stage, struct gr_call *call);

/* Copy results to where they belong (ok: the call went well), and restore the call. OMPI error code. */
int mca_coll_gpuring_stage_out(struct gr_stage *stage, struct gr_call *call, bool ok);

/* Give the host memory back; delete: and the stage, which was on the heap (NULL is fine). */
void mca_coll_gpuring_stage_free(struct gr_stage *stage);
void mca_coll_gpuring_stage_delete(struct gr_stage *stage);

/*
 * Look at the call's buffers, in the thread that makes the call: *device, whether one of them is in device memory; and
 * mca_coll_gpuring_settle() for both. OMPI error code.
 */
int mca_coll_gpuring_look(const struct gr_call *call, bool *device);

/* Write a block from host memory that has its data in the same places; what lies between them stays. OMPI error code. */
int mca_coll_gpuring_stage_put(const struct gr_block *to, const unsigned char *from);

/* ---- streams for copies (copier.c) ---- */

/* A stream for copies, and its device. */
struct gr_copier {
    struct gr_gpu *gpu;
    struct gr_gpu_stream *stream; /* NULL: none was to be had */
};

/* One for the device that owns the buffer, after the points (mca_coll_gpuring_points_follow()); and give it back, with
 * nothing under way. */
struct gr_copier mca_coll_gpuring_copier_take(const void *buffer, const struct gr_points *after);
void mca_coll_gpuring_copier_put(struct gr_copier *copier);
void mca_coll_gpuring_copiers_close(void);

/* ---- calls that are cut (segments.c) ---- */

/* Whether the call is one that is cut where some buffer is on a device: the same on all ranks. */
bool mca_coll_gpuring_segments_fit(const struct gr_call *call, const struct gr_form *form);

/* Call the saved function with one segment after the other. stage NULL: no buffer of this rank is on a device. */
int mca_coll_gpuring_segments_do(mca_coll_gpuring_module_t *module, struct gr_stage *stage, const struct gr_call *call,
                                 const struct gr_form *form);

/* ---- large messages of what is handed on (pairs.c) ---- */

struct gr_pairs;

/* Whether the call is one whose large messages go in pieces: the same on all ranks. */
bool mca_coll_gpuring_pairs_fit(const mca_coll_gpuring_module_t *module, const struct gr_call *call);

/* Those of such a call; all ranks come here for each of them. *pairs is NULL where this rank has none. OMPI error code. */
int mca_coll_gpuring_pairs_new(struct gr_lane *lane, const struct gr_call *call, struct gr_pairs **pairs);
void mca_coll_gpuring_pairs_free(struct gr_pairs *pairs); /* with nothing under way; NULL is fine */

/* What is left of the call for the saved function; NULL: nothing, on all ranks alike. */
const struct gr_call *mca_coll_gpuring_pairs_rest(const struct gr_pairs *pairs);

/* Begin, once more; and go on: OMPI error code; enum gr_status or negative. */
int mca_coll_gpuring_pairs_start(struct gr_pairs *pairs);
int mca_coll_gpuring_pairs_poll(void *pairs, uint64_t *moved);
void mca_coll_gpuring_pairs_explain(void *pairs, char *text, size_t size);

/* ---- what is handed on (handed.c) ---- */

/* Call the saved function, with host memory in the place of device memory. */
int mca_coll_gpuring_hand(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form);

/* Go on with what is under way; returns how many ended. opal_progress calls it. */
int mca_coll_gpuring_handed_progress(void);
void mca_coll_gpuring_handed_close(void);

END_C_DECLS

#endif
