/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving a piece: dst[0..ndst) = src[0] op src[1] op ..., by all data threads of a block.
 *
 * Vectors of 16 bytes where all addresses are alike modulo 16, with the elements before and behind them one by one;
 * several vectors per thread are on their way at once. Where addresses are not alike: elements; and bytes for elements
 * that are not aligned to their own size.
 *
 * Unit i of a round is the business of thread i, so that a destination may be the source it replaces.
 */
#ifndef GR_EXEC_KERNEL_MOVE_CUH
#define GR_EXEC_KERNEL_MOVE_CUH

#include "kernel_copy.cuh"
#include "kernel_ops.cuh"

/* How n elements are read and written at once: as a vector, as one element, as an element's bytes. */
template <class T> struct gr_by_vector {
    enum { n = 16 / sizeof(T) };
    union type {
        uint4 v;
        T elem[n];
    };
    __device__ static GP_INLINE void load(type *x, gr_gpu_ptr at) { x->v = gp_ld16((const void *) at); }
    __device__ static GP_INLINE void store(const type *x, gr_gpu_ptr at) { gp_st16((void *) at, x->v); }
};

template <class T> struct gr_by_element {
    enum { n = 1 };
    struct type {
        T elem[1];
    };
    __device__ static GP_INLINE void load(type *x, gr_gpu_ptr at) { x->elem[0] = gp_ld((const T *) at); }
    __device__ static GP_INLINE void store(const type *x, gr_gpu_ptr at) { gp_st((T *) at, x->elem[0]); }
};

template <class T> struct gr_by_byte {
    enum { n = 1 };
    union type {
        T elem[1];
        uint8_t byte[sizeof(T)];
    };
    __device__ static GP_INLINE void load(type *x, gr_gpu_ptr at)
    {
        int b;

#pragma unroll
        for (b = 0; b < (int) sizeof(T); b++) {
            x->byte[b] = gp_ld((const uint8_t *) at + b);
        }
    }
    __device__ static GP_INLINE void store(const type *x, gr_gpu_ptr at)
    {
        int b;

#pragma unroll
        for (b = 0; b < (int) sizeof(T); b++) {
            gp_st((uint8_t *) at + b, x->byte[b]);
        }
    }
};

/* The units number i, i + stride, ... of one source. */
template <class By, int unroll>
__device__ static GP_INLINE void gr_load_units(typename By::type *x, gr_gpu_ptr src, size_t i, size_t stride)
{
    int u;

#pragma unroll
    for (u = 0; u < unroll; u++) {
        By::load(&x[u], src + (i + u * stride) * sizeof(x[0]));
    }
}

/* Those units combined from nsrc sources, which are on their way together. */
template <class Pair, class By, int unroll, int nsrc>
__device__ static GP_INLINE void gr_combine_at_once(typename By::type *x, const struct gr_ends<nsrc> &src, size_t i,
                                                    size_t stride)
{
    typename By::type y[nsrc][unroll];
    int k, u, e;

#pragma unroll
    for (k = 0; k < nsrc; k++) {
        gr_load_units<By, unroll>(y[k], src.get(k), i, stride);
    }
#pragma unroll
    for (u = 0; u < unroll; u++) {
#pragma unroll
        for (e = 0; e < By::n; e++) {
            typename Pair::W sum = Pair::widen(y[0][u].elem[e]);

#pragma unroll
            for (k = 1; k < nsrc; k++) {
                sum = Pair::combine(sum, Pair::widen(y[k][u].elem[e]));
            }
            x[u].elem[e] = Pair::narrow(sum);
        }
    }
}

/* The same from any number of sources, one after the other. */
template <class Pair, class By, int unroll>
__device__ static GP_INLINE void gr_combine_in_turn(typename By::type *x, const struct gr_ends<0> &src, size_t i,
                                                    size_t stride)
{
    typename Pair::W sum[unroll][By::n];
    uint32_t k;
    int u, e;

    gr_load_units<By, unroll>(x, src.get(0), i, stride);
#pragma unroll
    for (u = 0; u < unroll; u++) {
#pragma unroll
        for (e = 0; e < By::n; e++) {
            sum[u][e] = Pair::widen(x[u].elem[e]);
        }
    }
#pragma unroll 1
    for (k = 1; k < src.count(); k++) {
        gr_load_units<By, unroll>(x, src.get(k), i, stride);
#pragma unroll
        for (u = 0; u < unroll; u++) {
#pragma unroll
            for (e = 0; e < By::n; e++) {
                sum[u][e] = Pair::combine(sum[u][e], Pair::widen(x[u].elem[e]));
            }
        }
    }
#pragma unroll
    for (u = 0; u < unroll; u++) {
#pragma unroll
        for (e = 0; e < By::n; e++) {
            x[u].elem[e] = Pair::narrow(sum[u][e]);
        }
    }
}

