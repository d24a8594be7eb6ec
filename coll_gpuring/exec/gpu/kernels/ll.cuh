/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving an item in protocol LL or LL128 (sched/protocol.h): dst[0..ndst) = src[0] op src[1] op ...
 * Messages consist of lines with flags, and each thread moves one unit:
 *
 *      LL       [data 4][flag 4][data 4][flag 4]  twice            8 bytes are atomic
 *      LL128    [data 16] x 7, [data 8][flag 8]                    128 bytes are atomic
 *
 * A thread loads its unit of each source, and polls those that are messages. No thread stores
 * before all threads of the block have their units. So a block that times out can exit, and repeat
 * the item in the next launch.
 */
#ifndef GR_EXEC_GPU_KERNELS_LL_CUH
#define GR_EXEC_GPU_KERNELS_LL_CUH

#include "exec/gpu/kernels/move.cuh"

/*
 * LL's flags have 32 bits, so they repeat. A line that only long messages use might still contain
 * the flag of 2^32 messages ago. So all lines of a slot are written once in this many messages.
 */
#define GR_LL_CYCLE (UINT64_C(1) << 30)

/* Polls between two reads of the abort word, which is in host memory. */
#define GR_ABORT_EVERY 64

/* ---- units in buffers ---- */

/* A thread's unit: its offset in the item, and its length, 0..16, both in bytes. */
struct gr_unit {
    size_t at;
    uint32_t bytes;
};

__device__ static GP_INLINE uint32_t gr_clip(size_t bytes, size_t at, uint32_t most)
{
    return at >= bytes ? 0 : bytes - at < most ? (uint32_t) (bytes - at) : most;
}

/* Load a unit at any alignment; missing bytes are 0. Not inlined: all kernels share it. */
__device__ static GP_NOINLINE uint4 gr_unit_load(gr_gpu_ptr at, uint32_t bytes)
{
    uint32_t word[4] = {0, 0, 0, 0};
    int k;

    if (16 == bytes && 0 == at % 16) {
        return gp_ld((const uint4 *) at);
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
        gp_st((uint4 *) at, v);
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

/* ---- units in messages ---- */

struct gr_ll {
    enum { unit = GR_LL_UNIT, cycles = 1 };
    /* Combine the decisions of the threads that must decide equally: only this one. */
    __device__ static GP_INLINE int any(int mine)
    {
        return mine;
    }
    /* The unit of thread i in an item of `bytes` bytes. */
    __device__ static GP_INLINE struct gr_unit find(uint32_t i, size_t bytes, size_t)
    {
        struct gr_unit u;

        u.at = 16 * (size_t) i;
        u.bytes = gr_clip(bytes, u.at, 16);
        return u;
    }
    /* Whether the unit has arrived; *v is the unit. */
    __device__ static GP_INLINE int poll(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
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
    __device__ static GP_INLINE void store(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
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

/* Threads 8 g .. 8 g + 7 share a line. All threads of a warp call these functions together. */
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
    /* Whether thread i's line contains data: its first unit does. */
    __device__ static GP_INLINE int holds(uint32_t i, struct gr_unit u)
    {
        return 0 != __shfl_sync(0xffffffffu, u.bytes, (int) (i % 32 / 8 * 8));
    }
    __device__ static GP_INLINE int poll(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
                                         uint64_t flag, uint4 *v)
    {
        uint64_t low, high;
        int late = holds(i, u) && 7 == i % 8;

        gp_ld_whole((const void *) (slot + unit * (gr_gpu_ptr) i), &low, &high);
        *v = make_uint4((uint32_t) low, (uint32_t) (low >> 32), (uint32_t) high,
                        (uint32_t) (high >> 32));
        return !any(late && high != flag);
    }
    __device__ static GP_INLINE void store(gr_gpu_ptr slot, uint32_t i, struct gr_unit u,
                                           uint64_t flag, uint4 v)
    {
        uint64_t low = v.x | (uint64_t) v.y << 32, high = v.z | (uint64_t) v.w << 32;

        gp_st_whole((void *) (slot + unit * (gr_gpu_ptr) i), low, 7 == i % 8 ? flag : high,
                    holds(i, u));
    }
};

/* ---- items ---- */

/*
 * Whether to give up after this many polls. A thread that gives up sets *stop, which stops all
 * threads of the block. Thread 0 reads the abort word.
 */
template <class Lines>
__device__ static GP_INLINE int gr_should_stop(const struct gr_gpu_args *args, uint64_t polls,
                                               uint32_t *stop)
{
    int mine = polls >= args->patience;

    if (0 == polls % GR_ABORT_EVERY && 0 == threadIdx.x) {
        mine |= 0 != gp_ld_relaxed((const uint64_t *) args->abort);
    }
    if (mine) {
        gp_shared_st(stop, 1);
    }
    return Lines::any(mine || 0 != gp_shared_ld(stop));
}

/* Load or receive source k's unit. Returns 0 if it did not arrive in time. */
template <class Lines>
__device__ static GP_INLINE int gr_receive_source(const struct gr_gpu_args *args,
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
    while (!Lines::poll(item->src[k], threadIdx.x, u, item->src_flag[k], v)) {
        if (gr_should_stop<Lines>(args, ++polls, stop)) {
            return 0;
        }
        gp_spin();
    }
    return 1;
}

/* Receive and combine the units of all sources. Returns 0 if one did not arrive. */
template <class Mover, class Lines>
__device__ static GP_INLINE int gr_receive_unit(const struct gr_gpu_args *args,
                                                const struct gr_item *item, struct gr_unit u,
                                                uint32_t *stop, uint4 *v)
{
    typename Mover::sum sum;
    typename Mover::by::type x;
    uint32_t k;

    x.word[0] = *v;
#pragma unroll 1
    for (k = 0; k < item->nsrc; k++) {
        if (!gr_receive_source<Lines>(args, item, k, u, stop, &x.word[0])) {
            return 0;
        }
        if (0 == k) {
            sum.begin(x);
        } else {
            sum.add(x);
        }
    }
    if (item->nsrc > 1) { /* the bytes of a single source need not be valid numbers */
        sum.end(&x);
    }
    *v = x.word[0];
    return 1;
}

/* Store the unit in all destinations. */
template <class Lines>
__device__ static GP_INLINE void gr_send_unit(const struct gr_gpu_args *args,
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
        Lines::store(item->dst[d], threadIdx.x, clean ? whole : u, item->dst_flag[d], v);
        for (i = threadIdx.x + ndata; clean && i < units; i += ndata) {
            Lines::store(item->dst[d], i, whole, item->dst_flag[d], v);
        }
    }
}

#endif
