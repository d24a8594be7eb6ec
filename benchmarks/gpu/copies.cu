/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to move few bytes to and from device memory where N processes share a device: all at
 * once, from when they begin together until all are done. Without MPS the device runs one process at
 * a time, and a way to copy that needs the compute engine waits for its turn: some 150 us for each
 * process. Copy engines and the front end serve all processes.
 *
 *      nvcc -std=c++17 -O3 -arch=native -cudart static -o copies benchmarks/gpu/copies.cu
 *      ./copies N                      # prints a line for each way and size
 */
#include "processes.cuh"

#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>

enum { ROUNDS = 60, UNTIMED = 10, MOST = 1 << 20 };

/* The memory of a process, and its stream. */
struct place {
    char *device, *other, *pinned, *pageable;
    cudaStream_t stream;
};

static CUdeviceptr address(const char *at)
{
    return (CUdeviceptr) (uintptr_t) at;
}

/* ---- ways to copy ---- */

static void from_pinned(const place &p, size_t bytes)
{
    MUST(cudaMemcpyAsync(p.device, p.pinned, bytes, cudaMemcpyHostToDevice, p.stream));
}

static void from_pageable(const place &p, size_t bytes)
{
    MUST(cudaMemcpyAsync(p.device, p.pageable, bytes, cudaMemcpyHostToDevice, p.stream));
}

/* Two rows that lie apart: the driver cannot make one copy of them. */
static void rows_from_pinned(const place &p, size_t bytes)
{
    MUST(cudaMemcpy2DAsync(p.device, bytes + 512, p.pinned, bytes, bytes / 2, 2,
                           cudaMemcpyHostToDevice, p.stream));
}

static void write_value(const place &p, size_t bytes)
{
    static CUresult (*write)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
    cudaDriverEntryPointQueryResult found;

    (void) bytes;
    if (NULL == write) {
        MUST(cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", (void **) &write, 12000,
                                              cudaEnableDefault, &found));
    }
    MUST(write(p.stream, address(p.device), 1, 0));
}

static void on_the_device(const place &p, size_t bytes)
{
    MUST(cudaMemcpyAsync(p.device, p.other, bytes, cudaMemcpyDeviceToDevice, p.stream));
}

static void fill(const place &p, size_t bytes)
{
    MUST(cudaMemsetAsync(p.device, 1, bytes, p.stream));
}

static void to_pinned(const place &p, size_t bytes)
{
    MUST(cudaMemcpyAsync(p.pinned, p.device, bytes, cudaMemcpyDeviceToHost, p.stream));
}

static const struct {
    const char *name;
    void (*copy)(const place &p, size_t bytes);
} ways[] = {
    {"to the device, from pinned memory", from_pinned},
    {"to the device, from pageable memory", from_pageable},
    {"to the device, two rows from pinned memory", rows_from_pinned},
    {"to the device, cuStreamWriteValue64 (8 bytes)", write_value},
    {"on the device", on_the_device},
    {"on the device, a fill", fill},
    {"to pinned memory", to_pinned},
};

static const size_t sizes[] = {8, 1024, 4096, 16384, 24576, 32768, 65536, MOST};

/* ---- a process ---- */

static double median_us(void (*copy)(const place &p, size_t bytes), const place &p, size_t bytes)
{
    std::vector<double> us;

    for (int k = 0; k < ROUNDS; k++) {
        wait_for_all();
        double start = now_us();
        copy(p, bytes);
        MUST(cudaStreamSynchronize(p.stream));
        wait_for_all();
        if (k >= UNTIMED) {
            us.push_back(now_us() - start);
        }
    }
    return median_of(us);
}

static void run()
{
    place p;

    MUST(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    MUST(cudaSetDevice(0));
    MUST(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    MUST(cudaMalloc(&p.device, 2 * MOST));
    MUST(cudaMalloc(&p.other, MOST));
    MUST(cudaHostAlloc(&p.pinned, MOST, 0));
    p.pageable = (char *) calloc(MOST, 1);
    for (const auto &way : ways) {
        for (size_t bytes : sizes) {
            double us = median_us(way.copy, p, bytes);

            if (0 == rank) {
                printf("%d processes, %-46s %8zu B: %8.1f us\n", processes, way.name, bytes, us);
                fflush(stdout);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;

    if (n < 1) {
        fprintf(stderr, "copies N: a number of processes\n");
        return 2;
    }
    return run_processes(n, run);
}
