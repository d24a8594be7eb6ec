/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels as an application has them, compiled by nvcc to PTX only; cases_ptx.c runs them and
 * computes what they must give.
 */
extern "C" {

__device__ unsigned counter = 5;
__device__ unsigned *pointer = &counter;

__global__ void atomics(unsigned *words, unsigned long long *wide)
{
    __shared__ unsigned count;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (0 == threadIdx.x) {
        count = 0;
    }
    __syncthreads();
    atomicAdd(&count, 1);
    atomicAdd(&words[0], i);
    atomicAdd(wide, (unsigned long long) i << 32);
    atomicAdd(&counter, 1);
    __syncthreads();
    if (0 == threadIdx.x) {
        atomicAdd(&words[1], count);
        words[2] = *pointer >= 5;
    }
}

/* Flags, as links have them. relaxed: without the order that they should have. */
__device__ unsigned flag_load(const unsigned *at, bool relaxed)
{
    unsigned v;

    if (relaxed) {
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    } else {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    }
    return v;
}
enum order { RELEASE, RELAXED, RELEASE_GPU };
__device__ void flag_store(unsigned *at, unsigned v, order how)
{
    if (RELAXED == how) {
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
    } else if (RELEASE_GPU == how) {
        asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
    } else {
        asm volatile("st.release.sys.global.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
    }
}

/*
 * Block 0 hands a word to block 1, n times. words: the word, a flag and a reply, 128 bytes apart.
 * bug: 1: block 1 loads the flag relaxed; 2: block 0 stores it relaxed; 3: or for the device only.
 */
__global__ void hand_word(unsigned *words, unsigned *wrong, unsigned n, unsigned bug)
{
    unsigned *data = words, *flag = words + 32, *reply = words + 64, bad = 0, v;

    for (unsigned k = 1; k <= n; k++) {
        if (0 == blockIdx.x) {
            asm volatile("st.global.u32 [%0], %1;" : : "l"(data), "r"(k) : "memory");
            flag_store(flag, k, 2 == bug ? RELAXED : 3 == bug ? RELEASE_GPU : RELEASE);
            while (k != flag_load(reply, false)) {
            }
        } else {
            while (k != flag_load(flag, 1 == bug)) {
            }
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(data) : "memory");
            bad += v != k;
            flag_store(reply, k, RELEASE);
        }
    }
    if (1 == blockIdx.x) {
        *wrong = bad;
    }
}

/*
 * Block 0 writes a line of 128 bytes n times, block 1 reads it all the while, both by 8 threads. A
 * word of the line is not older than its last one. ready: block 1 has begun.
 */
__global__ void hand_line(unsigned long long *line, unsigned *ready, unsigned *wrong, unsigned n)
{
    unsigned long long *mine = line + 2 * threadIdx.x, x, y, last;
    unsigned bad = 0;

    if (0 == blockIdx.x) {
        while (0 == flag_load(ready, false)) {
        }
        for (unsigned k = 1; k <= n; k++) {
            __syncwarp(255);
            asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %1};"
                         :
                         : "l"(mine), "l"((unsigned long long) k)
                         : "memory");
        }
        return;
    }
    if (0 == threadIdx.x) {
        flag_store(ready, 1, RELEASE);
    }
    do {
        __syncwarp(255);
        asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(x), "=l"(y)
                     : "l"(mine)
                     : "memory");
        last = __shfl_sync(255, y, 7);
        bad += x < last || y < last;
    } while (n != last);
    wrong[threadIdx.x] = bad;
}

struct pair {
    double low;
    int high;
};
__device__ __noinline__ pair order(double a, double b, int n)
{
    pair p;

    p.low = a < b ? a : b;
    p.high = n > 2 ? 3 * n : -n;
    return p;
}
__device__ __noinline__ unsigned long long factorial(unsigned n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

__global__ void calls(double *low, int *high, unsigned long long *fact)
{
    unsigned i = threadIdx.x;
    pair p = order(i * 1.5, 40.0 - i, i);

    low[i] = p.low;
    high[i] = p.high;
    fact[i] = factorial(i % 13);
}

__global__ void warps(unsigned *out)
{
    unsigned i = threadIdx.x, v = i;

    for (int d = 16; d > 0; d /= 2) {
        v += __shfl_down_sync(0xffffffffu, v, d);
    }
    unsigned sum = __shfl_sync(0xffffffffu, v, 0);
    unsigned up = __shfl_up_sync(0xffffffffu, i, 1, 8), with = __shfl_xor_sync(0xffffffffu, i, 3);
    unsigned odd = __ballot_sync(0xffffffffu, i & 1);
    int count = __syncthreads_count(i % 3 == 0), any = __syncthreads_or(i == 70);
    out[i] = sum + 3 * up + 5 * with + __popc(odd) + 7 * count + 11 * any;
}

__global__ void past_end(unsigned *out, unsigned n)
{
    __shared__ unsigned few[4];

    few[threadIdx.x] = n;
    __syncthreads();
    out[threadIdx.x] = few[n];
}
}
