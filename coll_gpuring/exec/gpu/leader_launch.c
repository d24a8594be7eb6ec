/* SPDX-License-Identifier: BSD-3-Clause */
/* The leader's part of a call (leader.h): where all buffers are, and the launch. */
#include "exec/gpu/leader_state.h"

#include "cuda/device.h"
#include "cuda/stream.h"

#include <string.h>

_Static_assert(sizeof(struct gr_leader_args) <= GR_LEADER_ARGS_MOST, "the driver takes no more");

/* Bytes of a call that a block of threads is worth: it moves them in about the time of its start. */
#define BLOCK_BYTES ((size_t) 16 << 10)

/* ---- where buffers are ---- */

static int is_mapped(const struct gr_leader *leader, const struct gr_ipc_handle *handle)
{
    struct gr_ipc_cache *cache = leader->team->ipc_cache;

    return NULL == cache || gr_ipc_cache_is_mapped(cache, handle);
}

/* GR_AGAIN: not now. */
static int map_buffer(struct gr_leader_run *run, int rank, int side,
                      const struct gr_leader_post *post, gr_gpu_ptr *at)
{
    struct gr_leader *leader = run->leader;
    struct gr_leader_peer *peer = &leader->peers[rank];
    const struct gr_leader_place *place = &post->side[side];
    int rc;

    if (peer->id[side] != place->id) {
        peer->handle[side] = post->handle[side];
        peer->id[side] = place->id;
    }
    peer->handle[side].offset = place->offset;
    /* later pieces cannot be refused */
    if (!run->may_wait && 0 == run->piece && !is_mapped(leader, &peer->handle[side])) {
        peer->wanted[side] = 1;
        return GR_AGAIN;
    }
    rc = NULL == leader->team->ipc_cache
             ? GR_ERR_PEER
             : gr_ipc_cache_map(leader->team->ipc_cache, &peer->handle[side], &peer->mapped[side]);
    *at = peer->mapped[side].at;
    return rc;
}

int gr_leader_map_slab(struct gr_leader *leader, int rank, const struct gr_gpu_slab_handle *handle)
{
    int where = GR_ON_HOST != handle->where, rc;
    struct gr_leader_peer *peer = &leader->peers[rank];

    peer->lease[where] = 0;
    rc = gr_gpu_pool_map(leader->team->pool, handle, &peer->slab[where]);
    peer->lease[where] = 0 == rc ? handle->host.lease : 0;
    return rc;
}

void gr_leader_map_peers(struct gr_leader *leader)
{
    struct gr_ipc_mapped mapped;
    int r, side;

    for (r = 0; r < leader->team->p; r++) {
        struct gr_leader_peer *peer = &leader->peers[r];

        for (side = 0; side < 2; side++) {
            if (peer->wanted[side] &&
                0 == gr_ipc_cache_map(leader->team->ipc_cache, &peer->handle[side], &mapped)) {
                gr_ipc_cache_unmap(leader->team->ipc_cache, &mapped); /* it stays open */
            }
            peer->wanted[side] = 0;
        }
        if (0 != peer->wanted_slab.host.lease) {
            (void) gr_leader_map_slab(leader, r, &peer->wanted_slab);
            peer->wanted_slab.host.lease = 0;
        }
    }
}

/* GR_AGAIN: not now. */
static int map_slab(struct gr_leader_run *run, int rank, const struct gr_leader_post *post,
                    const struct gr_leader_place *place, gr_gpu_ptr *at)
{
    struct gr_leader_peer *peer = &run->leader->peers[rank];
    int where = GR_ON_HOST != post->slab.where, rc = 0;

    if (peer->lease[where] != place->id) {
        if (!run->may_wait && !run->small && 0 == run->piece) {
            peer->wanted_slab = post->slab;
            return GR_AGAIN;
        }
        rc = gr_leader_map_slab(run->leader, rank, &post->slab);
    }
    *at = peer->slab[where].at + place->offset;
    return rc;
}

/* Find a side of a rank. Returns GR_LEADER_OK, AGAIN or REFUSAL. */
static enum gr_leader_end find_side(struct gr_leader_run *run, int rank, int side,
                                    struct gr_leader_side *out, struct gr_leader_unmapped *unmapped)
{
    const struct gr_leader_post *post = gr_leader_post_of(run->boards, rank);
    const struct gr_leader_place *place = &post->side[side];
    int copied = GR_LEADER_COPIED == place->how, rc = 0;

    if (GR_LEADER_LATE == place->how) {
        unmapped->slabs = 1;
        return GR_LEADER_AGAIN;
    }
    out->cell = copied ? run->cell : 0;
    if (rank == run->leader->team->rank) { /* its own buffers need no mapping */
        out->at = copied ? run->leader->slab[run->on_device]->at + place->offset : run->at[side];
    } else {
        rc = copied ? map_slab(run, rank, post, place, &out->at)
                    : map_buffer(run, rank, side, post, &out->at);
    }
    if (0 == rc) {
        return GR_LEADER_OK;
    }
    if (copied && GR_AGAIN == rc) {
        unmapped->slabs = 1;
    } else if (copied && GR_ON_HOST == post->slab.where) {
        return GR_LEADER_REFUSAL;
    } else {
        unmapped->refused |= copied && GR_ERR_PEER == rc;
        unmapped->all |= (uint64_t) 1 << rank;
        unmapped->later |= (uint64_t) (GR_AGAIN == rc) << rank;
    }
    return GR_LEADER_AGAIN;
}

/*
 * Find all buffers. A refusal of one rank is one of all. What cannot be mapped is collected, so
 * that its owners copy it from the next round on. *copied: whether some rank copies.
 */
