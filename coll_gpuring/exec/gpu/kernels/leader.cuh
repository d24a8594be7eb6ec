/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The leader's kernel: a whole call in one launch. It waits for nothing, since all inputs are there
 * before it is launched, so it ends in bounded time whatever else runs on the device.
 *
 *      call                       extents   sources               destinations
 *      allreduce                  1         all inputs            all outputs
 *      reduce                     1         all inputs            the root's output
 *      bcast                      1         the root's input      the other outputs
 *      reduce_scatter             a rank    its block, of all     its output
 *      allgather                  a rank    its input             its block, of all
 *      alltoall                   a pair    the sender's block    the receiver's block
 *
 * Blocks of threads share the extents; where there are fewer extents than blocks, several blocks
 * share one, each with a run of its elements. Sources are combined in the order of ranks, in
 * registers, and rounded once: results do not depend on how the work is shared. A thread reads its
 * unit of all sources before it writes any destination, so a call may be in place.
 */
#ifndef GR_EXEC_GPU_KERNELS_LEADER_CUH
#define GR_EXEC_GPU_KERNELS_LEADER_CUH

#include "exec/gpu/kernels/item.cuh"

#include "exec/gpu/leader_args.h"

/* Elements of a block's run are a multiple of this: whole vectors for every thread. */
#define GR_LEADER_UNIT 512

/* A part of an extent: elements [begin, begin + count) of the piece. */
struct gr_part {
    uint32_t extent; /* its number */
    uint32_t part;   /* this part of it ... */
    uint32_t parts;  /* ... of so many */
};

__device__ static GP_INLINE size_t gr_leader_count(const struct gr_leader_args *a, uint32_t block)
{
    size_t n = 0 == a->counts ? a->block : gp_ld((const size_t *) a->counts + block);

    n = n < a->first ? 0 : n - a->first;
    return n < a->most ? n : a->most;
}

/* Where a block begins. Blocks follow each other, so the first one, and a vector, begin at 0. */
__device__ static GP_INLINE size_t gr_leader_displ(const struct gr_leader_args *a, uint32_t block)
{
    return 0 == a->displs ? a->block * block : gp_ld((const size_t *) a->displs + block);
}

/* The buffers of a part's sources, or destinations: one block each. */
struct gr_leader_ends {
    uint32_t n;     /* number of ranks */
    uint32_t first; /* the first rank; the others follow */
    uint32_t block; /* the block of each */
};

/* The address of element `from` of the piece in a block, which begins at displ in the buffer. */
__device__ static GP_INLINE gr_gpu_ptr gr_leader_at(const struct gr_leader_args *a,
                                                    const struct gr_leader_side *side,
                                                    uint32_t block, size_t displ, size_t from,
                                                    size_t elem_bytes)
{
    return 0 != side->cell ? side->at + block * side->cell + from * elem_bytes
                           : side->at + (displ + a->first + from) * elem_bytes;
}

/* Write the item of a part, by the threads of a warp. */
__device__ static GP_INLINE void gr_leader_item(const struct gr_leader_args *a,
                                                struct gr_item *item, struct gr_part part,
                                                uint32_t lane, size_t elem_bytes)
{
    uint32_t x = part.extent, p = a->ranks, sender = x / p, receiver = x % p, skip = p, k;
    struct gr_leader_ends src = {p, 0, 0}, dst = {p, 0, 0};
    size_t count, run, begin, displ;

    switch (a->coll) {
    case GR_COLL_REDUCE:
        dst = {1, a->root, 0};
        break;
    case GR_COLL_BCAST: /* the root has its vector already */
        src = {1, a->root, 0};
        dst.n = p - 1;
        skip = a->root;
        break;
    case GR_COLL_REDUCE_SCATTER:
        src.block = x;
        dst = {1, x, 0};
        break;
    case GR_COLL_ALLGATHER:
        src = {1, x, 0};
        dst.block = x;
        break;
    case GR_COLL_ALLTOALL:
        src = {1, sender, receiver};
        dst = {1, receiver, sender};
        x = receiver;
        break;
    default: /* allreduce */
        break;
    }
    count = gr_leader_count(a, x);
    run = (count + part.parts - 1) / part.parts;
    run = (run + GR_LEADER_UNIT - 1) / GR_LEADER_UNIT * GR_LEADER_UNIT;
    begin = part.part * run < count ? part.part * run : count;
    displ = gr_leader_displ(a, src.block);
    for (k = lane; k < src.n; k += 32) {
        item->src[k] = gr_leader_at(a, &a->in[src.first + k], src.block, displ, begin, elem_bytes);
    }
    for (k = lane; k < dst.n; k += 32) {
        uint32_t rank = dst.first + k + (k >= skip);

        displ = 0 == a->places ? gr_leader_displ(a, dst.block)
                               : gp_ld((const size_t *) a->places + rank * p + dst.block);
        item->dst[k] = gr_leader_at(a, &a->out[rank], dst.block, displ, begin, elem_bytes);
    }
    if (0 == lane) {
        item->nsrc = src.n;
        item->ndst = dst.n;
        item->count = run < count - begin ? run : count - begin;
    }
}

/* This block of threads has stored everything; the last one says so to the host. */
__device__ static GP_INLINE void gr_leader_end(const struct gr_leader_args *a)
{
    uint64_t *counter = (uint64_t *) a->counter;

    if (gridDim.x - 1 == gp_add(counter, 1)) {
        gp_st(counter, (uint64_t) 0);
        gp_st_release((uint64_t *) a->done, a->value);
    }
}

template <class Mover> __device__ static GP_INLINE void gr_lead(const struct gr_leader_args *a)
{
    __shared__ struct gr_item item;
    uint32_t first = blockDim.x - 32, p = a->ranks, extents = 1, teams;
    struct gr_part part;

    if (GR_COLL_ALLGATHER == a->coll || GR_COLL_REDUCE_SCATTER == a->coll) {
        extents = p;
    } else if (GR_COLL_ALLTOALL == a->coll) {
        extents = p * p;
    }
    teams = extents < gridDim.x ? extents : gridDim.x;
    part.parts = gridDim.x / teams;
    part.part = blockIdx.x % part.parts;
    /* blocks that are left over have no work */
    for (part.extent = blockIdx.x / part.parts < teams ? blockIdx.x / part.parts : extents;
         part.extent < extents; part.extent += teams) {
        if (threadIdx.x >= first) {
            gr_leader_item(a, &item, part, threadIdx.x - first, Mover::elem_bytes);
        }
        gp_barrier(); /* the item is written */
        if (threadIdx.x < first && item.count > 0) {
            Mover::move(&item);
        }
        gp_barrier(); /* all is stored, and the item may be written again */
    }
    if (0 == threadIdx.x) {
        gr_leader_end(a);
    }
}

#endif
