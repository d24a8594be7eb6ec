/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving an item in protocol Simple: dst[0..ndst) = src[0] op src[1] op ..., by all data threads of
 * a block. A move of one source is a copy.
 *
 * If all addresses are equal modulo 16, threads move vectors of 16 bytes, and single elements
 * before and after them. Each thread has several vectors in flight. Otherwise they move single
 * elements, by words of the type's alignment in C, or by bytes if elements have less alignment.
 * Copies and bitwise operations ignore elements: they use the widest words that the alignment of
 * all addresses permits.
 *
 * Thread i reads and writes unit i of a round, so a destination may also be a source.
 */
#ifndef GR_EXEC_GPU_KERNELS_MOVE_CUH
#define GR_EXEC_GPU_KERNELS_MOVE_CUH

#include "exec/gpu/kernels/item.cuh"
#include "exec/gpu/kernels/ops.cuh"

/*
 * Vectors of each source that a thread has in flight: in the frequent moves, and in all others.
 * Half as many for one-byte elements, each of which needs a register while it is combined.
 */
#define GR_UNROLL 4
#define GR_UNROLL_ANY 2

/* Which moves are frequent, and have code of their own for vectors. */
enum gr_frequent {
    GR_COPIES,  /* one source, one or two destinations */
    GR_RINGS,   /* two sources, one or two destinations */
    GR_LEADERS, /* two, four or eight sources */
};

/* A unit of elements T, moved by accesses of N bytes: one element, or as many as fit N bytes. */
template <class T, int N> struct gr_by {
    typedef typename gp_word<N>::type access;
    enum { n = N < sizeof(T) ? 1 : N / sizeof(T), words = n * sizeof(T) / N };
    union type {
        access word[words];
        T elem[n];
    };
    __device__ static GP_INLINE void load(type *x, gr_gpu_ptr at)
    {
        int w;

#pragma unroll
        for (w = 0; w < words; w++) {
            x->word[w] = gp_ld((const access *) at + w);
        }
    }
    __device__ static GP_INLINE void store(const type *x, gr_gpu_ptr at)
    {
        int w;

#pragma unroll
        for (w = 0; w < words; w++) {
            gp_st((access *) at + w, x->word[w]);
        }
    }
};

/* What a unit's sources are combined in: elements of the wide type. */
template <class Pair, class By> struct gr_sum {
    typedef typename By::type unit;
    typename Pair::W value[By::n];
    __device__ GP_INLINE void begin(const unit &x)
    {
        int e;

#pragma unroll
        for (e = 0; e < By::n; e++) {
            value[e] = Pair::widen(x.elem[e]);
        }
    }
    __device__ GP_INLINE void add(const unit &x)
    {
        int e;

#pragma unroll
        for (e = 0; e < By::n; e++) {
            value[e] = Pair::combine(value[e], Pair::widen(x.elem[e]));
        }
    }
    __device__ GP_INLINE void end(unit *x) const
    {
        int e;

#pragma unroll
        for (e = 0; e < By::n; e++) {
            x->elem[e] = Pair::narrow(value[e]);
        }
    }
};

/*
 * Units i, i + stride, ... of all sources and destinations. All sources are read before a
 * destination is written, since it may be a source. A constant number of sources is in flight
 * together.
 */
template <class Pair, class By, int unroll, int nsrc, int ndst>
__device__ static GP_INLINE void gr_move_round(const struct gr_ends<nsrc> &src,
                                               const struct gr_ends<ndst> &dst, size_t i,
                                               size_t stride)
{
    typename By::type x[unroll];
    gr_sum<Pair, By> sum[unroll];
    uint32_t k;
    int u;

#pragma unroll
    for (u = 0; u < unroll; u++) {
        By::load(&x[u], src.get(0) + (i + u * stride) * sizeof(x[0]));
        sum[u].begin(x[u]);
    }
#pragma unroll(nsrc > 0 ? nsrc : 1)
    for (k = 1; k < src.count(); k++) {
#pragma unroll
        for (u = 0; u < unroll; u++) {
            By::load(&x[u], src.get(k) + (i + u * stride) * sizeof(x[0]));
            sum[u].add(x[u]);
        }
    }
#pragma unroll
    for (u = 0; u < unroll; u++) {
        sum[u].end(&x[u]);
    }
#pragma unroll(ndst > 0 ? ndst : 1)
    for (k = 0; k < dst.count(); k++) {
#pragma unroll
        for (u = 0; u < unroll; u++) {
            By::store(&x[u], dst.get(k) + (i + u * stride) * sizeof(x[0]));
        }
    }
}

/* Move n units, from byte `from` of the item on. nsrc, ndst: 0: the item's. */
template <class Pair, class By, int unroll, int nsrc, int ndst>
__device__ static GP_INLINE void gr_move_units(const struct gr_item *item, size_t from, size_t n)
{
    struct gr_ends<nsrc> src(item->src, item->nsrc, from);
    struct gr_ends<ndst> dst(item->dst, item->ndst, from);
    size_t i = threadIdx.x, stride = GP_BLOCK_THREADS - 32;

#pragma unroll 1
    for (; i + (unroll - 1) * stride < n; i += unroll * stride) {
        gr_move_round<Pair, By, unroll>(src, dst, i, stride);
    }
#pragma unroll 1
    for (; unroll > 1 && i < n; i += stride) {
        gr_move_round<Pair, By, 1>(src, dst, i, stride);
    }
}

