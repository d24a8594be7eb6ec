/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work items of a block's data threads: addresses, and how they are aligned.
 */
#ifndef GR_EXEC_GPU_KERNELS_ITEM_CUH
#define GR_EXEC_GPU_KERNELS_ITEM_CUH

#include "exec/gpu/kernels/port.cuh"

#include "exec/gpu/args.h"
#include "exec/gpu/leader_args.h"

/* Most sources and destinations of an item: a leader's, of which each rank may be one. */
#define GR_SOURCES GR_LEADER_RANKS
#define GR_DESTINATIONS GR_LEADER_RANKS
/* The same of an item of a channel: an operand or a buffer, and messages or slots. */
#define GR_CHANNEL_ENDS (1 + GR_FAN)

/* A work item: a piece of a slot. In shared memory; the scheduler writes it. */
struct gr_item {
    gr_gpu_ptr src[GR_SOURCES];         /* addresses of the sources */
    gr_gpu_ptr dst[GR_DESTINATIONS];    /* addresses of the destinations */
    uint64_t src_flag[GR_CHANNEL_ENDS]; /* LL, LL128: expected flag of a message */
    uint64_t dst_flag[GR_CHANNEL_ENDS]; /* LL, LL128: flag to write with a message */
    size_t count;                       /* number of elements */
    uint32_t nsrc;                      /* number of sources */
    uint32_t ndst;                      /* number of destinations */
    uint32_t operand;                   /* index of the operand in src[]; nsrc: none */
    uint32_t stores;                    /* 1: dst[0] is the buffer, the others are messages */
    uint32_t clean;                     /* LL: 1: write all lines of the slots */
    uint32_t kind;                      /* enum gr_item_kind (link.cuh) */
};

/* ---- the sources or destinations of a move, from byte `from` of the item on ---- */

/* n addresses, in registers. */
template <int n> struct gr_ends {
    gr_gpu_ptr at[n];
    __device__ GP_INLINE gr_ends(const gr_gpu_ptr *all, uint32_t, size_t from)
    {
        int k;

#pragma unroll
        for (k = 0; k < n; k++) {
            at[k] = all[k] + from;
        }
    }
    __device__ static GP_INLINE uint32_t count(void)
    {
        return n;
    }
    __device__ GP_INLINE gr_gpu_ptr get(uint32_t k) const
    {
        return at[k];
    }
};

/* Any number of addresses, in the item. */
template <> struct gr_ends<0> {
    const gr_gpu_ptr *all;
    uint32_t n;
    size_t from;
    __device__ GP_INLINE gr_ends(const gr_gpu_ptr *ends, uint32_t number, size_t begin)
        : all(ends), n(number), from(begin)
    {
    }
    __device__ GP_INLINE uint32_t count(void) const
    {
        return n;
    }
    __device__ GP_INLINE gr_gpu_ptr get(uint32_t k) const
    {
        return all[k] + from;
    }
};

/* The bits in which any address of the item differs from src[0]. */
__device__ static GP_INLINE gr_gpu_ptr gr_difference(const struct gr_item *item)
{
    gr_gpu_ptr bits = 0;
    uint32_t k;

#pragma unroll 1
    for (k = 1; k < item->nsrc; k++) {
        bits |= item->src[0] ^ item->src[k];
    }
#pragma unroll 1
    for (k = 0; k < item->ndst; k++) {
        bits |= item->src[0] ^ item->dst[k];
    }
    return bits;
}

/* The widest word, in bytes, to which all addresses can be aligned at the same offset: 1..16. */
__device__ static GP_INLINE size_t gr_width(const struct gr_item *item)
{
    gr_gpu_ptr bits = gr_difference(item) | 16;

    return (size_t) (bits & (0 - bits));
}

#endif
