/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA C++ on the host, for tests. A kernel compiled by g++ against this header runs on the fake
 * driver of this folder: a block is an OS thread, so that __shared__ can be thread_local; a CUDA
 * thread is a fiber of it, so that barriers and warp operations are switches between fibers.
 *
 * Global memory is reached by the gp_* accessors only. They go to where the contents of a device
 * address really lie, and check each access (FAKECUDA_CHECK) or weaken it (FAKECUDA_WEAK), as
 * README.md says.
 */
#ifndef FAKECUDA_CUDA_EMU_H
#define FAKECUDA_CUDA_EMU_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define GP_PARAM

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4 {x, y, z, w};
}
struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

#define EMU_API __attribute__((visibility("default")))
#define EMU_TLS __attribute__((visibility("default"), tls_model("initial-exec")))

namespace emu
{

/* What a thread can ask about itself. */
struct context {
    uint3 tid, bid;
    dim3 bdim, gdim;
    unsigned flat; /* number in the block; the lane is flat % 32 */
};
extern EMU_TLS __thread const context *self;

enum barrier_kind { SYNC, SYNC_AND, SYNC_OR, SYNC_COUNT };

EMU_API int barrier(barrier_kind kind, int predicate);
/* All lanes of mask come to these together. */
EMU_API void warp_sync(uint32_t mask);
EMU_API uint32_t warp_vote(uint32_t mask, bool predicate); /* lanes where it holds */
/* out: values, by lane. */
EMU_API void warp_exchange(uint32_t mask, uint64_t mine, uint64_t out[32]);
/* The value of lane source. */
EMU_API uint64_t warp_shuffle(uint32_t mask, uint64_t mine, unsigned source);
/* Somebody else has to do something before this thread can go on. */
EMU_API void spin();
/* A place where other blocks may get ahead; stored: this thread has got ahead. */
EMU_API void delay(bool stored);
[[noreturn]] EMU_API void fault(const char *what, const void *at);
/* Half precision, as the device converts it. */
EMU_API float from_half(uint16_t bits);
EMU_API float from_bfloat(uint16_t bits);
EMU_API uint16_t to_half(float value);
EMU_API uint16_t to_bfloat(float value);

/* Modes, set from the environment by the driver. */
enum { CHECK = 1, WEAK = 2, JITTER = 4 };
extern EMU_API unsigned modes;
EMU_API void check(const void *at, size_t bytes);
EMU_API void weak_load(const void *at, void *value, size_t bytes);
EMU_API void weak_store(void *at, const void *value, size_t bytes);
EMU_API void weak_acquire();
EMU_API void weak_release();

/* The contents of a device address lie device_off further on; the address itself faults. */
extern EMU_API uintptr_t device_base, device_span, device_off;

template <class T> static inline T *host(T *at)
{
    return (uintptr_t) at - device_base < device_span ? (T *) ((uintptr_t) at + device_off) : at;
}

/* The way of every access: aligned, allowed, translated. */
template <class T> static inline T *reach(T *at)
{
    if (0 != ((uintptr_t) at & (sizeof(T) - 1))) {
        fault("misaligned access", at);
    }
    if (0 != (modes & CHECK)) {
        check(at, sizeof(T));
    }
    return host(at);
}

template <class T> static inline T load(const T *at)
{
    static_assert(sizeof(T) <= 16 && 0 == (sizeof(T) & (sizeof(T) - 1)),
                  "what a thread loads at once");
    const T *p = reach(at);

    if (0 == (modes & WEAK)) {
        return *p;
    }
    T value;
    weak_load(p, &value, sizeof(T));
    return value;
}

template <class T> static inline void store(T *at, const T &value)
{
    static_assert(sizeof(T) <= 16 && 0 == (sizeof(T) & (sizeof(T) - 1)),
                  "what a thread stores at once");
    T *p = reach(at);

    if (0 == (modes & WEAK)) {
        *p = value;
        return;
    }
    weak_store(p, &value, sizeof(T));
}

/* How the driver calls a kernel: with an array of pointers to its arguments. */
struct kernel {
    void (*call)(void **);
    void (*prepare)(); /* called first by the block's OS thread */
    int nargs;
    const size_t *bytes;
};

template <class... A, size_t... I>
static inline void apply(void (*f)(A...), void **args, std::index_sequence<I...>)
{
    f(*(typename std::remove_reference<A>::type *) args[I]...);
    (void) args;
}
template <class... A> static inline void apply_all(void (*f)(A...), void **args)
{
    apply(f, args, std::index_sequence_for<A...>());
}
/*
 * Makes the OS thread allocate the __shared__ variables: ThreadSanitizer would take that for a
 * store of a fiber.
 */
static inline void touch_shared()
{
    static thread_local volatile char any;
    any = 1;
    (void) any;
}
template <class... A> static inline kernel describe(void (*)(A...), void (*call)(void **))
{
    static const size_t bytes[] = {sizeof(A)..., 0};
    return kernel {call, touch_shared, (int) sizeof...(A), bytes};
}

template <class T> static inline uint64_t bits_of(T value)
{
    static_assert(sizeof(T) <= 8, "what a lane exchanges at once");
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof(T));
    return bits;
}
/* Lane source's value, or one's own when source is not in the segment of width lanes. */
template <class T> static inline T shuffle(uint32_t mask, T value, int source, int width)
{
    const int own = (int) (self->flat % 32), first = own / width * width;
    const bool inside = source >= first && source < first + width;
    const uint64_t bits = warp_shuffle(mask, bits_of(value), (unsigned) (inside ? source : own));

    memcpy(&value, &bits, sizeof(T));
    return value;
}

} /* namespace emu */

