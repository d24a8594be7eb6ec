/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving an item in protocol Simple: dst[0..ndst) = src[0] op src[1] op ..., by all data threads of
 * a block.
 *
 * If all addresses are equal modulo 16, threads move vectors of 16 bytes, and single elements
 * before and after them. Each thread has several vectors in flight. Otherwise they move single
 * elements, by words of the type's alignment in C, or by bytes if elements have less alignment.
 * Bitwise operations use the widest words that the alignment of all addresses permits, as copies
 * do.
 *
 * Thread i reads and writes unit i of a round, so a destination may also be a source.
 */
#ifndef GR_EXEC_GPU_KERNELS_MOVE_CUH
#define GR_EXEC_GPU_KERNELS_MOVE_CUH

#include "exec/gpu/kernels/copy.cuh"
#include "exec/gpu/kernels/ops.cuh"

/* A unit of elements T, moved by accesses of N bytes: one element, or as many as fit N bytes. */
template <class T, int N> struct gr_by {
    enum { n = N < sizeof(T) ? 1 : N / sizeof(T), words = n * sizeof(T) / N };
    union type {
        typename gr_wide<N>::type word[words];
        T elem[n];
    };
    __device__ static GP_INLINE void load(type *x, gr_gpu_ptr at)
    {
        int w;

#pragma unroll
        for (w = 0; w < words; w++) {
            x->word[w] = gr_wide<N>::load(at + w * N);
        }
    }
    __device__ static GP_INLINE void store(const type *x, gr_gpu_ptr at)
    {
        int w;

#pragma unroll
        for (w = 0; w < words; w++) {
            gr_wide<N>::store(at + w * N, x->word[w]);
        }
    }
};

/* Load units i, i + stride, ... of a source. */
template <class By, int unroll>
__device__ static GP_INLINE void gr_load_units(typename By::type *x, gr_gpu_ptr src, size_t i,
                                               size_t stride)
{
    int u;

#pragma unroll
    for (u = 0; u < unroll; u++) {
        By::load(&x[u], src + (i + u * stride) * sizeof(x[0]));
    }
}

