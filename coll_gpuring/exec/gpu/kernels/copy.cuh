/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work items of a block's data threads, and the copy of an item. A copy ignores elements: it
 * uses the widest accesses that the alignment of all addresses permits, and single bytes before and
 * after them. Each thread has several words in flight.
 */
#ifndef GR_EXEC_GPU_KERNELS_COPY_CUH
#define GR_EXEC_GPU_KERNELS_COPY_CUH

#include "exec/gpu/kernels/port.cuh"

#include "exec/gpu/args.h"
#include "exec/gpu/leader_args.h"

/* Most sources and destinations of an item: a leader's, of which each rank may be one. */
#define GR_SOURCES GR_LEADER_RANKS
#define GR_DESTINATIONS GR_LEADER_RANKS
/* The same of an item of a channel: an operand or a buffer, and messages or slots. */
#define GR_CHANNEL_ENDS (1 + GR_FAN)

/*
 * Vectors of each source that a thread has in flight: in the frequent moves, and in all others.
 * Half as many for one-byte elements, each of which needs a register while it is combined.
 * GR_UNROLL is defined by the compilation of another image (kernels.am), not in the component.
 */
#if !defined(GR_UNROLL)
#define GR_UNROLL 4
#endif
#define GR_UNROLL_ANY 2

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

/* This thread's share of an item: vectors or elements first, first + stride, ... */
struct gr_share {
    size_t first, stride;
};

__device__ static GP_INLINE struct gr_share gr_share_mine(void)
{
    struct gr_share s;

    s.first = threadIdx.x;
    s.stride = GP_BLOCK_THREADS - 32;
    return s;
}

/* ---- accesses of N bytes ---- */

template <int N> struct gr_wide;
template <> struct gr_wide<16> {
    typedef uint4 type;
    __device__ static GP_INLINE uint4 load(gr_gpu_ptr at)
    {
        return gp_ld16((const void *) at);
    }
    __device__ static GP_INLINE void store(gr_gpu_ptr at, uint4 v)
    {
        gp_st16((void *) at, v);
    }
};

template <class T> struct gr_narrow {
    typedef T type;
    __device__ static GP_INLINE T load(gr_gpu_ptr at)
    {
        return gp_ld((const T *) at);
    }
    __device__ static GP_INLINE void store(gr_gpu_ptr at, T v)
    {
        gp_st((T *) at, v);
    }
};
template <> struct gr_wide<8> : gr_narrow<uint64_t> {
};
template <> struct gr_wide<4> : gr_narrow<uint32_t> {
};
template <> struct gr_wide<2> : gr_narrow<uint16_t> {
};
template <> struct gr_wide<1> : gr_narrow<uint8_t> {
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

/* ---- copies ---- */

/* Copy `unroll` words of N bytes: numbers i, i + stride, ... */
template <int N, int unroll, class Ends>
__device__ static GP_INLINE void gr_copy_round(gr_gpu_ptr src, const Ends &dst, size_t i,
                                               size_t stride)
{
    typename gr_wide<N>::type v[unroll];
    uint32_t d;
    int u;

#pragma unroll
    for (u = 0; u < unroll; u++) {
        v[u] = gr_wide<N>::load(src + (i + u * stride) * N);
    }
#pragma unroll
    for (d = 0; d < dst.count(); d++) {
#pragma unroll
        for (u = 0; u < unroll; u++) {
            gr_wide<N>::store(dst.get(d) + (i + u * stride) * N, v[u]);
        }
    }
}

/* Copy n words of N bytes. ndst: number of destinations; 0: item->ndst. */
template <int N, int ndst>
__device__ static GP_INLINE void gr_copy_words(const struct gr_item *item, size_t from, size_t n)
{
    struct gr_ends<ndst> dst(item->dst, item->ndst, from);
    struct gr_share mine = gr_share_mine();
    size_t i = mine.first;

#pragma unroll 1
    for (; i + (GR_UNROLL - 1) * mine.stride < n; i += GR_UNROLL * mine.stride) {
        gr_copy_round<N, GR_UNROLL>(item->src[0] + from, dst, i, mine.stride);
    }
#pragma unroll 1
    for (; i < n; i += mine.stride) {
        gr_copy_round<N, 1>(item->src[0] + from, dst, i, mine.stride);
    }
}

/* Copy n words of N bytes, with specialised code for one and two destinations. */
template <int N>
__device__ static GP_INLINE void gr_copy_as(const struct gr_item *item, size_t from, size_t n)
{
    if (1 == item->ndst) {
        gr_copy_words<N, 1>(item, from, n);
    } else if (2 == item->ndst) {
        gr_copy_words<N, 2>(item, from, n);
    } else {
        gr_copy_words<N, 0>(item, from, n);
    }
}

/* The bits in which any address of the item differs from src[0]. */
__device__ static GP_INLINE gr_gpu_ptr gr_difference(const struct gr_item *item)
{
    gr_gpu_ptr bits = 0;
    uint32_t k;

    for (k = 1; k < item->nsrc; k++) {
        bits |= item->src[0] ^ item->src[k];
    }
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

/* Copy bytes, then words, then bytes. Not inlined: all kernels share it. */
__device__ static GP_NOINLINE void gr_copy_item(const struct gr_item *item, size_t bytes)
{
    size_t width = gr_width(item), head = (size_t) (0 - item->src[0]) & (width - 1), body;

    head = head < bytes ? head : bytes;
    body = (bytes - head) & (0 - width);
    gr_copy_words<1, 0>(item, 0, head);
    if (16 == width) {
        gr_copy_as<16>(item, head, body / 16);
    } else if (8 == width) {
        gr_copy_as<8>(item, head, body / 8);
    } else if (4 == width) {
        gr_copy_as<4>(item, head, body / 4);
    } else if (2 == width) {
        gr_copy_as<2>(item, head, body / 2);
    } else {
        body = 0;
    }
    gr_copy_words<1, 0>(item, head + body, bytes - head - body);
}

#endif
