/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that nvcc builds: launches, variables, attributes and errors of kernels. */
#include "../case_checks.h"

/* The call returns cuda<what>. */
#define IS(what, call) CHECK_RESULT(cudaError_t, cudaGetErrorName, cuda##what, call)
#define OK(call) IS(Success, call)

__device__ int calls = 5;
__constant__ int table[4] = {1, 2, 3, 4};

struct value {
    double a[3];
    short b;
};

/* in reverse, by dynamic shared memory; and a word that all blocks count */
__global__ void reverse(int *at, value v)
{
    extern __shared__ int room[];

    room[threadIdx.x] = at[threadIdx.x] + table[threadIdx.x % 4] + (int) v.a[2] + v.b;
    __syncthreads();
    at[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
    if (0 == threadIdx.x) {
        atomicAdd(&calls, 1);
    }
}

template <class T> __global__ void place(T *at, int width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    at[y * width + x] = (T) (100 * y + x);
}

int main()
{
    int host[64], four[4] = {10, 20, 30, 40}, *at, n, *address;
    cudaFuncAttributes attributes;
    cudaStream_t s;
    size_t bytes;
    double *d, hd[16];

    for (int i = 0; i < 64; i++) {
        host[i] = i;
    }
    OK(cudaMalloc((void **) &at, sizeof(host)));
    OK(cudaMemcpy(at, host, sizeof(host), cudaMemcpyHostToDevice));
    reverse<<<1, 64, 64 * sizeof(int)>>>(at, value {{0, 0, 1000}, 7});
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, at, sizeof(host), cudaMemcpyDeviceToHost));
    CHECK(63 + 4 + 1007 == host[0] && 0 + 1 + 1007 == host[63]);

    OK(cudaMemcpyFromSymbol(&n, calls, sizeof(n)));
    CHECK(6 == n);
    OK(cudaGetSymbolAddress((void **) &address, calls));
    OK(cudaGetSymbolSize(&bytes, table));
    CHECK(sizeof(table) == bytes);
    IS(ErrorInvalidValue, cudaMemcpyToSymbol(table, four, sizeof(four), 4));
    IS(ErrorInvalidValue, cudaGetLastError());
    OK(cudaMemcpyToSymbol(table, four, sizeof(four)));
    OK(cudaMemset(at, 0, sizeof(host)));
    OK(cudaStreamCreate(&s));
    reverse<<<1, 64, 64 * sizeof(int), s>>>(at, value {{0, 0, 0}, 0});
    OK(cudaGetLastError());
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(host, at, sizeof(host), cudaMemcpyDeviceToHost));
    CHECK(40 == host[0] && 10 == host[63]);
    OK(cudaMemcpy(&n, address, sizeof(n), cudaMemcpyDeviceToHost));
    CHECK(7 == n);

    OK(cudaMalloc((void **) &d, sizeof(hd)));
    place<<<dim3(2, 2), dim3(2, 2)>>>(d, 4);
    OK(cudaGetLastError());
    OK(cudaMemcpy(hd, d, sizeof(hd), cudaMemcpyDeviceToHost));
    CHECK(302 == hd[14]);

    place<<<1, 2048>>>(d, 4);
    IS(ErrorInvalidValue, cudaPeekAtLastError());
    IS(ErrorInvalidValue, cudaGetLastError());
    OK(cudaFuncGetAttributes(&attributes, (const void *) place<double>));
    CHECK(attributes.maxThreadsPerBlock > 0 && 0 == attributes.sharedSizeBytes);
    return 0;
}
