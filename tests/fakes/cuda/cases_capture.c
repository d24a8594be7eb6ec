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

/* What is captured is done when its graph is launched, each time, and not before. */
static void captured(void)
{
    CUdeviceptr at = (begin(0), zeros(16));
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    CUgraphExec exec;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(CU_STREAM_CAPTURE_STATUS_ACTIVE == status_of(s));
    IS(ERROR_ILLEGAL_STATE, cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async(at, 7, 2, s));
    OK(cuMemcpyDtoDAsync(at + 8, at, 8, s));
    OK(cuStreamEndCapture(s, &graph));
    CHECK(CU_STREAM_CAPTURE_STATUS_NONE == status_of(s));
    CHECK(0 == word_at(at));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        set_word(at + 8, 0);
        OK(cuGraphLaunch(exec, s));
        OK(cuStreamSynchronize(s));
        CHECK(0x700000007 == word_at(at + 8));
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuMemFree(at));
    IS(ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &graph));
    IS(ERROR_STREAM_CAPTURE_UNSUPPORTED,
       cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
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

struct row {
    CUcontext context;
    CUstream stream;
    CUstreamCaptureMode capture;
};

static void *be_another(void *data)
{
    const struct row *r = data;
    CUgraph graph;

    OK(cuCtxSetCurrent(r->context));
    if (CU_STREAM_CAPTURE_MODE_GLOBAL != r->capture) {
        for (int t = 0; t < 3; t++) {
            for (int k = 0; k < NUNSAFE; k++) {
                expect(r->stream, r->capture, modes[t], 0, k);
            }
        }
    } else {
        expect(r->stream, r->capture, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 0, 0);
        expect(r->stream, r->capture, CU_STREAM_CAPTURE_MODE_RELAXED, 0, 0);
        expect(r->stream, r->capture, CU_STREAM_CAPTURE_MODE_GLOBAL, 1, 0);
    }
    if (CU_STREAM_CAPTURE_MODE_RELAXED != r->capture) {
        IS(ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(r->stream, &graph));
    }
    return NULL;
}

/* What other threads must not call. */
static void capture_beside_threads(void)
{
    struct row row = {.stream = prepare(CU_STREAM_NON_BLOCKING)};
    pthread_t thread;

    OK(cuCtxGetCurrent(&row.context));
    for (int c = 0; c < 3; c++) {
        row.capture = modes[c];
        OK(cuStreamBeginCapture(row.stream, row.capture));
        CHECK(0 == pthread_create(&thread, NULL, be_another, &row) &&
              0 == pthread_join(thread, NULL));
        CHECK((CU_STREAM_CAPTURE_MODE_GLOBAL != row.capture) == ends_well(row.stream));
    }
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

static void CUDA_CB nothing(void *data)
{
    (void) data;
}

/* Other blocking streams can be used meanwhile, and still come after what is on the legacy one. */
static void capture_beside_blocking(void)
{
    CUstream s = prepare(CU_STREAM_DEFAULT), b = new_stream(CU_STREAM_DEFAULT);

    for (unsigned i = 1; i <= 20; i++) {
        OK(cuMemsetD32Async(at, i, 1, NULL));
    }
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuLaunchHostFunc(b, nothing, NULL));
    OK(cuEventRecord(event, b));
    OK(cuStreamWaitEvent(other, event, 0));
    OK(cuStreamSynchronize(other));
    CHECK(20 == (uint32_t) word_at(at));
    CHECK(ends_well(s));
}

/* Another stream joins by an event, and must have been joined at the end. */
static void capture_forks(void)
{
    CUstream s = prepare(CU_STREAM_NON_BLOCKING), t = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;

    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async(at, 3, 1, s));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(cuStreamIsCapturing(t, &status));
    CHECK(CU_STREAM_CAPTURE_STATUS_ACTIVE == status);
    OK(cuMemcpyDtoDAsync(at + 4, at, 4, t));
    OK(cuEventRecord(join, t));
    IS(ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(t, &graph));
    OK(cuStreamWaitEvent(s, join, 0));
    OK(cuStreamEndCapture(s, &graph));
    IS(ERROR_CAPTURED_EVENT, cuEventQuery(fork));
    IS(ERROR_CAPTURED_EVENT, cuStreamWaitEvent(t, fork, 0));
    OK(cuStreamIsCapturing(t, &status));
    CHECK(CU_STREAM_CAPTURE_STATUS_NONE == status && 0 == word_at(at));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    CHECK(0x300000003 == word_at(at));
    OK(cuEventRecord(fork, s)); /* outside again */
    OK(cuEventSynchronize(fork));

    /* work of the other that the first stream does not wait for */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(cuEventRecord(join, t));
    OK(cuMemsetD32Async(at, 4, 1, t));
    OK(cuStreamWaitEvent(s, join, 0));
    IS(ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &graph));
    OK(cuStreamQuery(t));

    /* two captures cannot become one */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, s));
    IS(ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(t, fork, 0));
    CHECK(!ends_well(t));
    IS(ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamWaitEvent(NULL, fork, 0));
    CHECK(ends_well(s));
}

const struct test_case capture_cases[] = {
    {"capture_forks", capture_forks},
    {"captured", captured},
    {"capture_prohibits", capture_prohibits},
    {"capture_beside_threads", capture_beside_threads},
    {"capture_closes_legacy", capture_closes_legacy},
    {"capture_beside_blocking", capture_beside_blocking},
    {NULL, NULL},
};