/* All sources are read before the first destination is written: it may be one of them. */
template <class Pair, class By, int unroll, int nsrc, class Destinations>
__device__ static GP_INLINE void gr_reduce_round(const struct gr_ends<nsrc> &src, const Destinations &dst, size_t i,
                                                 size_t stride)
{
    typename By::type x[unroll];
    uint32_t k;
    int u;

    if constexpr (0 == nsrc) {
        gr_combine_in_turn<Pair, By, unroll>(x, src, i, stride);
    } else {
        gr_combine_at_once<Pair, By, unroll>(x, src, i, stride);
    }
#pragma unroll
    for (k = 0; k < dst.count(); k++) {
#pragma unroll
        for (u = 0; u < unroll; u++) {
            By::store(&x[u], dst.get(k) + (i + u * stride) * sizeof(x[0]));
        }
    }
}

/* n units, from byte `from` of the piece on; nsrc, ndst 0: as many as the item has. */
template <class Pair, class By, int unroll, int nsrc, int ndst>
__device__ static GP_INLINE void gr_reduce_units(const struct gr_item *item, size_t from, size_t n)
{
    struct gr_ends<nsrc> src(item->src, item->nsrc, from);
    struct gr_ends<ndst> dst(item->dst, item->ndst, from);
    struct gr_share mine = gr_share_mine();
    size_t i = mine.first;

#pragma unroll 1
    for (; i + (unroll - 1) * mine.stride < n; i += unroll * mine.stride) {
        gr_reduce_round<Pair, By, unroll>(src, dst, i, mine.stride);
    }
#pragma unroll 1
    for (; unroll > 1 && i < n; i += mine.stride) {
        gr_reduce_round<Pair, By, 1>(src, dst, i, mine.stride);
    }
}

/* n vectors; the moves that rings consist of have code of their own. */
template <class Pair>
__device__ static GP_INLINE void gr_reduce_vectors(const struct gr_item *item, size_t from, size_t n)
{
    typedef gr_by_vector<typename Pair::T> by;
    enum { bytes = 1 == sizeof(typename Pair::T), often = GR_UNROLL >> bytes, any = GR_UNROLL_ANY >> bytes };

    if (2 == item->nsrc && 1 == item->ndst) {
        gr_reduce_units<Pair, by, often, 2, 1>(item, from, n);
    } else if (2 == item->nsrc && 2 == item->ndst) {
        gr_reduce_units<Pair, by, often, 2, 2>(item, from, n);
    } else {
        gr_reduce_units<Pair, by, any, 0, 0>(item, from, n);
    }
}

template <class Pair> __device__ static GP_INLINE void gr_reduce_item(const struct gr_item *item)
{
    enum { bytes = sizeof(typename Pair::T), each = 16 / bytes };
    gr_gpu_ptr difference = gr_difference(item);
    size_t head = 0, vectors = 0, rest;

    if (0 != difference % bytes || 0 != item->src[0] % bytes) {
        gr_reduce_units<Pair, gr_by_byte<typename Pair::T>, 1, 0, 0>(item, 0, item->count);
        return;
    }
    if (0 == difference % 16) {
        head = (size_t) (0 - item->src[0]) % 16 / bytes;
        head = head < item->count ? head : item->count;
        vectors = (item->count - head) / each;
    }
    rest = head + vectors * each;
    gr_reduce_units<Pair, gr_by_element<typename Pair::T>, 1, 0, 0>(item, 0, head);
    gr_reduce_vectors<Pair>(item, head * bytes, vectors);
    gr_reduce_units<Pair, gr_by_element<typename Pair::T>, GR_UNROLL, 0, 0>(item, rest * bytes, item->count - rest);
}

/* ---- what a kernel moves ---- */

template <class Type, class Op> struct gr_mover_of {
    enum { elem_bytes = sizeof(typename Type::elem) };
    __device__ static GP_INLINE void move(const struct gr_item *item)
    {
        if (1 == item->nsrc) {
            gr_copy_item(item, item->count * elem_bytes);
        } else {
            gr_reduce_item<gr_pair<Type, Op>>(item);
        }
    }
};

/* The kernel that only copies; its elements are bytes. */
struct gr_mover_copy {
    enum { elem_bytes = 1 };
    __device__ static GP_INLINE void move(const struct gr_item *item)
    {
        gr_copy_item(item, item->count);
    }
};

#endif