/* Load and combine these units of nsrc sources, all of which are in flight together. */
template <class Pair, class By, int unroll, int nsrc>
__device__ static GP_INLINE void gr_combine_at_once(typename By::type *x,
                                                    const struct gr_ends<nsrc> &src, size_t i,
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

/* Load and combine these units of any number of sources, one source after the other. */
template <class Pair, class By, int unroll>
__device__ static GP_INLINE void gr_combine_in_turn(typename By::type *x,
                                                    const struct gr_ends<0> &src, size_t i,
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

/* One round. All sources are read before a destination is written, since it may be a source. */
template <class Pair, class By, int unroll, int nsrc, class Destinations>
__device__ static GP_INLINE void gr_reduce_round(const struct gr_ends<nsrc> &src,
                                                 const Destinations &dst, size_t i, size_t stride)
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

/* Combine n units, from byte `from` of the item on. nsrc, ndst: 0: the item's. */
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

/*
 * Combine n vectors, with specialised code for the frequent moves: those of rings, or (many) those
 * of a leader with 2, 4 or 8 ranks.
 */
template <class Pair, bool many>
__device__ static GP_INLINE void gr_reduce_vectors(const struct gr_item *item, size_t from,
                                                   size_t n)
{
    typedef gr_by<typename Pair::T, 16> by;
    enum {
        bytes = 1 == sizeof(typename Pair::T),
        often = GR_UNROLL >> bytes,
        any = GR_UNROLL_ANY >> bytes
    };

    if (!many && 2 == item->nsrc && 1 == item->ndst) {
        gr_reduce_units<Pair, by, often, 2, 1>(item, from, n);
    } else if (!many && 2 == item->nsrc && 2 == item->ndst) {
        gr_reduce_units<Pair, by, often, 2, 2>(item, from, n);
    } else if (many && 2 == item->nsrc) {
        gr_reduce_units<Pair, by, often, 2, 0>(item, from, n);
    } else if (many && 4 == item->nsrc) {
        gr_reduce_units<Pair, by, any, 4, 0>(item, from, n);
    } else if (many && 8 == item->nsrc) {
        gr_reduce_units<Pair, by, 1, 8, 0>(item, from, n);
    } else {
        gr_reduce_units<Pair, by, any, 0, 0>(item, from, n);
    }
}

template <class Pair, bool many>
__device__ static GP_INLINE void gr_reduce_item(const struct gr_item *item)
{
    typedef typename Pair::T T;
    enum { bytes = sizeof(T), word = alignof(T), each = 16 / bytes };
    gr_gpu_ptr difference = gr_difference(item);
    size_t head = 0, vectors = 0, rest;

    if (0 != difference % word || 0 != item->src[0] % word) {
        gr_reduce_units<Pair, gr_by<T, 1>, 1, 0, 0>(item, 0, item->count);
        return;
    }
    if (0 == difference % 16 && 0 == item->src[0] % bytes) {
        head = (size_t) (0 - item->src[0]) % 16 / bytes;
        head = head < item->count ? head : item->count;
        vectors = (item->count - head) / each;
    }
    rest = head + vectors * each;
    gr_reduce_units<Pair, gr_by<T, word>, 1, 0, 0>(item, 0, head);
    gr_reduce_vectors<Pair, many>(item, head * bytes, vectors);
    gr_reduce_units<Pair, gr_by<T, word>, GR_UNROLL, 0, 0>(item, rest * bytes, item->count - rest);
}

/* ---- bitwise operations ---- */

/* Combine n words of a type. */
template <class Type, class Op>
__device__ static GP_INLINE void gr_reduce_words(const struct gr_item *item, size_t from, size_t n)
{
    typedef typename Type::elem T;

    gr_reduce_units<gr_pair<Type, Op>, gr_by<T, sizeof(T)>, GR_UNROLL, 0, 0>(item, from, n);
}

/* Combine bytes, then words, then bytes, as gr_copy_item(). */
template <class Op, bool many>
__device__ static GP_INLINE void gr_reduce_bits(const struct gr_item *item)
{
    size_t width = gr_width(item), head = (size_t) (0 - item->src[0]) & (width - 1), body;

    head = head < item->count ? head : item->count;
    body = (item->count - head) & (0 - width);
    gr_reduce_words<gr_type_u8, Op>(item, 0, head);
    if (16 == width) {
        gr_reduce_vectors<gr_pair<gr_type_u64, Op>, many>(item, head, body / 16);
    } else if (8 == width) {
        gr_reduce_words<gr_type_u64, Op>(item, head, body / 8);
    } else if (4 == width) {
        gr_reduce_words<gr_type_u32, Op>(item, head, body / 4);
    } else if (2 == width) {
        gr_reduce_words<gr_type_u16, Op>(item, head, body / 2);
    } else {
        body = 0;
    }
    gr_reduce_words<gr_type_u8, Op>(item, head + body, item->count - head - body);
}

/* ---- reductions in registers, for LL and LL128 ---- */

/* 16 bytes of elements, in their wide type. */
template <class Pair> struct gr_sum {
    typedef gr_by<typename Pair::T, 16> by;
    typename Pair::W value[by::n];
    __device__ GP_INLINE void begin(uint4 v)
    {
        typename by::type x;
        int e;

        x.word[0] = v;
#pragma unroll
        for (e = 0; e < by::n; e++) {
            value[e] = Pair::widen(x.elem[e]);
        }
    }
    __device__ GP_INLINE void add(uint4 v)
    {
        typename by::type x;
        int e;

        x.word[0] = v;
#pragma unroll
        for (e = 0; e < by::n; e++) {
            value[e] = Pair::combine(value[e], Pair::widen(x.elem[e]));
        }
    }
    __device__ GP_INLINE uint4 end(void) const
    {
        typename by::type x;
        int e;

#pragma unroll
        for (e = 0; e < by::n; e++) {
            x.elem[e] = Pair::narrow(value[e]);
        }
        return x.word[0];
    }
};

/* ---- the movers of kernels ---- */

template <class Type, class Op, bool many> struct gr_combining {
    typedef gr_sum<gr_pair<Type, Op>> sum;
    __device__ static GP_INLINE void reduce(const struct gr_item *item)
    {
        gr_reduce_item<gr_pair<Type, Op>, many>(item);
    }
};
template <class Op, bool many> struct gr_combining<gr_type_bits, Op, many> {
    typedef gr_sum<gr_pair<gr_type_u64, Op>> sum;
    __device__ static GP_INLINE void reduce(const struct gr_item *item)
    {
        gr_reduce_bits<Op, many>(item);
    }
};

template <class Type, class Op, bool many> struct gr_mover_of {
    enum { elem_bytes = sizeof(typename Type::elem) };
    typedef typename gr_combining<Type, Op, many>::sum sum;
    __device__ static GP_INLINE void move(const struct gr_item *item)
    {
        if (!many && 1 == item->nsrc) { /* a leader's item has two sources at least */
            gr_copy_item(item, item->count * elem_bytes);
        } else {
            gr_combining<Type, Op, many>::reduce(item);
        }
    }
};

/* The mover of the copy kernel. Its elements are bytes. */
struct gr_mover_copy {
    enum { elem_bytes = 1 };
    /* never used: a copy has one source */
    struct sum {
        __device__ GP_INLINE void begin(uint4)
        {
        }
        __device__ GP_INLINE void add(uint4)
        {
        }
        __device__ GP_INLINE uint4 end(void) const
        {
            return make_uint4(0, 0, 0, 0);
        }
    };
    __device__ static GP_INLINE void move(const struct gr_item *item)
    {
        gr_copy_item(item, item->count);
    }
};

#endif
