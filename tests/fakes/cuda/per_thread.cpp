/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of programs for the per-thread default stream (nvcc --default-stream per-thread): as
 * those without _ptsz, but stream 0 is the calling thread's. Copies and memsets: copy.cpp.
 */
#include "stream.h"

using fake::of_thread;

#define OF_THREAD(name, parameters, ...) \
    FAKE_API name##_ptsz parameters      \
    {                                    \
        return name(__VA_ARGS__);        \
    }

OF_THREAD(cuStreamSynchronize, (CUstream s), of_thread(s))
OF_THREAD(cuStreamQuery, (CUstream s), of_thread(s))
OF_THREAD(cuStreamWaitEvent, (CUstream s, CUevent event, unsigned flags), of_thread(s), event,
          flags)
OF_THREAD(cuStreamAddCallback, (CUstream s, CUstreamCallback call, void *data, unsigned flags),
          of_thread(s), call, data, flags)
OF_THREAD(cuLaunchHostFunc, (CUstream s, CUhostFn call, void *data), of_thread(s), call, data)
OF_THREAD(cuEventRecord, (CUevent event, CUstream s), event, of_thread(s))

OF_THREAD(cuStreamBeginCapture_v2, (CUstream s, CUstreamCaptureMode mode), of_thread(s), mode)
OF_THREAD(cuStreamEndCapture, (CUstream s, CUgraph *graph), of_thread(s), graph)
OF_THREAD(cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus *status), of_thread(s), status)
OF_THREAD(cuGraphLaunch, (CUgraphExec exec, CUstream s), exec, of_thread(s))

OF_THREAD(cuMemAllocAsync, (CUdeviceptr * at, size_t bytes, CUstream s), at, bytes, of_thread(s))
OF_THREAD(cuMemFreeAsync, (CUdeviceptr at, CUstream s), at, of_thread(s))

OF_THREAD(cuLaunchKernel,
          (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
           unsigned bz, unsigned shared, CUstream s, void **args, void **extra),
          f, gx, gy, gz, bx, by, bz, shared, of_thread(s), args, extra)
