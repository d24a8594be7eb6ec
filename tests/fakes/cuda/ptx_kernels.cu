/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels as an application has them, compiled by nvcc to PTX only; cases_ptx.c runs them and
 * computes what they must give.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" {

__device__ unsigned counter = 5;
__device__ unsigned *pointer = &counter;
__constant__ float weights[4] = {0.5f, 0.25f, 0.125f, 0.0625f};

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

/* One step over a row in shared memory, with a halo. */
__global__ void jacobi(int n, const double *in, double *out)
{
    extern __shared__ double row[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = threadIdx.x + 1;

    row[k] = i < n ? in[i] : 0;
    if (0 == threadIdx.x) {
        row[0] = i > 0 ? in[i - 1] : 0;
        row[blockDim.x + 1] = i + (int) blockDim.x < n ? in[i + blockDim.x] : 0;
    }
    __syncthreads();
    if (i < n) {
        out[i] = (row[k - 1] + row[k + 1]) / 2;
    }
}

__global__ void atomics(unsigned *words, unsigned long long *wide, float *sum)
{
    __shared__ unsigned count;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (0 == threadIdx.x) {
        count = 0;
    }
    __syncthreads();
    atomicAdd(&count, 1);
    atomicAdd(&words[0], i);
    atomicMax(&words[1], i * 7 % 1000);
    atomicMin((int *) &words[2], -(int) i);
    atomicOr(&words[3], 1u << i % 32);
    atomicInc(&words[4], 99);
    atomicAdd(wide, (unsigned long long) i << 32);
    atomicAdd(sum, 0.25f);
    atomicAdd(&counter, 1);
    __syncthreads();
    if (0 == threadIdx.x) {
        atomicAdd(&words[5], count);
        words[6] = *pointer >= 5;
    }
}

/* A lock that all threads of all blocks want, one after the other. */
__global__ void locked(unsigned *lock, unsigned *shared)
{
    bool done = false;

    while (!done) {
        if (0 == atomicCAS(lock, 0, 1)) {
            unsigned was = *(volatile unsigned *) shared;
            *(volatile unsigned *) shared = was + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

/* Threads of block 1 wait for a flag that block 0 sets. */
__global__ void flagged(volatile unsigned *flag, volatile unsigned *data, unsigned *out)
{
    if (0 == blockIdx.x) {
        *data = 4711;
        __threadfence();
        *flag = 1;
    } else {
        while (0 == *flag) {
        }
        __threadfence();
        out[threadIdx.x] = *data;
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
    p.high = n > 2 ? (int) (a > b ? a : b) : -n;
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

/* Arrays that need local memory, and a switch. */
__global__ void locals(const int *which, int *out)
{
    int a[16];
    unsigned i = threadIdx.x;

    for (int k = 0; k < 16; k++) {
        a[k] = k * k + (int) i;
    }
    a[which[i] & 15] = -1;
    int sum = 0;
    for (int k = 0; k < 16; k++) {
        sum += a[(k * which[i]) & 15];
    }
    switch (which[i] % 7) {
    case 0:
        sum *= 3;
        break;
    case 1:
        sum -= 100;
        break;
    case 2:
        sum = ~sum;
        break;
    case 3:
        sum <<= 2;
        break;
    case 4:
        sum >>= 1;
        break;
    case 5:
        sum ^= 0x5555;
        break;
    default:
        sum = -sum;
    }
    out[i] = sum;
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

/* Each operation on its own; one thread for each pair of numbers. */
__global__ void integers(const long long *a, const long long *b, long long *out)
{
    unsigned i = threadIdx.x;
    long long x = a[i], y = b[i];
    int m = (int) x, n = (int) y;
    unsigned u = (unsigned) x, v = (unsigned) y;
    long long *o = out + 24 * i;

    o[0] = x + y;
    o[1] = x * y;
    o[2] = 0 == y ? 0 : x / y;
    o[3] = 0 == y ? 0 : x % y;
    o[4] = 0 == n ? 0 : m / n;
    o[5] = 0 == v ? 0 : u % v;
    o[6] = __mulhi(m, n);
    o[7] = (long long) __umul64hi(x, y);
    o[8] = (long long) m * n;
    o[9] = (short) m * (short) n;
    o[10] = m >> (n & 31);
    o[11] = u >> (v & 31);
    o[12] = (long long) ((unsigned long long) x << (y & 63));
    o[13] = __clz(m) + 100 * __popc(u) + 10000 * __ffs(m);
    o[14] = __clzll(x) + 100 * __popcll(x);
    o[15] = __brev(u);
    o[16] = __byte_perm(u, v, 0x4216);
    o[17] = __funnelshift_l(u, v, n);
    o[18] = min(m, n) + (long long) max(u, v);
    o[19] = abs(m) - (long long) (x < y) + 4 * (u < v);
    o[20] = (signed char) x + (unsigned short) y;
    o[21] = (u & v) ^ (~u | v) ^ (u & ~v);
    o[22] = __usad(u, v, 7);
    o[23] =
        (long long) ((unsigned __int128) (unsigned long long) x * (unsigned long long) y >> 64) +
        (x > y);
}

__global__ void floats(const float *a, const float *b, float *out)
{
    unsigned i = threadIdx.x;
    float x = a[i], y = b[i], *o = out + 20 * i;

    o[0] = __fadd_rn(x, y);
    o[1] = __fmul_rn(x, y);
    o[2] = __fdiv_rn(x, y);
    o[3] = fmaf(x, y, x);
    o[4] = __fsqrt_rn(fabsf(x));
    o[5] = fminf(x, y);
    o[6] = fmaxf(x, y);
    o[7] = (float) (int) x;
    o[8] = (float) (unsigned) y;
    o[9] = rintf(x);
    o[10] = floorf(x) + ceilf(y);
    o[11] = __half2float(__float2half_rn(x));
    o[12] = __bfloat162float(__float2bfloat16_rn(y));
    o[13] = (float) ((double) x * (double) y);
    o[14] = copysignf(x, y);
    o[15] = __fadd_rz(x, y);
    o[16] = weights[i & 3] * x;
    o[17] = x < y ? 1 : x != x ? 2 : x >= y ? 3 : 4;
    o[18] = __half2float(__hadd(__float2half_rn(x), __float2half_rn(y)));
    o[19] = (float) (long long) (x * 1000);
}

__global__ void approximate(const float *a, float *out)
{
    unsigned i = threadIdx.x;
    float x = a[i];

    out[8 * i] = __expf(x);
    out[8 * i + 1] = __logf(fabsf(x) + 1);
    out[8 * i + 2] = __sinf(x);
    out[8 * i + 3] = __cosf(x);
    out[8 * i + 4] = rsqrtf(fabsf(x) + 1);
    out[8 * i + 5] = expf(x);
    out[8 * i + 6] = sinf(x);
    out[8 * i + 7] = powf(fabsf(x) + 1, 0.3f);
}

__global__ void __launch_bounds__(64) small_blocks(unsigned *out)
{
    out[threadIdx.x] = 1;
}

__global__ void past_end(unsigned *out, unsigned n)
{
    __shared__ unsigned few[4];

    few[threadIdx.x] = n;
    __syncthreads();
    out[threadIdx.x] = few[n];
}
}