static enum gr_leader_end find_all(struct gr_leader_run *run, struct gr_leader_args *args,
                                   int *copied, struct gr_leader_unmapped *unmapped)
{
    enum gr_leader_end end = GR_LEADER_OK, found;
    int p = run->leader->team->p, r, side;

    for (r = 0; r < p; r++) {
        const struct gr_leader_post *post = gr_leader_post_of(run->boards, r);

        for (side = 0; side < 2; side++) {
            if (GR_LEADER_REFUSED == post->side[side].how) {
                return GR_LEADER_REFUSAL;
            }
            if (GR_LEADER_NONE == post->side[side].how) {
                continue;
            }
            *copied |= GR_LEADER_COPIED == post->side[side].how;
            found = find_side(run, r, side, 0 == side ? &args->in[r] : &args->out[r], unmapped);
            if (GR_LEADER_REFUSAL == found) {
                return found;
            }
            if (GR_LEADER_AGAIN == found) {
                end = found;
            }
        }
    }
    return end;
}

int gr_leader_has_mapped(const struct gr_leader_run *run)
{
    const struct gr_leader *leader = run->leader;
    int p = leader->team->p, r, side, has = 1;

    for (r = 0; r < p; r++) {
        const struct gr_leader_post *post = gr_leader_post_of(run->boards, r);

        for (side = 0; side < 2 && r != leader->team->rank; side++) {
            const struct gr_leader_place *place = &post->side[side];

            has = has && (GR_LEADER_COPIED == place->how
                              ? leader->peers[r].lease[GR_ON_HOST != post->slab.where] == place->id
                          : GR_LEADER_MAPPED == place->how ? is_mapped(leader, &post->handle[side])
                                                           : 1);
        }
    }
    return has;
}

void gr_leader_release(struct gr_leader *leader)
{
    int r, side;

    for (r = 0; r < leader->team->p; r++) {
        for (side = 0; side < 2; side++) {
            if (0 != leader->peers[r].mapped[side].at) {
                gr_ipc_cache_unmap(leader->team->ipc_cache, &leader->peers[r].mapped[side]);
            }
        }
    }
}

/* ---- the arguments ---- */

/*
 * The sizes of blocks, and where they lie: what all ranks know alike, but for the places of an
 * allgather's blocks, which are each rank's own.
 */
static void set_blocks(const struct gr_leader_run *run, struct gr_leader_args *args)
{
    int p = run->leader->team->p, r, b, any = 0;
    size_t *counts = run->leader->words->sizes, *displs = counts + p, *places = displs + p, sum = 0;

    args->block = gr_leader_block(run, 0);
    if (NULL == run->spec.counts) {
        return;
    }
    for (b = 0; b < p; b++) {
        counts[b] = gr_leader_block(run, b);
        displs[b] = sum;
        sum += counts[b];
    }
    args->counts = (gr_gpu_ptr) (uintptr_t) counts;
    args->displs = (gr_gpu_ptr) (uintptr_t) displs;
    for (r = 0; r < p; r++) {
        const struct gr_leader_post *post = gr_leader_post_of(run->boards, r);

        any |= 0 != post->has_places;
        for (b = 0; b < p; b++) {
            places[r * p + b] =
                0 != post->has_places ? (size_t) post->places[b] * run->scale : displs[b];
        }
    }
    if (any && GR_COLL_ALLGATHER == run->spec.coll) {
        args->places = (gr_gpu_ptr) (uintptr_t) places;
    }
}

/* Blocks of threads: enough for the bytes that the launch moves, as many as the device has room for. */
static uint32_t count_blocks(const struct gr_leader_run *run, const struct gr_leader_args *args)
{
    size_t bytes = 0, p = (size_t) run->leader->team->p, n;
    int blocks = gr_leader_blocks(run, 0), most = gr_gpu_resident_blocks(run->leader->team->gpu), b;

    blocks = gr_leader_blocks(run, 1) > blocks ? gr_leader_blocks(run, 1) : blocks;
    for (b = 0; b < blocks; b++) {
        n = gr_leader_block(run, b);
        n = n < args->first ? 0 : n - args->first;
        bytes += (n < args->most ? n : args->most) * run->spec.elem_bytes;
    }
    bytes *= GR_COLL_ALLTOALL == run->spec.coll ? p : 1;
    n = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    n = n < (size_t) most ? n : (size_t) most;
    return n < 1 ? 1 : (uint32_t) n;
}

enum gr_leader_end gr_leader_launch(struct gr_leader_run *run, struct gr_leader_unmapped *unmapped)
{
    struct gr_leader *leader = run->leader;
    int p = leader->team->p, copied = 0;
    struct gr_leader_args args;
    enum gr_leader_end end;

    memset(unmapped, 0, sizeof(*unmapped));
    memset(&args, 0, sizeof(args));
    end = find_all(run, &args, &copied, unmapped);
    if (GR_LEADER_OK != end) {
        gr_leader_release(leader);
        return end;
    }
    run->pieces = copied && run->most > 0 ? (run->largest + run->most - 1) / run->most : 1;
    args.first = run->piece * run->most;
    args.most = copied ? run->most : run->largest;
    args.coll = run->spec.coll;
    args.ranks = (uint32_t) p;
    args.root = (uint32_t) run->spec.root;
    args.counter = leader->counter;
    args.done = (gr_gpu_ptr) (uintptr_t) &leader->words->done;
    args.value = run->round;
    set_blocks(run, &args);
    if (0 >
        gr_gpu_launch_leader(leader->team->stream, run->kernel, count_blocks(run, &args), &args)) {
        gr_leader_release(leader);
        return GR_LEADER_REFUSAL;
    }
    return GR_LEADER_OK;
}