/* Move n vectors. */
template <class Pair, enum gr_frequent frequent>
__device__ static GP_INLINE void gr_move_vectors(const struct gr_item *item, size_t from, size_t n)
{
    typedef gr_by<typename Pair::T, 16> by;
    enum {
        bytes = 1 == sizeof(typename Pair::T),
        often = GR_UNROLL >> bytes,
        any = GR_UNROLL_ANY >> bytes
    };

    if constexpr (GR_LEADERS == frequent) {
        if (2 == item->nsrc) {
            gr_move_units<Pair, by, often, 2, 0>(item, from, n);
        } else if (4 == item->nsrc) {
            gr_move_units<Pair, by, any, 4, 0>(item, from, n);
        } else if (8 == item->nsrc) {
            gr_move_units<Pair, by, 1, 8, 0>(item, from, n);
        } else {
            gr_move_units<Pair, by, any, 0, 0>(item, from, n);
        }
    } else {
        enum { copies = GR_COPIES == frequent, nsrc = copies ? 1 : 2 };

        if (nsrc == item->nsrc && 1 == item->ndst) {
            gr_move_units<Pair, by, often, nsrc, 1>(item, from, n);
        } else if (nsrc == item->nsrc && 2 == item->ndst) {
            gr_move_units<Pair, by, often, nsrc, 2>(item, from, n);
        } else {
            gr_move_units<Pair, by, copies ? often : any, copies, 0>(item, from, n);
        }
    }
}

/* Combine elements, then vectors, then elements. */
template <class Pair, enum gr_frequent frequent>
__device__ static GP_INLINE void gr_reduce_item(const struct gr_item *item)
{
    typedef typename Pair::T T;
    enum { bytes = sizeof(T), word = alignof(T), each = 16 / bytes };
    gr_gpu_ptr difference = gr_difference(item);
    size_t head = 0, vectors = 0, rest;

    if (0 != difference % word || 0 != item->src[0] % word) {
        gr_move_units<Pair, gr_by<T, 1>, 1, 0, 0>(item, 0, item->count);
        return;
    }
    if (0 == difference % 16 && 0 == item->src[0] % bytes) {
        head = (size_t) (0 - item->src[0]) % 16 / bytes;
        head = head < item->count ? head : item->count;
        vectors = (item->count - head) / each;
    }
    rest = head + vectors * each;
    gr_move_units<Pair, gr_by<T, word>, 1, 0, 0>(item, 0, head);
    gr_move_vectors<Pair, frequent>(item, head * bytes, vectors);
    gr_move_units<Pair, gr_by<T, word>, GR_UNROLL, 0, 0>(item, rest * bytes, item->count - rest);
}

/* Move n words of a type, which is an unsigned integer. */
template <class Op, enum gr_frequent frequent, int unroll, class Type>
__device__ static GP_INLINE void gr_move_words(const struct gr_item *item, size_t from, size_t n)
{
    typedef typename Type::elem T;

    gr_move_units<gr_pair<Type, Op>, gr_by<T, sizeof(T)>, unroll, GR_COPIES == frequent, 0>(
        item, from, n);
}

/* Combine bit by bit, or copy: bytes, then the widest words, then bytes. */
template <class Op, enum gr_frequent frequent>
__device__ static GP_INLINE void gr_move_bits(const struct gr_item *item, size_t bytes)
{
    size_t width = gr_width(item), head = (size_t) (0 - item->src[0]) & (width - 1), body;

    head = head < bytes ? head : bytes;
    body = (bytes - head) & (0 - width);
    gr_move_words<Op, frequent, 1, gr_type_u8>(item, 0, head);
    if (16 == width) {
        gr_move_vectors<gr_pair<gr_type_u64, Op>, frequent>(item, head, body / 16);
    } else if (8 == width) {
        gr_move_words<Op, frequent, GR_UNROLL, gr_type_u64>(item, head, body / 8);
    } else if (4 == width) {
        gr_move_words<Op, frequent, GR_UNROLL, gr_type_u32>(item, head, body / 4);
    } else if (2 == width) {
        gr_move_words<Op, frequent, GR_UNROLL, gr_type_u16>(item, head, body / 2);
    } else {
        body = 0;
    }
    gr_move_words<Op, frequent, GR_UNROLL, gr_type_u8>(item, head + body, bytes - head - body);
}

/* Not inlined, so that it takes no registers of a reduction. The operation is not used. */
__device__ static GP_NOINLINE void gr_copy_item(const struct gr_item *item, size_t bytes)
{
    gr_move_bits<gr_op_bor, GR_COPIES>(item, bytes);
}

/* ---- the movers of kernels ---- */

template <class Type, class Op, enum gr_frequent frequent>
struct gr_combining {
    typedef gr_pair<Type, Op> pair; __device__ static GP_INLINE void reduce(
        const struct gr_item *item) {gr_reduce_item<pair, frequent>(item);}
}
;
template <class Op, enum gr_frequent frequent>
struct gr_combining<gr_type_bits, Op, frequent> {
    typedef gr_pair<gr_type_u64, Op> pair; __device__ static GP_INLINE void reduce(
        const struct gr_item *item) {gr_move_bits<Op, frequent>(item, item->count);}
}
;

template <class Type, class Op, enum gr_frequent frequent>
struct gr_mover_of {
    enum {elem_bytes = sizeof(typename Type::elem)};
    typedef gr_combining<Type, Op, frequent> combining;
    typedef gr_by<typename combining::pair::T, 16> by; /* units of LL and LL128 */
    typedef gr_sum<typename combining::pair, by> sum;
    __device__ static GP_INLINE void move(const struct gr_item *item) {
        /* a leader's item has two sources at least, that of a kernel that copies has one */
        if (GR_COPIES == frequent || (GR_LEADERS != frequent && 1 == item->nsrc)) {
            gr_copy_item(item, item->count *elem_bytes);}
else
{
    combining::reduce(item);
}
}
}
;

#endif
