/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types and operations of kernels. Elements are combined in a wide type that depends on the
 * operation:
 *
 *      type       in memory     sum, prod    min, max    land, lor, lxor
 *      f16 bf16   uint16_t      float        float
 *      f32 f64    itself        itself       itself
 *      i8..i32    itself        uint32_t     int32_t
 *      u8..u32    itself                     uint32_t    uint32_t
 *      i64 u64    itself        uint64_t     itself      uint64_t
 *      c64 c128   {re, im}      itself
 *
 * f16 and bf16 are rounded once, to nearest even, after the last source. Integers wrap around:
 * unsigned arithmetic has no overflow. Complex products and sums are rounded one by one.
 *
 * band, bor and bxor work on words of any width (move.cuh). minloc and maxloc work on a value and
 * its index, without the padding of C's layout; in results the padding is zero.
 *
 * min and max return the second value if both are equal or unordered, as the host's loops do
 * (reduce_loops.h). minloc and maxloc do so, too, and return the lower index of equal values, as
 * Open MPI does.
 */
#ifndef GR_EXEC_GPU_KERNELS_OPS_CUH
#define GR_EXEC_GPU_KERNELS_OPS_CUH

#include "exec/gpu/kernels/port.cuh"

/* ---- elements with two parts ---- */

template <class F> struct gr_complex {
    F re, im;
};

template <class F>
__device__ static GP_INLINE gr_complex<F> operator+(gr_complex<F> x, gr_complex<F> y)
{
    return {x.re + y.re, x.im + y.im};
}

template <class F>
__device__ static GP_INLINE gr_complex<F> operator*(gr_complex<F> x, gr_complex<F> y)
{
    return {gp_mul(x.re, y.re) - gp_mul(x.im, y.im), gp_mul(x.re, y.im) + gp_mul(x.im, y.re)};
}

/* A value and its index, of equal size. */
template <class V, class K> struct gr_located {
    V v;
    K k;
};

/* A value and its index in C's layout, if the value is wider. */
template <class V, class K> struct gr_located_wide_value {
    V v;
    K k, gap;
};

/* A value and its index in C's layout, if the index is wider. */
template <class V, class K> struct gr_located_wide_index {
    V v, gap;
    K k;
};

/* ---- operations: the name of the wide type, and the expression ---- */

#define GR_OP(name, wide_type, ...)                                        \
    struct gr_op_##name {                                                  \
        template <class Type> using wide = typename Type::wide_type;       \
        template <class W> __device__ static GP_INLINE W combine(W x, W y) \
        {                                                                  \
            return __VA_ARGS__;                                            \
        }                                                                  \
    };
GR_OP(sum, arithmetic, x + y)
GR_OP(prod, arithmetic, x *y)
GR_OP(min, order, x < y ? x : y)
GR_OP(max, order, x > y ? x : y)
GR_OP(band, arithmetic, x &y)
GR_OP(bor, arithmetic, x | y)
GR_OP(bxor, arithmetic, x ^ y)
GR_OP(land, arithmetic, 0 != x && 0 != y)
GR_OP(lor, arithmetic, 0 != (x | y))
GR_OP(lxor, arithmetic, (0 != x) != (0 != y))
GR_OP(minloc, located, x.v < y.v ? x : W {y.v, x.v == y.v && !(y.k < x.k) ? x.k : y.k})
GR_OP(maxloc, located, x.v > y.v ? x : W {y.v, x.v == y.v && !(y.k < x.k) ? x.k : y.k})

/* ---- types ---- */

template <class T, class Arithmetic, class Order> struct gr_plain {
    typedef T elem;
    typedef Arithmetic arithmetic;
    typedef Order order;
    template <class W> __device__ static GP_INLINE W widen(T x)
    {
        return (W) x;
    }
    template <class W> __device__ static GP_INLINE T narrow(W x)
    {
        return (T) x;
    }
};

typedef gr_plain<float, float, float> gr_type_f32;
typedef gr_plain<double, double, double> gr_type_f64;
typedef gr_plain<int8_t, uint32_t, int32_t> gr_type_i8;
typedef gr_plain<int16_t, uint32_t, int32_t> gr_type_i16;
typedef gr_plain<int32_t, uint32_t, int32_t> gr_type_i32;
typedef gr_plain<int64_t, uint64_t, int64_t> gr_type_i64;
typedef gr_plain<uint8_t, uint32_t, uint32_t> gr_type_u8;
typedef gr_plain<uint16_t, uint32_t, uint32_t> gr_type_u16;
typedef gr_plain<uint32_t, uint32_t, uint32_t> gr_type_u32;
typedef gr_plain<uint64_t, uint64_t, uint64_t> gr_type_u64;
typedef gr_plain<gr_complex<float>, gr_complex<float>, void> gr_type_c64;
typedef gr_plain<gr_complex<double>, gr_complex<double>, void> gr_type_c128;

#define GR_HALF(name)                                                   \
    struct gr_type_##name {                                             \
        typedef uint16_t elem;                                          \
        typedef float arithmetic, order;                                \
        template <class W> __device__ static GP_INLINE W widen(elem x)  \
        {                                                               \
            return gp_##name##_float(x);                                \
        }                                                               \
        template <class W> __device__ static GP_INLINE elem narrow(W x) \
        {                                                               \
            return gp_float_##name(x);                                  \
        }                                                               \
    };
GR_HALF(f16)
GR_HALF(bf16)

template <class T, class V, class K> struct gr_locating {
    typedef T elem;
    typedef gr_located<V, K> located;
    template <class W> __device__ static GP_INLINE W widen(T x)
    {
        return {x.v, x.k};
    }
    template <class W> __device__ static GP_INLINE T narrow(W x)
    {
        T y = {}; /* zero the padding */

        y.v = (decltype(y.v)) x.v;
        y.k = x.k;
        return y;
    }
};

typedef gr_locating<gr_located<float, int32_t>, float, int32_t> gr_type_f32_i32;
typedef gr_locating<gr_located_wide_value<double, int32_t>, double, int32_t> gr_type_f64_i32;
typedef gr_locating<gr_located_wide_value<int64_t, int32_t>, int64_t, int32_t> gr_type_i64_i32;
typedef gr_locating<gr_located<int32_t, int32_t>, int32_t, int32_t> gr_type_i32_i32;
typedef gr_locating<gr_located_wide_index<int16_t, int32_t>, int32_t, int32_t> gr_type_i16_i32;
typedef gr_locating<gr_located<float, float>, float, float> gr_type_f32_f32;
typedef gr_locating<gr_located<double, double>, double, double> gr_type_f64_f64;

/* Bytes for bitwise operations, which may combine several at once. */
struct gr_type_bits {
    typedef uint8_t elem;
};

/* A type and operation: elements T in memory, combined as W. */
template <class Type, class Op> struct gr_pair {
    typedef typename Type::elem T;
    typedef typename Op::template wide<Type> W;
    __device__ static GP_INLINE W widen(T x)
    {
        return Type::template widen<W>(x);
    }
    __device__ static GP_INLINE T narrow(W x)
    {
        return Type::template narrow<W>(x);
    }
    __device__ static GP_INLINE W combine(W x, W y)
    {
        return Op::combine(x, y);
    }
};

#endif
