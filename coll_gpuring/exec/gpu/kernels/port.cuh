/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The primitives of kernels beyond those of CUDA. Kernels access global memory only through these:
 *
 *      gp_ld<T> gp_st<T>            data of 1, 2, 4, 8 or 16 bytes, aligned
 *      gp_ld_acquire gp_st_release  counters: stores of the other end before its release are
 *                                   visible to this thread after its acquire, and to its block
 *                                   after the next barrier
 *      gp_ld_relaxed gp_st_relaxed  words that do not order data (the abort word)
 *      gp_add                       adds to a word and returns what it was: orders data like an
 *                                   acquire and a release
 *      gp_ld_pair gp_st_pair        two words of 8 bytes, 16-byte aligned: each word is atomic,
 *                                   their order is undefined
 *      gp_ld_whole gp_st_whole      by all threads of a warp together, 16 consecutive bytes each:
 *                                   each 128 bytes are atomic, if the path between two devices
 *                                   keeps them so. st: threads with mine 0 do not store
 *      gp_shared_ld gp_shared_st    a flag in shared memory, without any order
 *      gp_spin                      called between two polls
 *      gp_barrier gp_barrier_and    a barrier of all threads of the block; and: whether all threads
 *                                   passed a nonzero value
 *      gp_mul                       a rounded product of float or double, never fused with an add
 *      gp_f16_float gp_bf16_float   the float that a half is
 *      gp_float_f16 gp_float_bf16   a float rounded to the nearest half, or to the even one of two
 *
 * nvcc compiles each one to a single instruction. Other C++17 compilers include cuda_emu.h instead,
 * which runs the same kernels on the host, with threads as fibers, and checks every access.
 */
#ifndef GR_EXEC_GPU_KERNELS_PORT_CUH
#define GR_EXEC_GPU_KERNELS_PORT_CUH

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "exec/gpu/kernels.h"

#if !defined(__CUDACC__)
#include "cuda_emu.h"
#endif

/* The type of an access of so many bytes. */
template <int bytes> struct gp_word;
template <> struct gp_word<1> {
    typedef uint8_t type;
};
template <> struct gp_word<2> {
    typedef uint16_t type;
};
template <> struct gp_word<4> {
    typedef uint32_t type;
};
template <> struct gp_word<8> {
    typedef uint64_t type;
};
template <> struct gp_word<16> {
    typedef uint4 type;
};

#if !defined(__CUDACC__)

#define GP_INLINE inline
#define GP_NOINLINE
#define gp_barrier __syncthreads
#define gp_barrier_and __syncthreads_and
/* Threads of this block. Tests launch smaller blocks. */
#define GP_BLOCK_THREADS blockDim.x

template <class F> static inline F gp_mul(F x, F y)
{
    volatile F product = x * y;

    return product;
}

#else

#define GP_EXPORT(kernel)
#define GP_PARAM const __grid_constant__
#define GP_INLINE __forceinline__
#define GP_NOINLINE __noinline__
/* Threads of a block. A constant, so that strides become part of addresses. */
#define GP_BLOCK_THREADS GR_GPU_THREADS

/* Loads and stores as one instruction. */
#define GP_ACCESS(bits, type, reg)                                                            \
    __device__ static __forceinline__ void gp_get(const type *at, type *value)                \
    {                                                                                         \
        asm volatile("ld.global.u" bits " %0, [%1];" : "=" reg(*value) : "l"(at) : "memory"); \
    }                                                                                         \
    __device__ static __forceinline__ void gp_put(type *at, type value)                       \
    {                                                                                         \
        asm volatile("st.global.u" bits " [%0], %1;" : : "l"(at), reg(value) : "memory");     \
    }

GP_ACCESS("16", uint16_t, "h")
GP_ACCESS("32", uint32_t, "r")
GP_ACCESS("64", uint64_t, "l")

/* Bytes use 32-bit registers. */
__device__ static __forceinline__ void gp_get(const uint8_t *at, uint8_t *value)
{
    uint32_t wide;

    asm volatile("ld.global.u8 %0, [%1];" : "=r"(wide) : "l"(at) : "memory");
    *value = (uint8_t) wide;
}

__device__ static __forceinline__ void gp_put(uint8_t *at, uint8_t value)
{
    asm volatile("st.global.u8 [%0], %1;" : : "l"(at), "r"((uint32_t) value) : "memory");
}

