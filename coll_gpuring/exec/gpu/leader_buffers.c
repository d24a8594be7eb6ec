/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's own buffers in a call with a leader (leader.h): where they are, and what is copied. */
#include "exec/gpu/leader.h"

#include "cuda/device.h"
#include "cuda/stream.h"

#include <string.h>

/*
 * Bytes of a piece of an input or output. Up to SMALL_BYTES it is copied to pinned host memory,
 * which changes no context.
 */
#define SMALL_BYTES ((size_t) 32 << 10)
#define PIECE_BYTES ((size_t) 8 << 20)

/* Blocks of a piece begin at multiples of this, as vectors do in memory from the allocator. */
#define CELL_ALIGN 256

/* ---- sizes ---- */

int gr_leader_has_side(const struct gr_leader_run *run, int rank, int side)
{
    int root = run->spec.root == rank;

    return GR_COLL_BCAST == run->spec.coll    ? root == (0 == side)
           : GR_COLL_REDUCE == run->spec.coll ? 0 == side || root
                                              : 1;
}

/* The number of the block that lies at place k of this rank's side. */
static int block_at(const struct gr_leader_run *run, int side, int k)
{
    return gr_leader_blocks(run, side) > 1 ? k : run->leader->team->rank;
}

/* Elements from the start of this rank's side to its block k. */
static size_t place_of(const struct gr_leader_run *run, int side, int k)
{
    size_t sum = 0;
    int b;

    if (1 == side && GR_COLL_ALLGATHER == run->spec.coll && NULL != run->spec.displs) {
        return run->spec.displs[k] * run->scale;
    }
    if (NULL == run->spec.counts) {
        return (size_t) k * gr_leader_block(run, 0);
    }
    for (b = 0; b < k; b++) {
        sum += gr_leader_block(run, b);
    }
    return sum;
}

/* Bytes that this rank's side spans. */
static size_t span_of(const struct gr_leader_run *run, int side)
{
    int n = gr_leader_blocks(run, side), k;
    size_t span = 0;

    for (k = 0; k < n; k++) {
        size_t end =
            (n > 1 ? place_of(run, side, k) : 0) + gr_leader_block(run, block_at(run, side, k));

        span = end > span ? end : span;
    }
    return span * run->spec.elem_bytes;
}

void gr_leader_set_pieces(struct gr_leader_run *run)
{
    size_t elem = run->spec.elem_bytes, each;
    int p = run->leader->team->p, blocks, b;

    blocks = gr_leader_blocks(run, 0) > 1 || gr_leader_blocks(run, 1) > 1 ? p : 1;
    run->largest = 0;
    for (b = 0; b < p; b++) {
        size_t n = gr_leader_block(run, b);

        run->largest = n > run->largest ? n : run->largest;
    }
    each = (run->small ? SMALL_BYTES : PIECE_BYTES) / (size_t) blocks / CELL_ALIGN * CELL_ALIGN;
    run->most = each / elem < run->largest ? each / elem : run->largest;
    run->cell = (run->most * elem + CELL_ALIGN - 1) / CELL_ALIGN * CELL_ALIGN;
    run->on_device = (size_t) blocks * run->cell > SMALL_BYTES;
}

/* ---- this rank's buffers ---- */

static struct gr_leader_seen *seen_of(struct gr_leader *leader, uint64_t id)
{
    struct gr_leader_seen *seen = &leader->seen[id % GR_LEADER_SEEN];

    if (id != seen->id) {
        *seen = (struct gr_leader_seen) {.id = id};
    }
    return seen;
}

/* Where a side is: in an allocation that others may map, or to be copied. Writes its post. */
static enum gr_leader_how place_side(struct gr_leader_run *run, int side,
                                     struct gr_leader_post *post)
{
    struct gr_leader *leader = run->leader;
    struct gr_gpu_team *team = leader->team;
    struct gr_leader_place *place = &post->side[side];
    uint64_t id = gr_gpus_buffer_id(team->gpu->gpus, run->at[side]);
    struct gr_leader_seen *seen;
    struct gr_ipc_handle handle;

