/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases of the runtime's tests: cases NAME. Built twice: as it is, and for the per-thread default
 * stream.
 */
#include "../case_checks.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

/* The call returns cuda<what>. */
#define IS(what, call) CHECK_RESULT(cudaError_t, cudaGetErrorName, cuda##what, call)
#define OK(call) IS(Success, call)

static void devices()
{
    cudaDeviceProp p;
    int n, number = 7;
    void *at;

    OK(cudaGetDeviceCount(&n));
    CHECK(2 == n);
    OK(cudaGetDeviceProperties(&p, 1));
    CHECK(0 == strcmp("fakecuda", p.name) && 9 == p.major && 32 == p.warpSize &&
          2048 == p.maxThreadsPerMultiProcessor && 0 != p.totalGlobalMem && 0x11 == p.pciBusID);
    OK(cudaDeviceGetAttribute(&n, cudaDevAttrMaxThreadsPerBlock, 0));
    CHECK(1024 == n);
    OK(cudaGetDevice(&number));
    CHECK(0 == number);
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&number));
    CHECK(1 == number);
    std::thread([] { /* each thread begins with device 0 */
                     int mine;
                     cudaPointerAttributes a;
                     void *here;

                     OK(cudaGetDevice(&mine));
                     OK(cudaMalloc(&here, 8));
                     OK(cudaPointerGetAttributes(&a, here));
                     CHECK(0 == mine && 0 == a.device);
                     OK(cudaFree(here));
    })
        .join();
    OK(cudaMalloc(&at, 8));
    OK(cudaDeviceReset());
    IS(ErrorInvalidValue, cudaFree(at));
    OK(cudaMalloc(&at, 8));
    OK(cudaFree(at));
    IS(ErrorInvalidDevice, cudaSetDevice(2));
    IS(ErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaGetDevice(&number));
    CHECK(1 == number);
}

static bool mapped(const char *name)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;

    CHECK(nullptr != f);
    while (nullptr != fgets(line, sizeof(line), f)) {
        found = found || nullptr != strstr(line, name);
    }
    fclose(f);
    return found;
}

/* The driver comes with the first call that needs it; a context with the first that needs one. */
static void late()
{
    int n;

    CHECK(!mapped("libcuda.so.1"));
    OK(cudaGetDeviceCount(&n));
    CHECK(mapped("libcuda.so.1"));
}

static void errors()
{
    char host[8];
    void *at;
    int n;

    IS(ErrorInvalidDevice, cudaSetDevice(99));
    OK(cudaGetDeviceCount(&n)); /* a success does not clear an error */
    CHECK(cudaErrorInvalidDevice == cudaPeekAtLastError());
    CHECK(cudaErrorInvalidDevice == cudaGetLastError());
    CHECK(cudaSuccess == cudaGetLastError());
    std::thread([] { CHECK(cudaSuccess == cudaGetLastError()); }).join();
    OK(cudaMalloc(&at, 8));
    IS(ErrorInvalidValue, cudaMemcpy(at, host, 8, cudaMemcpyDeviceToHost));
    IS(ErrorInvalidMemcpyDirection, cudaMemcpy(at, host, 8, (cudaMemcpyKind) 7));
    IS(ErrorInvalidPitchValue, cudaMemcpy2D(at, 1, host, 8, 2, 1, cudaMemcpyHostToDevice));
    IS(ErrorMemoryAllocation, cudaMalloc(&at, (size_t) 1 << 50));
    CHECK(0 == strcmp("cudaErrorMemoryAllocation", cudaGetErrorName(cudaGetLastError())));
    CHECK(0 == strcmp("out of memory", cudaGetErrorString(cudaErrorMemoryAllocation)));
    CHECK(0 == strcmp("unrecognized error code", cudaGetErrorName((cudaError_t) 12345)));
}

