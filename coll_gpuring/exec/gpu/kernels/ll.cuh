/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving a piece in lines (sched/protocol.h), each thread one unit of it: dst[0..ndst) = src[0] op
 * src[1] op ...
 *
 *      LL       [data 4][flag 4][data 4][flag 4]  twice            8 bytes arrive together
 *      LL128    [data 16] x 7, [data 8][flag 8]                    128 bytes arrive together
 *
 * A thread takes its unit from all sources, and polls those that are lines; nothing is stored
 * before all threads of the block have theirs. So a block that waits in vain can leave, and begin
 * the piece anew.
 */
#ifndef GR_EXEC_GPU_KERNELS_LL_CUH
#define GR_EXEC_GPU_KERNELS_LL_CUH

#include "exec/gpu/kernels/move.cuh"

/*
 * Flags of LL have 32 bits, so they come again. A line that only long messages reach might then
 * still have the flag of one that came so long ago: all lines of a slot are written once in so many
 * messages.
 */
#define GR_LL_CYCLE (UINT64_C(1) << 30)

/* Polls between two looks at the abort word, which lies in host memory. */
#define GR_ABORT_EVERY 64

/* ---- the unit in a buffer ---- */

/* Where a thread's unit lies in the piece, and how many bytes it has, 0..16. */
struct gr_unit {
    size_t at;
    uint32_t bytes;
};

__device__ static GP_INLINE uint32_t gr_clip(size_t bytes, size_t at, uint32_t most)
{
    return at >= bytes ? 0 : bytes - at < most ? (uint32_t) (bytes - at) : most;
}