    if (0 == id || NULL == team->ipc_cache) {
        return GR_LEADER_COPIED;
    }
    seen = seen_of(leader, id);
    seen->uses += run->call != seen->call; /* input and output may share it */
    seen->call = run->call;
    if (run->copies || seen->unmapped || seen->uses < GR_LEADER_USES) {
        return GR_LEADER_COPIED;
    }
    handle = gr_ipc_cache_export_known(team->ipc_cache, (const void *) (uintptr_t) run->at[side],
                                       id, span_of(run, side));
    if (!gr_ipc_handle_valid(&handle)) {
        seen->unmapped = 1;
        return GR_LEADER_COPIED;
    }
    if (place->id != id || GR_LEADER_MAPPED != place->how) {
        post->handle[side] = handle;
    }
    *place = (struct gr_leader_place) {id, handle.offset, GR_LEADER_MAPPED};
    return GR_LEADER_MAPPED;
}

static int is_exported(const struct gr_leader *leader, const struct gr_gpu_slab *slab)
{
    static const unsigned char none[GR_GPU_IPC_BYTES];
    struct gr_gpu_slab_handle handle = gr_gpu_pool_export(leader->team->pool, slab);

    return 0 != memcmp(handle.ipc, none, sizeof(none));
}

/* Lease a slab in the place of the present one: in pinned memory, or on the device (where 1). */
static int lease_slab(struct gr_leader *leader, int where, size_t bytes)
{
    int rc;

    if (NULL != leader->slab[where]) {
        gr_gpu_pool_release(leader->team->pool, leader->slab[where], 0);
        leader->slab[where] = NULL;
        leader->slab_bytes[where] = 0;
    }
    rc = gr_gpu_pool_lease(leader->team->pool, where ? GR_ON_DEVICE : GR_ON_HOST, bytes, 0, 1,
                           &leader->slab[where]);
    if (rc < 0) {
        leader->slab[where] = NULL;
        return rc;
    }
    leader->slab_bytes[where] = bytes;
    return 0;
}

/*
 * A slab for both sides of a piece, at least as large as it. 0; GR_AGAIN: there is none, and it is
 * leased for later calls; or an error.
 */
static int need_slab(struct gr_leader_run *run)
{
    struct gr_leader *leader = run->leader;
    int blocks = gr_leader_blocks(run, 0) + gr_leader_blocks(run, 1), where = run->on_device, rc;
    size_t need = (size_t) blocks * run->cell, bytes = 2 * SMALL_BYTES;

    if (need <= leader->slab_bytes[where]) {
        return 0;
    }
    while (bytes < need) {
        bytes *= 2;
    }
    if (!run->may_wait && !run->small) {
        leader->wanted_bytes[where] = bytes;
        return GR_AGAIN;
    }
    rc = lease_slab(leader, where, bytes);
    if (rc < 0) {
        return rc;
    }
    return where && !is_exported(leader, leader->slab[where]) ? GR_ERR_PEER : 0;
}

void gr_leader_offer(struct gr_leader *leader, void *set)
{
    struct gr_leader_post *post = set;

    memset(&post->first_slab, 0, sizeof(post->first_slab));
    if (NULL != leader->slab[0] || 0 == lease_slab(leader, 0, 2 * SMALL_BYTES)) {
        post->first_slab = gr_gpu_pool_export(leader->team->pool, leader->slab[0]);
    }
}

void gr_leader_accept(struct gr_leader *leader, const struct gr_boards *boards)
{
    int r;

    for (r = 0; r < leader->team->p; r++) {
        const struct gr_leader_post *post = gr_leader_post_of(boards, r);

        if (r != leader->team->rank && 0 != post->first_slab.host.lease) {
            (void) gr_leader_map_slab(leader, r, &post->first_slab);
        }
    }
}

void gr_leader_map_wanted(struct gr_leader *leader)
{
    int where;

    gr_leader_map_peers(leader);
    for (where = 0; where < 2; where++) {
        if (leader->wanted_bytes[where] > leader->slab_bytes[where]) {
            (void) lease_slab(leader, where, leader->wanted_bytes[where]);
        }
        leader->wanted_bytes[where] = 0;
    }
}

