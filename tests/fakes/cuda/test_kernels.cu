/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that try the fake driver: some are right, some make one mistake each. */
#include "cuda_emu.h"

/* ---- right ---- */

/* out[i] = in[i] + add for n numbers, over all blocks */
extern "C" __global__ void add_number(const uint64_t *in, uint64_t *out, uint64_t add, uint64_t n)
{
    const uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        gp_st<uint64_t>(out + i, gp_ld(in + i) + add);
    }
}
GP_EXPORT(add_number)

/*
 * Blocks 2k and 2k + 1 hand `rounds` messages of blockDim.x words from slot to slot; bug: what is
 * left out.
 */
enum { BUG_NONE, BUG_NO_BARRIER, BUG_RELAXED_STORE, BUG_RELAXED_LOAD, BUG_NO_CREDIT };

/* link: [0] full [16] taken [32..] slot; out[block * blockDim + thread]: sum of what came */
extern "C" __global__ void hand_over(uint64_t *links, uint64_t *out, uint64_t rounds, int bug)
{
    uint64_t *link = links + blockIdx.x / 2 * 4096, *slot = link + 32;
    const bool writer = 0 == blockIdx.x % 2, first = 0 == threadIdx.x;
    uint64_t sum = 0;

    for (uint64_t r = 1; r <= rounds; r++) {
        if (first && writer && BUG_NO_CREDIT != bug) {
            while (gp_ld_acquire(link + 16) + 1 < r) {
                gp_spin();
            }
        }
        if (first && !writer) {
            while ((BUG_RELAXED_LOAD == bug ? gp_ld_relaxed(link) : gp_ld_acquire(link)) < r) {
                gp_spin();
            }
        }
        __syncthreads();
        if (writer) {
            gp_st<uint64_t>(slot + threadIdx.x, r * 1000 + threadIdx.x);
        } else {
            sum += gp_ld(slot + threadIdx.x);
        }
        if (BUG_NO_BARRIER != bug) {
            __syncthreads();
        }
        if (first && BUG_RELAXED_STORE == bug) {
            gp_st_relaxed(link + (writer ? 0 : 16), r);
        } else if (first) {
            gp_st_release(link + (writer ? 0 : 16), r);
        }
    }
    gp_st(out + blockIdx.x * blockDim.x + threadIdx.x, sum);
}
GP_EXPORT(hand_over)

/* Waits until *flag is at least value; says in *seen that it began. */
extern "C" __global__ void wait_for(uint64_t *flag, uint64_t value, uint64_t *seen)
{
    if (0 == threadIdx.x) {
        gp_st_release(seen + blockIdx.x, 1);
        while (gp_ld_acquire(flag) < value) {
            gp_spin();
        }
    }
    __syncthreads();
}
GP_EXPORT(wait_for)

/* A kernel with no arguments, and one with a struct of them. */
extern "C" __global__ void nothing()
{
}
GP_EXPORT(nothing)

struct many {
    uint64_t *out;
    uint64_t value[40];
};

/* ---- wrong ---- */

extern "C" __global__ void load_word(const uint32_t *at)
{
    volatile uint32_t word = gp_ld(at);
    (void) word;
}
GP_EXPORT(load_word)

extern "C" __global__ void shift_word(uint32_t *at, uint32_t bits)
{
    gp_st<uint32_t>(at, gp_ld(at) << bits);
}
GP_EXPORT(shift_word)

extern "C" __global__ void load_vector(const void *at)
{
    if (3 == threadIdx.x) {
        (void) gp_ld((const uint4 *) at);
    }
}
GP_EXPORT(load_vector)

extern "C" __global__ void barrier_after_exit()
{
    if (0 != threadIdx.x) {
        __syncthreads();
    }
}
GP_EXPORT(barrier_after_exit)

extern "C" __global__ void barriers_mixed()
{
    if (0 == threadIdx.x % 2) {
        __syncthreads();
    } else {
        __syncthreads_or(1);
    }
}
GP_EXPORT(barriers_mixed)

extern "C" __global__ void warp_masks_differ()
{
    __syncwarp(threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u);
}
GP_EXPORT(warp_masks_differ)

extern "C" __global__ void warp_lane_missing()
{
    if (5 != threadIdx.x) {
        __syncwarp();
    }
}
GP_EXPORT(warp_lane_missing)

/*
 * The sum of the others' numbers, without the barrier that must come first: the order of threads
 * shows.
 */
extern "C" __global__ void no_barrier(uint64_t *out)
{
    __shared__ uint64_t word[1024];

    word[threadIdx.x] = 0;
    __syncthreads();
    word[threadIdx.x] = threadIdx.x + 1;
    gp_st(out + threadIdx.x, word[(threadIdx.x + 1) % blockDim.x]);
}
GP_EXPORT(no_barrier)

extern "C" __global__ void deep_stack(uint64_t *out, int depth)
{
    volatile unsigned char much[1 << 19];

    /* no page is left out: one of them guards the stack */
    for (int i = (int) sizeof(much) - 1; i >= 0; i -= 1024) {
        much[i] = (unsigned char) depth;
    }
    gp_st<uint64_t>(out, much[1023]);
}
GP_EXPORT(deep_stack)

/* Stores one word past its own array. */
extern "C" __global__ void local_overrun(uint64_t *out, int index)
{
    uint64_t word[8];

    for (int i = 0; i <= index; i++) {
        *(volatile uint64_t *) &word[i] = (uint64_t) i;
    }
    gp_st(out, word[1]);
}
GP_EXPORT(local_overrun)
