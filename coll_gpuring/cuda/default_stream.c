/* SPDX-License-Identifier: BSD-3-Clause */
/* The legacy default stream, or a substitute during captures (default_stream.h). */
#include "cuda/default_stream.h"

static void CUDA_CB do_nothing(void *unused)
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
        /*
         * Work on a blocking stream runs after the legacy stream's. An event might not count as
         * work, so put a host function there.
         */
        result = cuda->cuLaunchHostFunc(*stream, do_nothing, NULL);
        if (CUDA_SUCCESS != result) {
            gr_cuda_default_close(cuda, *stream);
        }
    }
    return result;
}

void gr_cuda_default_close(const struct gr_cuda *cuda, CUstream stream)
{
    if (CU_STREAM_LEGACY != stream) {
        (void) cuda->cuStreamDestroy(stream); /* takes effect when its work is done */
    }
}