static void no_driver()
{
    int n = 7, version = 7;

    IS(ErrorInsufficientDriver, cudaGetDeviceCount(&n));
    CHECK(0 == n);
    IS(ErrorInsufficientDriver, cudaFree(nullptr));
    OK(cudaDriverGetVersion(&version));
    CHECK(0 == version || 12080 == version);
}

static void copies()
{
    int device[4] = {}, host[16], *at, *pinned, *managed;
    cudaPointerAttributes a;
    size_t pitch, idle, total;
    void *rows;

    (void) device;
    for (int i = 0; i < 16; i++) {
        host[i] = i;
    }
    OK(cudaMalloc((void **) &at, sizeof(host)));
    OK(cudaMemcpy(at, host, sizeof(host), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(at + 1, at + 8, 4, cudaMemcpyDeviceToDevice));
    OK(cudaMemset(at, 1, 4));
    memset(host, 0, sizeof(host));
    OK(cudaMemcpy(host, at, sizeof(host), cudaMemcpyDefault));
    CHECK(0x01010101 == host[0] && 8 == host[1] && 15 == host[15]);
    OK(cudaPointerGetAttributes(&a, at + 3));
    CHECK(cudaMemoryTypeDevice == a.type && 0 == a.device && at + 3 == a.devicePointer &&
          nullptr == a.hostPointer);
    OK(cudaPointerGetAttributes(&a, host));
    CHECK(cudaMemoryTypeUnregistered == a.type && host == a.hostPointer);
    OK(cudaMallocHost((void **) &pinned, 64));
    OK(cudaPointerGetAttributes(&a, pinned));
    CHECK(cudaMemoryTypeHost == a.type && pinned == a.hostPointer);
    OK(cudaMallocManaged((void **) &managed, 64, cudaMemAttachGlobal));
    OK(cudaPointerGetAttributes(&a, managed));
    CHECK(cudaMemoryTypeManaged == a.type);
    OK(cudaMemcpy(managed, at, 64, cudaMemcpyDefault));
    CHECK(8 == managed[1]);
    OK(cudaMallocPitch(&rows, &pitch, 12, 3));
    OK(cudaMemcpy2D(rows, pitch, host, 16, 12, 3, cudaMemcpyHostToDevice));
    OK(cudaMemset2D(rows, pitch, 2, 4, 2));
    OK(cudaMemcpy2D(pinned, 12, rows, pitch, 12, 3, cudaMemcpyDeviceToHost));
    CHECK(0x02020202 == pinned[0] && 8 == pinned[1] && 0x02020202 == pinned[3] && 10 == pinned[8]);
    OK(cudaMemGetInfo(&idle, &total));
    CHECK(idle < total);
    OK(cudaFree(at));
    OK(cudaFree(rows));
    OK(cudaFree(managed));
    OK(cudaFree(nullptr));
    OK(cudaFreeHost(pinned));
    OK(cudaHostRegister(host, sizeof(host), cudaHostRegisterDefault));
    OK(cudaHostUnregister(host));
}

static void count(void *data)
{
    ++*(int *) data;
}
static void count_too(cudaStream_t, cudaError_t status, void *data)
{
    *(int *) data += cudaSuccess == status ? 10 : 0;
}

static void streams()
{
    cudaStream_t s;
    cudaEvent_t from, to;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    float ms = -1;
    int host[2] = {0, 7}, called = 0, *at;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    OK(cudaMallocAsync((void **) &at, 8, s));
    OK(cudaEventRecord(from, s));
    OK(cudaMemsetAsync(at, 0, 8, s));
    OK(cudaMemcpyAsync(at + 1, host + 1, 4, cudaMemcpyHostToDevice, s));
    OK(cudaLaunchHostFunc(s, count, &called));
    OK(cudaStreamAddCallback(s, count_too, &called, 0));
    OK(cudaEventRecord(to, s));
    OK(cudaStreamWaitEvent(nullptr, to, 0));
    OK(cudaMemcpyAsync(host, at, 8, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaStreamSynchronize(nullptr));
    CHECK(0 == host[0] && 7 == host[1] && 11 == called);
    OK(cudaEventQuery(to));
    OK(cudaEventElapsedTime(&ms, from, to));
    CHECK(ms >= 0);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(at, 3, 4, s));
    OK(cudaStreamIsCapturing(s, &status));
    CHECK(cudaStreamCaptureStatusActive == status);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaMemcpyAsync(host, at, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK(0x03030303 == host[0]);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeAsync(at, s));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(from));
    OK(cudaStreamDestroy(s));
}

