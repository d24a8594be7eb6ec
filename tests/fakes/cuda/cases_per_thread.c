/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases of a program for the per-thread default stream: with this macro cuda.h means the functions
 * that end in _ptds and _ptsz.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "cases.h"

#include <pthread.h>

static CUcontext context;
static _Atomic int held, over;

static void CUDA_CB hold(void *data)
{
    (void) data;
    held = 1;
    while (!over) {
        usleep(100);
    }
}

static void CUDA_CB nothing(void *data)
{
    (void) data;
}
static void CUDA_CB told(CUstream stream, CUresult status, void *data)
{
    (void) stream;
    (void) status;
    (void) data;
}

static void *hold_own_stream(void *data)
{
    OK(cuCtxSetCurrent(context));
    OK(cuLaunchHostFunc(NULL, hold, NULL));
    return data;
}

/* A stand-in for what would wait for ever: the other thread's stream is held. */
static void done(const char *what)
{
    alarm(20);
    OK(cuStreamSynchronize(NULL));
    alarm(0);
    fprintf(stderr, "%s\n", what);
}

static void copies_of_thread(void)
{
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .WidthInBytes = 8,
                          .Height = 2,
                          .srcPitch = 8,
                          .dstPitch = 8};
    uint64_t host[8] = {1, 2, 3};
    CUdeviceptr at;

    OK(cuMemAllocAsync(&at, 64, NULL));
    rows.srcHost = host;
    rows.dstDevice = at;
    OK(cuMemsetD8(at, 0, 64));
    OK(cuMemsetD32Async(at, 5, 2, NULL));
    OK(cuMemsetD2D16(at, 16, 5, 2, 2));
    OK(cuMemsetD2D8Async(at, 16, 5, 2, 2, NULL));
    done("memsets");
    OK(cuMemcpy(at + 8, at, 8));
    OK(cuMemcpyAsync(at + 8, at, 8, NULL));
    OK(cuMemcpyHtoD(at, host, 24));
    OK(cuMemcpyHtoDAsync(at, host, 24, NULL));
    OK(cuMemcpyDtoD(at + 32, at, 24));
    OK(cuMemcpyDtoDAsync(at + 32, at, 24, NULL));
    OK(cuMemcpyDtoH(host + 4, at + 32, 24));
    OK(cuMemcpyDtoHAsync(host + 4, at + 32, 24, NULL));
    OK(cuMemcpy2D(&rows));
    OK(cuMemcpy2DAsync(&rows, NULL));
    done("copies");
    CHECK(3 == host[6]);
    OK(cuMemFreeAsync(at, NULL));
    done("free");
}

static void streams_of_thread(void)
{
    CUcontext c;
    CUgreenCtx green;
    CUdevice device;
    CUevent event;
    CUdeviceptr word;
    CUfunction f = kernel("nothing");
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    unsigned flags;
    unsigned long long id, legacy;
    int priority;

    OK(cuStreamGetFlags(NULL, &flags));
    OK(cuStreamGetPriority(NULL, &priority));
    OK(cuStreamGetCtx(NULL, &c));
    CHECK(context == c);
    OK(cuStreamGetCtx_v2(NULL, &c, &green));
    CHECK(context == c && NULL == green);
    OK(cuStreamGetDevice(NULL, &device));
    OK(cuStreamGetId(NULL, &id));
    OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
    CHECK(id != legacy);
    OK(cuStreamQuery(NULL));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, NULL));
    OK(cuEventRecordWithFlags(event, NULL, 0));
    OK(cuStreamWaitEvent(NULL, event, 0));
    OK(cuStreamAddCallback(NULL, told, NULL, 0));
    OK(cuLaunchHostFunc(NULL, nothing, NULL));
    done("events and callbacks");
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    done("kernels");
    OK(cuMemAlloc(&word, 8));
    OK(cuStreamWriteValue32(NULL, word, 7, 0));
    OK(cuStreamWaitValue32(NULL, word, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue64(NULL, word, 9, 0));
    OK(cuStreamWaitValue64(NULL, word, 9, CU_STREAM_WAIT_VALUE_EQ));
    done("values");
}

/* The per-thread default stream can be captured, unlike the legacy one. */
static void graph_of_thread(void)
{
    CUstreamCaptureStatus status;
    CUgraph graph;
    CUgraphExec exec;

    OK(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuLaunchHostFunc(NULL, nothing, NULL));
    OK(cuStreamIsCapturing(NULL, &status));
    CHECK(CU_STREAM_CAPTURE_STATUS_ACTIVE == status);
    OK(cuStreamEndCapture(NULL, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphUpload(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    done("graph");
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* No function waits for the other thread's default stream, and none uses the legacy one. */
static void per_thread_names(void)
{
    pthread_t thread;

    context = begin(0);
    pthread_create(&thread, NULL, hold_own_stream, NULL);
    while (!held) {
        usleep(100);
    }
    copies_of_thread();
    streams_of_thread();
    graph_of_thread();
    over = 1;
    pthread_join(thread, NULL);
}

const struct test_case per_thread_cases[] = {
    {"per_thread_names", per_thread_names},
    {NULL, NULL},
};