/* Makes a kernel known to cuLibraryGetKernel; after its definition, once. */
#define GP_EXPORT(name)                                \
    static void emu_call_##name(void **args)           \
    {                                                  \
        emu::apply_all(name, args);                    \
    }                                                  \
    extern "C" EMU_API emu::kernel emu_kernel_##name() \
    {                                                  \
        return emu::describe(name, emu_call_##name);   \
    }

#define threadIdx (emu::self->tid)
#define blockIdx (emu::self->bid)
#define blockDim (emu::self->bdim)
#define gridDim (emu::self->gdim)

/* ---- barriers, warps ---- */

static inline void __syncthreads()
{
    emu::barrier(emu::SYNC, 0);
}
static inline int __syncthreads_and(int p)
{
    return emu::barrier(emu::SYNC_AND, p);
}
static inline int __syncthreads_or(int p)
{
    return emu::barrier(emu::SYNC_OR, p);
}

static inline int emu_lane()
{
    return (int) (emu::self->flat % 32);
}
template <class T> static inline T __shfl_sync(uint32_t mask, T value, int lane, int width = 32)
{
    return emu::shuffle(mask, value, emu_lane() / width * width + (lane & (width - 1)), width);
}
static inline uint32_t __ballot_sync(uint32_t mask, int predicate)
{
    return emu::warp_vote(mask, 0 != predicate);
}
static inline int __any_sync(uint32_t mask, int predicate)
{
    return 0 != __ballot_sync(mask, predicate);
}
static inline int __all_sync(uint32_t mask, int predicate)
{
    return mask == __ballot_sync(mask, predicate);
}
static inline void __syncwarp(uint32_t mask = 0xffffffffu)
{
    emu::warp_sync(mask);
}

/* ---- half precision ---- */

#define gp_f16_float emu::from_half
#define gp_bf16_float emu::from_bfloat
#define gp_float_f16 emu::to_half
#define gp_float_bf16 emu::to_bfloat

/* ---- memory ---- */

static inline uint32_t gp_shared_ld(const uint32_t *shared)
{
    return __atomic_load_n(shared, __ATOMIC_RELAXED);
}
static inline void gp_shared_st(uint32_t *shared, uint32_t value)
{
    __atomic_store_n(shared, value, __ATOMIC_RELAXED);
}
static inline void gp_spin()
{
    emu::spin();
}

static inline uint64_t gp_ld_acquire(const uint64_t *at)
{
    const uint64_t *p = emu::reach(at);
    uint64_t value;

    emu::delay(false);
    value = __atomic_load_n(p, __ATOMIC_ACQUIRE);
    if (0 != (emu::modes & emu::WEAK)) {
        emu::weak_acquire();
    }
    return value;
}
static inline uint64_t gp_add(uint64_t *at, uint64_t value)
{
    uint64_t *p = emu::reach(at), was;

    if (0 != (emu::modes & emu::WEAK)) {
        emu::weak_release();
    }
    was = __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
    if (0 != (emu::modes & emu::WEAK)) {
        emu::weak_acquire();
    }
    emu::delay(true);
    return was;
}
static inline uint64_t gp_ld_relaxed(const uint64_t *at)
{
    const uint64_t *p = emu::reach(at);

    emu::delay(false);
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline void gp_st_release(uint64_t *at, uint64_t value)
{
    uint64_t *p = emu::reach(at);

    if (0 != (emu::modes & emu::WEAK)) {
        emu::weak_release();
    }
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
    emu::delay(true);
}
static inline void gp_st_relaxed(uint64_t *at, uint64_t value)
{
    uint64_t *p = emu::reach(at);

    __atomic_store_n(p, value, __ATOMIC_RELAXED);
    emu::delay(true);
}
/* Two words, each whole, that arrive one after the other. */
static inline void gp_ld_pair(const void *at, uint64_t *x, uint64_t *y)
{
    const uint64_t *p = (const uint64_t *) emu::reach((const uint4 *) at);

    emu::delay(false);
    *x = __atomic_load_n(&p[0], __ATOMIC_RELAXED);
    emu::delay(false);
    *y = __atomic_load_n(&p[1], __ATOMIC_RELAXED);
}
static inline void gp_st_pair(void *at, uint64_t x, uint64_t y)
{
    uint64_t *p = (uint64_t *) emu::reach((uint4 *) at);

    __atomic_store_n(&p[1], y, __ATOMIC_RELAXED);
    emu::delay(true);
    __atomic_store_n(&p[0], x, __ATOMIC_RELAXED);
    emu::delay(true);
}

/* What eight lanes have arrives whole: the last word of theirs is written last, and read first. */
static inline void gp_ld_whole(const void *at, uint64_t *x, uint64_t *y)
{
    const uint64_t *p = (const uint64_t *) emu::reach((const uint4 *) at);
    const bool last = 7 == emu_lane() % 8;

    emu::delay(false);
    if (last) {
        *y = __atomic_load_n(&p[1], __ATOMIC_ACQUIRE);
    }
    __syncwarp();
    *x = __atomic_load_n(&p[0], __ATOMIC_RELAXED);
    if (!last) {
        *y = __atomic_load_n(&p[1], __ATOMIC_RELAXED);
    }
}
static inline void gp_st_whole(void *at, uint64_t x, uint64_t y, int mine)
{
    uint64_t *p = mine ? (uint64_t *) emu::reach((uint4 *) at) : nullptr;
    const bool last = 7 == emu_lane() % 8;

    if (mine) {
        __atomic_store_n(&p[0], x, __ATOMIC_RELAXED);
    }
    if (mine && !last) {
        __atomic_store_n(&p[1], y, __ATOMIC_RELAXED);
    }
    __syncwarp();
    if (mine && last) {
        __atomic_store_n(&p[1], y, __ATOMIC_RELEASE);
    }
    emu::delay(true);
}

template <class T> static inline T gp_ld(const T *at)
{
    return emu::load(at);
}
template <class T> static inline void gp_st(T *at, T value)
{
    emu::store(at, value);
}

#endif
