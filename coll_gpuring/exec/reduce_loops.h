/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fused loops of reduce.c: one function reduce_<type>_<op> for each pair, all from the tables
 * below. Only reduce.c includes this, after exec/reduce.h.
 *
 *      loops of      sum prod   min max   band bor bxor land lor lxor
 *      u8 .. u64       x          x                 x
 *      i8 .. i64                  x
 *      f32 f64         x          x
 *
 * In two's complement the sign matters only to min and max: all else of a signed type is its
 * unsigned loop.
 */
#ifndef GR_EXEC_REDUCE_LOOPS_H
#define GR_EXEC_REDUCE_LOOPS_H

/*
 * One copy of each loop per vector width; the dynamic linker takes the widest that the processor
 * has. configure defines this where compiler and linker can do it.
 */
#if !defined(GR_TARGET_CLONES)
#define GR_TARGET_CLONES 0
#endif
#if GR_TARGET_CLONES
#define LOOP_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LOOP_CLONES
#endif

/*
 * No iteration needs the result of another: buffers are either disjoint or the same, and an element
 * is written after its operands have been read. Without this, d1 == a would run a scalar loop.
 */
#if defined(__clang__)
#define LOOP_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define LOOP_IVDEP _Pragma("GCC ivdep")
#else
#define LOOP_IVDEP
#endif

/* Loops are vectorised at -O2 too, where GCC would not make the remainder loop that any n needs. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

/* Few elements take longer to prepare a vector loop for than to combine one by one. */
#define FEW 4
#if defined(__GNUC__)
#define LOOP_ONE_BY_ONE __asm__ volatile("")
#else
#define LOOP_ONE_BY_ONE
#endif

/* Elements in memory: of any alignment (packed user buffers), and of any type that aliases T. */
#define MEMORY(T) T __attribute__((aligned(1), may_alias))

typedef MEMORY(uint8_t) mem_u8;
typedef MEMORY(uint16_t) mem_u16;
typedef MEMORY(uint32_t) mem_u32;
typedef MEMORY(uint64_t) mem_u64;
typedef MEMORY(int8_t) mem_i8;
typedef MEMORY(int16_t) mem_i16;
typedef MEMORY(int32_t) mem_i32;
typedef MEMORY(int64_t) mem_i64;
typedef MEMORY(float) mem_f32;
typedef MEMORY(double) mem_f64;

/*
 * x op y in the type W, which wraps around: in int, 65535 * 65535 would overflow. Min and
 * max take y when the two are equal or unordered: min(NaN, y) = y, min(x, NaN) = NaN.
 */
#define DO_sum(W, x, y) ((W) (x) + (W) (y))
#define DO_prod(W, x, y) ((W) (x) * (W) (y))
#define DO_min(W, x, y) ((x) < (y) ? (x) : (y))
#define DO_max(W, x, y) ((x) > (y) ? (x) : (y))
#define DO_band(W, x, y) ((W) (x) & (W) (y))
#define DO_bor(W, x, y) ((W) (x) | (W) (y))
#define DO_bxor(W, x, y) ((W) (x) ^ (W) (y))
#define DO_land(W, x, y) ((0 != (x)) & (0 != (y)))
#define DO_lor(W, x, y) ((0 != (x)) | (0 != (y)))
#define DO_lxor(W, x, y) ((0 != (x)) ^ (0 != (y)))

/* Operations by kind of type: X(type, T, W, op), for elements T that are computed in W. */
#define OPS_ARITHMETIC(X, type, T, W) X(type, T, W, sum) X(type, T, W, prod)
#define OPS_ORDER(X, type, T, W) X(type, T, W, min) X(type, T, W, max)
#define OPS_BITS(X, type, T, W) \
    X(type, T, W, band)         \
    X(type, T, W, bor)          \
    X(type, T, W, bxor) X(type, T, W, land) X(type, T, W, lor) X(type, T, W, lxor)

#define OPS_UNSIGNED(X, type, T, W) \
    OPS_ARITHMETIC(X, type, T, W) OPS_ORDER(X, type, T, W) OPS_BITS(X, type, T, W)
#define OPS_FLOAT(X, type, T, W) OPS_ARITHMETIC(X, type, T, W) OPS_ORDER(X, type, T, W)

#define LOOPS(X)                             \
    OPS_UNSIGNED(X, u8, uint8_t, unsigned)   \
    OPS_UNSIGNED(X, u16, uint16_t, unsigned) \
    OPS_UNSIGNED(X, u32, uint32_t, uint32_t) \
    OPS_UNSIGNED(X, u64, uint64_t, uint64_t) \
    OPS_ORDER(X, i8, int8_t, int)            \
    OPS_ORDER(X, i16, int16_t, int)          \
    OPS_ORDER(X, i32, int32_t, int32_t)      \
    OPS_ORDER(X, i64, int64_t, int64_t)      \
    OPS_FLOAT(X, f32, float, float)          \
    OPS_FLOAT(X, f64, double, double)

/* A gr_reduce_fn. */
#define DEFINE_LOOP(type, T, W, op)                                                    \
    LOOP_CLONES static void reduce_##type##_##op(void *d1v, void *d2v, const void *av, \
                                                 const void *bv, size_t n)             \
    {                                                                                  \
        mem_##type *d1 = (mem_##type *) d1v, *d2 = (mem_##type *) d2v;                 \
        const mem_##type *a = (const mem_##type *) av, *b = (const mem_##type *) bv;   \
        size_t i;                                                                      \
                                                                                       \
        if (NULL == d2 && n <= FEW) {                                                  \
            for (i = 0; i < n; i++) {                                                  \
                d1[i] = (T) DO_##op(W, a[i], b[i]);                                    \
                LOOP_ONE_BY_ONE;                                                       \
            }                                                                          \
            return;                                                                    \
        }                                                                              \
        if (NULL == d2) {                                                              \
            LOOP_IVDEP                                                                 \
            for (i = 0; i < n; i++) {                                                  \
                d1[i] = (T) DO_##op(W, a[i], b[i]);                                    \
            }                                                                          \
            return;                                                                    \
        }                                                                              \
        LOOP_IVDEP                                                                     \
        for (i = 0; i < n; i++) {                                                      \
            T value = (T) DO_##op(W, a[i], b[i]);                                      \
                                                                                       \
            d1[i] = value;                                                             \
            d2[i] = value;                                                             \
        }                                                                              \
    }

LOOPS(DEFINE_LOOP)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

#endif
