/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: stream capture, and the calls that it prohibits. */
#include "cases.h"

#include <pthread.h>

static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                            CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                            CU_STREAM_CAPTURE_MODE_RELAXED};

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status;

    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

/* End the capture: whether its graph is valid. */
static int ends_well(CUstream stream)
{
    CUgraph graph;
    CUresult result = cuStreamEndCapture(stream, &graph);

    if (CUDA_SUCCESS == result) {
        OK(cuGraphDestroy(graph));
        return 1;
    }
    CHECK(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED == result && NULL == graph);
    return 0;
}

static CUdeviceptr at;
static CUevent event;
static CUstream other;

static CUresult allocate(void)
{
    CUdeviceptr fresh;

    return cuMemAlloc(&fresh, 8);
}
static CUresult pin(void)
{
    void *fresh;

    return cuMemHostAlloc(&fresh, 8, 0);
}
static CUresult copy(void)
{
    uint64_t word;

    return cuMemcpyDtoH(&word, at, 8);
}
static CUresult ask_event(void)
{
    return cuEventQuery(event);
}
static CUresult ask_stream(void)
{
    return cuStreamQuery(other);
}
static CUresult wait_for_stream(void)
{
    return cuStreamSynchronize(other);
}
static CUresult mark(void)
{
    unsigned yes = 1;

    return cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
}
static CUresult (*const unsafe[])(void) = {allocate,        pin, copy, ask_event, ask_stream,
                                           wait_for_stream, mark};
enum { NUNSAFE = sizeof unsafe / sizeof unsafe[0] };

static CUstream prepare(unsigned flags)
{
    begin(0);
    at = zeros(8);
    other = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, other));
    OK(cuStreamSynchronize(other));
    return new_stream(flags);
}

/*
 * An unsafe call of a thread in this mode, while a capture that began in that mode is under way;
 * whose: the thread's own.
 */
static void expect(CUstream s, CUstreamCaptureMode capture, CUstreamCaptureMode thread,
                   int prohibited, int k)
{
    CUstreamCaptureMode mode = thread;
    CUresult result;

    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(CU_STREAM_CAPTURE_MODE_GLOBAL == mode);
    result = unsafe[k]();
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(thread == mode);
    if ((prohibited ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS) != result) {
        fprintf(stderr, "call %d, capture %d, thread %d: %d\n", k, capture, thread, result);
        exit(1);
    }
    CHECK((prohibited ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE) ==
          status_of(s));
}

/* What the thread that captures must not call; and what nobody may, in any mode. */
static void capture_prohibits(void)
{
    CUstream s = prepare(CU_STREAM_NON_BLOCKING);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    for (int c = 0; c < 3; c++) {
        for (int t = 0; t < 3; t++) {
            for (int k = 0; k < NUNSAFE; k++) {
                int prohibited = CU_STREAM_CAPTURE_MODE_RELAXED != modes[c] &&
                                 CU_STREAM_CAPTURE_MODE_RELAXED != modes[t];

                OK(cuStreamBeginCapture(s, modes[c]));
                expect(s, modes[c], modes[t], prohibited, k);
                CHECK(prohibited != ends_well(s));
            }
        }
    }
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    IS(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
    IS(ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(at, 1, 1, s));
    CHECK(!ends_well(s));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    IS(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    CHECK(!ends_well(s));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    IS(ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, event, 0));
    CHECK(!ends_well(s));
}

/*
 * While a blocking stream is captured the legacy one cannot be used, in any mode; asking for it
 * does no harm.
 */
static void capture_closes_legacy(void)
{
    CUstream s = prepare(CU_STREAM_DEFAULT);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUstreamCaptureStatus status;

    OK(cuThreadExchangeStreamCaptureMode(&mode));
    for (int c = 0; c < 3; c++) {
        OK(cuStreamBeginCapture(s, modes[c]));
        IS(ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(CU_STREAM_LEGACY, &status));
        CHECK(CU_STREAM_CAPTURE_STATUS_ACTIVE == status_of(s));
        CHECK(CU_STREAM_CAPTURE_STATUS_NONE == status_of(other));
        CHECK(ends_well(s));
        OK(cuStreamBeginCapture(s, modes[c]));
        IS(ERROR_STREAM_CAPTURE_IMPLICIT, cuEventRecord(event, NULL));
        CHECK(!ends_well(s));
        OK(cuStreamBeginCapture(s, modes[c]));
        IS(ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD8(at, 1, 1));
        CHECK(!ends_well(s));
        OK(cuStreamBeginCapture(s, modes[c]));
        IS(ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(CU_STREAM_LEGACY));
        CHECK(!ends_well(s));
        OK(cuEventRecord(event, NULL));
    }
}

const struct test_case capture_cases[] = {
    {"capture_prohibits", capture_prohibits},
    {"capture_closes_legacy", capture_closes_legacy},
    {NULL, NULL},
};