/* Offset of a side in the slab. */
static size_t slab_offset(const struct gr_leader_run *run, int side)
{
    return 0 == side ? 0 : (size_t) gr_leader_blocks(run, 0) * run->cell;
}

int gr_leader_copy_side(struct gr_leader_run *run, int side, int out)
{
    struct gr_leader *leader = run->leader;
    gr_gpu_ptr slab = leader->slab[run->on_device]->at + slab_offset(run, side);
    size_t first = run->piece * run->most, elem = run->spec.elem_bytes, nruns = 0;
    struct gr_gpu_run runs[GR_LEADER_RANKS];
    int n = gr_leader_blocks(run, side), k;

    for (k = 0; k < n; k++) {
        size_t count = gr_leader_block(run, block_at(run, side, k));
        void *there = (void *) (uintptr_t) (slab + (size_t) k * run->cell),
             *here = (void *) (uintptr_t) (run->at[side] +
                                           ((n > 1 ? place_of(run, side, k) : 0) + first) * elem);

        count = count < first ? 0 : count - first;
        count = count < run->most ? count : run->most;
        if (count > 0) {
            runs[nruns++] = (struct gr_gpu_run) {
                .dst = out ? here : there, .src = out ? there : here, .bytes = count * elem};
        }
    }
    return 0 == nruns ? 0 : gr_gpu_stream_copy_runs(leader->team->stream, runs, nruns);
}

void gr_leader_place_sides(struct gr_leader_run *run, struct gr_leader_post *post)
{
    int side, any = 0, late, rc;

    for (side = 0; side < 2; side++) {
        enum gr_leader_how how = 0 == run->at[side] ? GR_LEADER_NONE : place_side(run, side, post);

        run->copied[side] = GR_LEADER_COPIED == how;
        any |= run->copied[side];
        if (GR_LEADER_NONE == how) {
            post->side[side].how = how;
        }
    }
    run->on_device = run->on_device && !run->leader->no_export;
    rc = any ? need_slab(run) : 0;
    if (rc < 0 && run->on_device) { /* memory of the host may do */
        run->on_device = 0;
        run->leader->no_export = GR_ERR_PEER == rc;
        run->leader->refused |= run->leader->no_export;
        rc = need_slab(run);
    }
    run->refused = rc < 0;
    late = GR_AGAIN == rc;
    for (side = 0; side < 2; side++) {
        if (run->refused) {
            post->side[side].how = GR_LEADER_REFUSED;
        } else if (late && run->copied[side]) {
            post->side[side].how = GR_LEADER_LATE;
        } else if (run->copied[side]) {
            post->side[side] = (struct gr_leader_place) {run->leader->slab[run->on_device]->lease,
                                                         slab_offset(run, side), GR_LEADER_COPIED};
        }
    }
    if (run->refused || late) {
        run->copied[0] = run->copied[1] = 0;
    } else if (any) {
        post->slab = gr_gpu_pool_export(run->leader->team->pool, run->leader->slab[run->on_device]);
    }
    post->has_places = GR_COLL_ALLGATHER == run->spec.coll && NULL != run->spec.displs;
    for (side = 0; post->has_places && side < run->leader->team->p; side++) {
        post->places[side] = run->spec.displs[side];
    }
}

void gr_leader_copy_from_now_on(struct gr_leader_run *run, int later)
{
    int side;

    run->copies = 1;
    run->leader->no_export =
        run->leader->no_export || (!later && run->on_device && (run->copied[0] || run->copied[1]));

    for (side = 0; side < 2; side++) {
        uint64_t id =
            0 == run->at[side] ? 0 : gr_gpus_buffer_id(run->leader->team->gpu->gpus, run->at[side]);

        if (0 != id) {
            seen_of(run->leader, id)->unmapped = !later;
            seen_of(run->leader, id)->uses = GR_LEADER_USES - 1; /* the next call may map it */
        }
    }
}
