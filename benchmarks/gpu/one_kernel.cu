/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the chip allows where N processes share a device: an allreduce of floats by one kernel of one
 * process, on the buffers of all, which it has mapped by CUDA IPC. No library, no checks of
 * arguments, no choice: what gpuring's leader (coll_gpuring/exec/gpu/leader.h) is measured against.
 *
 *      nvcc -std=c++17 -O3 -arch=native -cudart static -o one_kernel benchmarks/gpu/one_kernel.cu
 *      ./one_kernel N [MOST_MIB]       # 2, 4 or 8 processes; up to MOST_MIB (256) each
 *
 * Prints a line for each size, without and with a kernel of 10 us of each process just before, and
 * the rate of a copy on the device. Each process waits for an event on its default stream before it
 * arrives, as gpuring's ranks do.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

enum { MOST_PROCESSES = 8, THREADS = 512, BLOCKS = 264 };

/* ---- the processes ---- */

static int processes, rank;

/* Memory that the processes share, zero at first; before run_processes(). */
template <class T> static T *share()
{
    return (T *) mmap(NULL, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

struct barrier {
    std::atomic<int> came, round;
};
static struct barrier *together;

static void wait_for_all()
{
    int round = together->round.load();

    if (processes - 1 == together->came.fetch_add(1)) {
        together->came = 0;
        together->round = round + 1;
    } else {
        while (round == together->round.load()) {
        }
    }
}

static void must(int result, const char *what)
{
    if (0 != result) {
        printf("%s: error %d\n", what, result);
        fflush(stdout);
        _exit(3);
    }
}
#define MUST(call) must((int) (call), #call)

static double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static double median_of(std::vector<double> us)
{
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

/* `run` in n processes, which know their rank. Returns whether one of them failed. */
template <class Run> static int run_processes(int n, Run run)
{
    int status, failed = 0;

    processes = n;
    together = share<struct barrier>();
    for (rank = 0; rank < processes; rank++) {
        if (0 == fork()) {
            run();
            _exit(0);
        }
    }
    while (wait(&status) > 0) {
        failed |= status;
    }
    return 0 != failed;
}

/* Shared by the processes. */
struct shared {
    std::atomic<uint32_t> arrived, done;
    cudaIpcMemHandle_t in[MOST_PROCESSES], out[MOST_PROCESSES];
};
static struct shared *shared;

/* ---- the kernel ---- */

struct buffers {
    float *in[MOST_PROCESSES], *out[MOST_PROCESSES];
};

template <int N>
__global__ void __launch_bounds__(THREADS)
    sum_all(struct buffers b, size_t vectors, size_t floats, uint32_t *counter, uint32_t *done,
            uint32_t value)
{
    size_t i = blockIdx.x * (size_t) blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

    for (; i < vectors; i += stride) {
        float4 v[N];
        int k;

#pragma unroll
        for (k = 0; k < N; k++) {
            v[k] = __ldcs((const float4 *) b.in[k] + i);
        }
#pragma unroll
        for (k = 1; k < N; k++) {
            v[0].x += v[k].x;
            v[0].y += v[k].y;
            v[0].z += v[k].z;
            v[0].w += v[k].w;
        }
#pragma unroll
        for (k = 0; k < N; k++) {
            __stcs((float4 *) b.out[k] + i, v[0]);
        }
    }
    for (i = 4 * vectors + blockIdx.x * (size_t) blockDim.x + threadIdx.x; i < floats;
         i += stride) {
        float sum = 0;

        for (int k = 0; k < N; k++) {
            sum += b.in[k][i];
        }
        for (int k = 0; k < N; k++) {
            b.out[k][i] = sum;
        }
    }
    __syncthreads();
    if (0 == threadIdx.x) {
        __threadfence_system();
        if (gridDim.x - 1 == atomicAdd(counter, 1)) {
            *counter = 0;
            __threadfence_system();
            *(volatile uint32_t *) done = value;
        }
    }
}

__global__ void spin(long long cycles)
{
    long long start = clock64();

    while (clock64() - start < cycles) {
    }
}

/* ---- a process ---- */

struct place {
    struct buffers all;
    cudaStream_t stream;
    cudaEvent_t event;
    uint32_t *counter, *done; /* done: in pinned memory */
};

static void launch(const struct place &p, size_t bytes, uint32_t value)
{
    size_t floats = bytes / sizeof(float), vectors = floats / 4;
    size_t blocks = std::min<size_t>((vectors + THREADS - 1) / THREADS + (0 == vectors), BLOCKS);
    void (*kernel)(struct buffers, size_t, size_t, uint32_t *, uint32_t *, uint32_t) =
        2 == processes   ? sum_all<2>
        : 4 == processes ? sum_all<4>
                         : sum_all<8>;

    kernel<<<(unsigned) blocks, THREADS, 0, p.stream>>>(p.all, vectors, floats, p.counter, p.done,
                                                        value);
}

/* One allreduce, which the process of rank 0 does. */
static void allreduce(const struct place &p, size_t bytes)
{
    static uint32_t value;

    value++;
    MUST(cudaEventRecord(p.event, cudaStreamLegacy));
    while (cudaErrorNotReady == cudaEventQuery(p.event)) {
    }
    shared->arrived.fetch_add(1);
    if (0 == rank) {
        while (shared->arrived.load() < value * (uint32_t) processes) {
        }
        launch(p, bytes, value);
        while (value != *(volatile uint32_t *) p.done) {
        }
        shared->done.store(value);
    }
    while (shared->done.load() != value) {
    }
}

/* own: a kernel of 10 us of each process comes first, and is waited for. */
static void measure(const struct place &p, size_t bytes, bool own)
{
    int rounds = bytes <= 1 << 20 ? 300 : 20, untimed = 10;
    std::vector<double> us;

    for (int k = 0; k < rounds + untimed; k++) {
        double start;

        wait_for_all();
        if (own) {
            spin<<<4, 128, 0, p.stream>>>(18000);
            MUST(cudaStreamSynchronize(p.stream));
            wait_for_all();
        }
        start = now_us();
        allreduce(p, bytes);
        if (k >= untimed) {
            us.push_back(now_us() - start);
        }
    }
    if (0 == rank) {
        double median = median_of(us);

        printf("%d processes, %s: %10zu B: %9.1f us, %7.0f GB/s read and written\n", processes,
               own ? "a kernel of each before" : "nothing before         ", bytes, median,
               2e-3 * processes * (double) bytes / median);
        fflush(stdout);
    }
}

static void measure_copy(const struct place &p, size_t bytes)
{
    double start = 0;

    for (int k = 0; k < 12; k++) {
        MUST(cudaStreamSynchronize(p.stream));
        start = 2 == k ? now_us() : start;
        MUST(cudaMemcpyAsync(p.all.out[0], p.all.in[0], bytes, cudaMemcpyDeviceToDevice, p.stream));
    }
    MUST(cudaStreamSynchronize(p.stream));
    printf("a copy of %zu MiB on the device: %.0f GB/s read and written\n", bytes >> 20,
           2e-3 * 10 * (double) bytes / (now_us() - start));
    fflush(stdout);
}

static void run(size_t most)
{
    struct place p;
    float one = (float) (rank + 1), sum = 0;

    MUST(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    MUST(cudaSetDevice(0));
    MUST(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&p.event, cudaEventDisableTiming));
    MUST(cudaMalloc(&p.counter, sizeof(*p.counter)));
    MUST(cudaMemset(p.counter, 0, sizeof(*p.counter)));
    MUST(cudaHostAlloc(&p.done, sizeof(*p.done), cudaHostAllocMapped));
    *p.done = 0;
    MUST(cudaMalloc(&p.all.in[rank], most));
    MUST(cudaMalloc(&p.all.out[rank], most));
    MUST(cudaMemset(p.all.in[rank], 0, most));
    MUST(cudaMemcpy(p.all.in[rank], &one, sizeof(one), cudaMemcpyHostToDevice));
    MUST(cudaDeviceSynchronize());
    MUST(cudaIpcGetMemHandle(&shared->in[rank], p.all.in[rank]));
    MUST(cudaIpcGetMemHandle(&shared->out[rank], p.all.out[rank]));
    wait_for_all();
    for (int r = 0; r < processes; r++) {
        if (r != rank) {
            MUST(cudaIpcOpenMemHandle((void **) &p.all.in[r], shared->in[r],
                                      cudaIpcMemLazyEnablePeerAccess));
            MUST(cudaIpcOpenMemHandle((void **) &p.all.out[r], shared->out[r],
                                      cudaIpcMemLazyEnablePeerAccess));
        }
    }
    for (int own = 0; own < 2; own++) {
        for (size_t bytes :
             {(size_t) 8, (size_t) 65536, (size_t) 1 << 20, (size_t) 16 << 20, most}) {
            measure(p, bytes, 1 == own);
        }
    }
    MUST(cudaMemcpy(&sum, p.all.out[rank], sizeof(sum), cudaMemcpyDeviceToHost));
    if (sum != (float) (processes * (processes + 1) / 2)) {
        printf("rank %d: a wrong sum, %g\n", rank, sum);
        _exit(4);
    }
    wait_for_all();
    if (0 == rank) {
        measure_copy(p, most);
    }
    wait_for_all();
}

int main(int argc, char **argv)
{
    size_t mib = argc > 2 ? strtoull(argv[2], NULL, 0) : 256;
    int n = argc > 1 ? atoi(argv[1]) : 0;

    if (2 != n && 4 != n && 8 != n) {
        fprintf(stderr, "one_kernel N [MOST_MIB]: 2, 4 or 8 processes\n");
        return 2;
    }
    shared = share<struct shared>();
    return run_processes(n, [mib] { run(std::max<size_t>(mib, 16) << 20); });
}