__device__ static __forceinline__ void gp_get(const uint4 *at, uint4 *v)
{
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v->x), "=r"(v->y), "=r"(v->z), "=r"(v->w)
                 : "l"(at)
                 : "memory");
}

__device__ static __forceinline__ void gp_put(uint4 *at, uint4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

template <class T> __device__ static __forceinline__ T gp_ld(const T *at)
{
    typename gp_word<sizeof(T)>::type word;
    T value;

    gp_get((const typename gp_word<sizeof(T)>::type *) at, &word);
    memcpy(&value, &word, sizeof(value));
    return value;
}

template <class T> __device__ static __forceinline__ void gp_st(T *at, T value)
{
    typename gp_word<sizeof(T)>::type word;

    memcpy(&word, &value, sizeof(value));
    gp_put((typename gp_word<sizeof(T)>::type *) at, word);
}

__device__ static __forceinline__ uint64_t gp_ld_acquire(const uint64_t *at)
{
    uint64_t value;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ static __forceinline__ void gp_st_release(uint64_t *at, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}

__device__ static __forceinline__ uint64_t gp_add(uint64_t *at, uint64_t value)
{
    uint64_t was;

    asm volatile("atom.acq_rel.sys.global.add.u64 %0, [%1], %2;"
                 : "=l"(was)
                 : "l"(at), "l"(value)
                 : "memory");
    return was;
}

__device__ static __forceinline__ uint64_t gp_ld_relaxed(const uint64_t *at)
{
    uint64_t value;

    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ static __forceinline__ void gp_st_relaxed(uint64_t *at, uint64_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}

__device__ static __forceinline__ void gp_ld_pair(const void *at, uint64_t *x, uint64_t *y)
{
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(*x), "=l"(*y)
                 : "l"(at)
                 : "memory");
}

__device__ static __forceinline__ void gp_st_pair(void *at, uint64_t x, uint64_t y)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};"
                 :
                 : "l"(at), "l"(x), "l"(y)
                 : "memory");
}

__device__ static __forceinline__ void gp_ld_whole(const void *at, uint64_t *x, uint64_t *y)
{
    gp_ld_pair(at, x, y);
}

__device__ static __forceinline__ void gp_st_whole(void *at, uint64_t x, uint64_t y, int mine)
{
    __syncwarp();
    if (mine) {
        gp_st_pair(at, x, y);
    }
}

/* The asm keeps the compiler from reusing an earlier value. */
__device__ static __forceinline__ uint32_t gp_shared_ld(const uint32_t *shared)
{
    asm volatile("" : : : "memory");
    return *shared;
}

__device__ static __forceinline__ void gp_shared_st(uint32_t *shared, uint32_t value)
{
    *shared = value;
    asm volatile("" : : : "memory");
}

__device__ static __forceinline__ void gp_spin(void)
{
}

__device__ static __forceinline__ float gp_mul(float x, float y)
{
    return __fmul_rn(x, y);
}

__device__ static __forceinline__ double gp_mul(double x, double y)
{
    return __dmul_rn(x, y);
}

__device__ static __forceinline__ float gp_f16_float(uint16_t h)
{
    float value;

    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(h));
    return value;
}

__device__ static __forceinline__ float gp_bf16_float(uint16_t h)
{
    return __uint_as_float((uint32_t) h << 16);
}

__device__ static __forceinline__ uint16_t gp_float_f16(float value)
{
    uint16_t h;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
}

__device__ static __forceinline__ uint16_t gp_float_bf16(float value)
{
    uint16_t h;

    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
}

__device__ static __forceinline__ void gp_barrier(void)
{
    asm volatile("barrier.sync 0;" : : : "memory");
}

__device__ static __forceinline__ int gp_barrier_and(int mine)
{
    int all;

    asm volatile("{\n\t"
                 ".reg .pred p, q;\n\t"
                 "setp.ne.s32 p, %1, 0;\n\t"
                 "barrier.red.and.pred q, 0, p;\n\t"
                 "selp.s32 %0, 1, 0, q;\n\t"
                 "}"
                 : "=r"(all)
                 : "r"(mine)
                 : "memory");
    return all;
}

#endif

#endif
