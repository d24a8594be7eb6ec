/* SPDX-License-Identifier: BSD-3-Clause */
/* The legacy default stream, or what takes its place while a stream is captured (state.h). */
#include "cuda/state.h"

static void CUDA_CB nothing(void *unused)
{
    (void) unused;
}

CUresult gr_cuda_default_open(const struct gr_cuda *cuda, CUstream *stream)
{
    CUstreamCaptureStatus status;
    CUresult result;

    *stream = CU_STREAM_LEGACY;
    if (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT !=
        cuda->cuStreamIsCapturing(CU_STREAM_LEGACY, &status)) {
        return CUDA_SUCCESS;
    }
    result = cuda->cuStreamCreateWithPriority(stream, CU_STREAM_DEFAULT, 0);
    if (CUDA_SUCCESS == result) {
        /* work on a blocking stream comes after the legacy one's; an event alone might not count as
         * work */
        result = cuda->cuLaunchHostFunc(*stream, nothing, NULL);
        if (CUDA_SUCCESS != result) {
            gr_cuda_default_close(cuda, *stream);
        }
    }
    return result;
}

void gr_cuda_default_close(const struct gr_cuda *cuda, CUstream stream)
{
    if (CU_STREAM_LEGACY != stream) {
        (void) cuda->cuStreamDestroy(stream); /* when its work is done */
    }
}