static std::atomic<bool> held, over;

static void hold(void *)
{
    held = true;
    while (!over) {
        usleep(100);
    }
}

/* Stream 0 is each thread's own or one for all, as the program was built. */
static void default_stream()
{
    std::thread other([] {
        OK(cudaFree(nullptr));
        OK(cudaLaunchHostFunc(nullptr, hold, nullptr));
    });
    while (!held) {
        usleep(100);
    }
    other.join();
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    void *at;

    OK(cudaMalloc(&at, 8));
    OK(cudaMemset(at, 0, 8));
    OK(cudaStreamSynchronize(nullptr));
    OK(cudaStreamQuery(nullptr));
#else
    IS(ErrorNotReady, cudaStreamQuery(nullptr));
#endif
    over = true;
    OK(cudaDeviceSynchronize());
}

static void unsupported()
{
    cudaArray_t array;
    cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};

    IS(ErrorNotSupported, cudaMallocArray(&array, &format, 8, 8, 0));
}

/* What nvcc's code does before main(), and at a launch; the kernel is test_kernels.cu's. */
extern "C" void **__cudaRegisterFatBinary(void *);
extern "C" void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *,
                                       uint3 *, dim3 *, dim3 *, int *);
static void stand_in()
{
}
static void nobody()
{
}

static void kernels()
{
    static const struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } image = {0xBA55ED50, 1, 16, 16};
    static const struct {
        uint32_t magic, version;
        const void *data, *unused;
    } wrapper = {0x466243B1, 1, &image, nullptr};
    void **handle = __cudaRegisterFatBinary((void *) &wrapper);
    uint64_t host[2] = {5, 6}, add = 2, n = 2, *at;
    void *args[] = {&at, &at, &add, &n};
    cudaFuncAttributes a;
    int blocks = 0;

    __cudaRegisterFunction(handle, (const char *) stand_in, nullptr, "add_number", -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFunction(handle, (const char *) nobody, nullptr, "no_such_kernel", -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
    OK(cudaMalloc((void **) &at, sizeof(host)));
    OK(cudaMemcpy(at, host, sizeof(host), cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel((const void *) stand_in, dim3(1), dim3(32), args, 0, nullptr));
    OK(cudaMemcpy(host, at, sizeof(host), cudaMemcpyDeviceToHost));
    CHECK(7 == host[0] && 8 == host[1]);
    IS(ErrorInvalidValue,
       cudaLaunchKernel((const void *) stand_in, dim3(1), dim3(2048), args, 0, nullptr));
    OK(cudaFuncGetAttributes(&a, (const void *) stand_in));
    CHECK(1024 == a.maxThreadsPerBlock);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *) stand_in, 128, 0));
    CHECK(4 == blocks);
    IS(ErrorInvalidDeviceFunction,
       cudaLaunchKernel((const void *) nobody, dim3(1), dim3(32), args, 0, nullptr));
    IS(ErrorInvalidDeviceFunction,
       cudaLaunchKernel((const void *) kernels, dim3(1), dim3(32), args, 0, nullptr));
}

int main(int, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } all[] = {{"devices", devices},        {"late", late},
               {"errors", errors},          {"no_driver", no_driver},
               {"copies", copies},          {"streams", streams},
               {"kernels", kernels},        {"default_stream", default_stream},
               {"unsupported", unsupported}};

    for (const auto &c : all) {
        if (nullptr != argv[1] && 0 == strcmp(c.name, argv[1])) {
            c.run();
            return 0;
        }
    }
    fprintf(stderr, "no such case\n");
    return 2;
}