/* Bytes from anywhere; what is not read is 0. One for all kernels: it knows no type. */
__device__ static GP_NOINLINE uint4 gr_unit_load(gr_gpu_ptr at, uint32_t bytes)
{
    uint32_t word[4] = {0, 0, 0, 0};
    int k;

    if (16 == bytes && 0 == at % 16) {
        return gp_ld16((const void *) at);
    }
    if (0 == (at | bytes) % 4) {
#pragma unroll
        for (k = 0; k < 4; k++) {
            if (4 * (uint32_t) k < bytes) {
                word[k] = gp_ld((const uint32_t *) (at + 4 * k));
            }
        }
    } else {
#pragma unroll
        for (k = 0; k < 16; k++) {
            if ((uint32_t) k < bytes) {
                word[k / 4] |= (uint32_t) gp_ld((const uint8_t *) (at + k)) << 8 * (k % 4);
            }
        }
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

__device__ static GP_NOINLINE void gr_unit_store(gr_gpu_ptr at, uint32_t bytes, uint4 v)
{
    uint32_t word[4] = {v.x, v.y, v.z, v.w};
    int k;

    if (16 == bytes && 0 == at % 16) {
        gp_st16((void *) at, v);
    } else if (0 == (at | bytes) % 4) {
#pragma unroll
        for (k = 0; k < 4; k++) {
            if (4 * (uint32_t) k < bytes) {
                gp_st((uint32_t *) (at + 4 * k), word[k]);
            }
        }
    } else {
#pragma unroll
        for (k = 0; k < 16; k++) {
            if ((uint32_t) k < bytes) {
                gp_st((uint8_t *) (at + k), (uint8_t) (word[k / 4] >> 8 * (k % 4)));
            }
        }
    }
}

/* ---- the unit in lines ---- */

struct gr_ll {
    enum { unit = GR_LL_UNIT, cycles = 1 };
    /* Threads that must decide alike: only itself. */
    __device__ static GP_INLINE int any(int mine)
    {
        return mine;
    }
    /* Which unit of a piece of so many bytes is thread i's. */
    __device__ static GP_INLINE struct gr_unit find(uint32_t i, size_t bytes, size_t)
    {
        struct gr_unit u;

        u.at = 16 * (size_t) i;
        u.bytes = gr_clip(bytes, u.at, 16);
        return u;
    }
    /* Whether the unit is there, and what it is. */
    __device__ static GP_INLINE int look(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
                                         uint64_t flag, uint4 *v)
    {
        gr_gpu_ptr at = slot + unit * (gr_gpu_ptr) i;
        uint64_t word[4] = {0, 0, 0, 0}, wrong;

        if (0 == u.bytes) {
            return 1;
        }
        gp_ld_pair((const void *) at, &word[0], &word[1]);
        wrong = ((word[0] >> 32) ^ (uint32_t) flag) | ((word[1] >> 32) ^ (uint32_t) flag);
        if (u.bytes > 8) {
            gp_ld_pair((const void *) (at + 16), &word[2], &word[3]);
            wrong |= ((word[2] >> 32) ^ (uint32_t) flag) | ((word[3] >> 32) ^ (uint32_t) flag);
        }
        *v = make_uint4((uint32_t) word[0], (uint32_t) word[1], (uint32_t) word[2],
                        (uint32_t) word[3]);
        return 0 == wrong;
    }
    __device__ static GP_INLINE void put(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
                                         uint64_t flag, uint4 v)
    {
        gr_gpu_ptr at = slot + unit * (gr_gpu_ptr) i;
        uint64_t high = flag << 32;

        if (u.bytes > 0) {
            gp_st_pair((void *) at, high | v.x, high | v.y);
        }
        if (u.bytes > 8) {
            gp_st_pair((void *) (at + 16), high | v.z, high | v.w);
        }
    }
};

/* Threads 8 g .. 8 g + 7 have a line together; a warp does everything together. */
struct gr_ll128 {
    enum { unit = GR_LL128_UNIT, cycles = 0 };
    __device__ static GP_INLINE int any(int mine)
    {
        return __any_sync(0xffffffffu, mine);
    }
    __device__ static GP_INLINE struct gr_unit find(uint32_t i, size_t bytes, size_t elem_bytes)
    {
        size_t line = 16 == elem_bytes ? 112 : 120;
        struct gr_unit u;

        u.at = i / 8 * line + 16 * (size_t) (i % 8);
        u.bytes = gr_clip(bytes, u.at, 7 == i % 8 ? (uint32_t) line - 112 : 16);
        return u;
    }
    /* Whether the line of thread i has data: its first thread's unit has. */
    __device__ static GP_INLINE int holds(uint32_t i, struct gr_unit u)
    {
        return 0 != __shfl_sync(0xffffffffu, u.bytes, (int) (i % 32 / 8 * 8));
    }
    __device__ static GP_INLINE int look(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
                                         uint64_t flag, uint4 *v)
    {
        uint64_t low, high;
        int late = holds(i, u) && 7 == i % 8;

        gp_ld_whole((const void *) (slot + unit * (gr_gpu_ptr) i), &low, &high);
        *v = make_uint4((uint32_t) low, (uint32_t) (low >> 32), (uint32_t) high,
                        (uint32_t) (high >> 32));
        return !any(late && high != flag);
    }
    __device__ static GP_INLINE void put(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
                                         uint64_t flag, uint4 v)
    {
        uint64_t low = v.x | (uint64_t) v.y << 32, high = v.z | (uint64_t) v.w << 32;

        gp_st_whole((void *) (slot + unit * (gr_gpu_ptr) i), low, 7 == i % 8 ? flag : high,
                    holds(i, u));
    }
};

/* ---- a piece ---- */

/*
 * Whether to give up after so many polls in vain. Whoever does tells the others of the block, by
 * *stop; one thread looks at the abort word for all.
 */
template <class Lines>
__device__ static GP_INLINE int gr_take_no_more(const struct gr_gpu_args *args, uint64_t polls,
                                                uint32_t *stop)
{
    int mine = polls >= args->patience;

    if (0 == polls % GR_ABORT_EVERY && 0 == threadIdx.x) {
        mine |= 0 != gp_ld_relaxed((const uint64_t *) args->abort);
    }
    if (mine) {
        gp_show(stop, 1);
    }
    return Lines::any(mine || 0 != gp_see(stop));
}

/* Source k's unit. 0: it did not come in time. */
template <class Lines>
__device__ static GP_INLINE int gr_take_source(const struct gr_gpu_args *args,
                                               const struct gr_item *item, uint32_t k,
                                               struct gr_unit u, uint32_t *stop, uint4 *v)
{
    uint64_t polls = 0;

    if (k == item->operand) {
        if (u.bytes > 0) {
            *v = gr_unit_load(item->src[k] + u.at, u.bytes);
        }
        return 1;
    }
    while (!Lines::look(item->src[k], threadIdx.x, u, item->src_flag[k], v)) {
        if (gr_take_no_more<Lines>(args, ++polls, stop)) {
            return 0;
        }
        gp_spin();
    }
    return 1;
}

/* All sources' units, combined. 0: some did not come. */
template <class Mover, class Lines>
__device__ static GP_INLINE int gr_take_unit(const struct gr_gpu_args *args,
                                             const struct gr_item *item, struct gr_unit u,
                                             uint32_t *stop, uint4 *v)
{
    typename Mover::sum sum;
    uint4 next = make_uint4(0, 0, 0, 0);
    uint32_t k;

    if (!gr_take_source<Lines>(args, item, 0, u, stop, v)) {
        return 0;
    }
    if (1 == item->nsrc) {
        return 1; /* as it is: it may be what only looks like a number */
    }
    sum.begin(*v);
#pragma unroll 1
    for (k = 1; k < item->nsrc; k++) {
        if (!gr_take_source<Lines>(args, item, k, u, stop, &next)) {
            return 0;
        }
        sum.add(next);
    }
    *v = sum.end();
    return 1;
}

/* The unit to all destinations. */
template <class Lines>
__device__ static GP_INLINE void gr_give_unit(const struct gr_gpu_args *args,
                                              const struct gr_item *item, struct gr_unit u, uint4 v)
{
    uint32_t ndata = blockDim.x - 32, units = (uint32_t) (args->slot_bytes / Lines::unit), d, i;
    int clean = Lines::cycles && item->clean;
    struct gr_unit whole;

    whole.at = 0;
    whole.bytes = 16;
    if (item->stores && u.bytes > 0) {
        gr_unit_store(item->dst[0] + u.at, u.bytes, v);
    }
#pragma unroll 1
    for (d = item->stores; d < item->ndst; d++) {
        Lines::put(item->dst[d], threadIdx.x, clean ? whole : u, item->dst_flag[d], v);
        for (i = threadIdx.x + ndata; clean && i < units; i += ndata) {
            Lines::put(item->dst[d], i, whole, item->dst_flag[d], v);
        }
    }
}

#endif
