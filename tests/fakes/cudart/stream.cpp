/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, events, capture and graphs. The handles are the driver's. */
#include "cudart.h"

using namespace cudart;

/* ---- streams ---- */

DEVICE_FUNCTION(cudaStreamCreate, (cudaStream_t * s), return CU(cuStreamCreate, s, 0);)
DEVICE_FUNCTION(cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned flags),
                return CU(cuStreamCreate, s, flags);)
DEVICE_FUNCTION(cudaStreamCreateWithPriority, (cudaStream_t * s, unsigned flags, int priority),
                return CU(cuStreamCreateWithPriority, s, flags, priority);)
DEVICE_FUNCTION(cudaStreamDestroy, (cudaStream_t s), return CU(cuStreamDestroy, s);)
STREAM_FUNCTION(cudaStreamSynchronize, _ptsz, (cudaStream_t s),
                return CU(cuStreamSynchronize, STREAM(s));)
STREAM_FUNCTION(cudaStreamQuery, _ptsz, (cudaStream_t s), return CU(cuStreamQuery, STREAM(s));)
STREAM_FUNCTION(cudaStreamGetPriority, _ptsz, (cudaStream_t s, int *priority),
                return CU(cuStreamGetPriority, STREAM(s), priority);)
STREAM_FUNCTION(cudaStreamGetFlags, _ptsz, (cudaStream_t s, unsigned *flags),
                return CU(cuStreamGetFlags, STREAM(s), flags);)
STREAM_FUNCTION(cudaStreamGetId, _ptsz, (cudaStream_t s, unsigned long long *id),
                return CU(cuStreamGetId, STREAM(s), id);)
STREAM_FUNCTION(cudaStreamGetDevice, _ptsz, (cudaStream_t s, int *device),
                return CU(cuStreamGetDevice, STREAM(s), device);)
STREAM_FUNCTION(cudaStreamWaitEvent, _ptsz, (cudaStream_t s, cudaEvent_t event, unsigned flags),
                return CU(cuStreamWaitEvent, STREAM(s), event, flags);)
STREAM_FUNCTION(cudaStreamAddCallback, _ptsz,
                (cudaStream_t s, cudaStreamCallback_t call, void *data, unsigned flags),
                return CU(cuStreamAddCallback, STREAM(s), (CUstreamCallback) call, data, flags);)
STREAM_FUNCTION(cudaLaunchHostFunc, _ptsz, (cudaStream_t s, cudaHostFn_t call, void *data),
                return CU(cuLaunchHostFunc, STREAM(s), call, data);)

/* ---- events ---- */

DEVICE_FUNCTION(cudaEventCreate, (cudaEvent_t * event), return CU(cuEventCreate, event, 0);)
DEVICE_FUNCTION(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags),
                return CU(cuEventCreate, event, flags);)
DEVICE_FUNCTION(cudaEventDestroy, (cudaEvent_t event), return CU(cuEventDestroy, event);)
DEVICE_FUNCTION(cudaEventQuery, (cudaEvent_t event), return CU(cuEventQuery, event);)
DEVICE_FUNCTION(cudaEventSynchronize, (cudaEvent_t event), return CU(cuEventSynchronize, event);)
DEVICE_FUNCTION(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end),
                return CU(cuEventElapsedTime, ms, start, end);)
STREAM_FUNCTION(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t s),
                return CU(cuEventRecord, event, STREAM(s));)
STREAM_FUNCTION(cudaEventRecordWithFlags, _ptsz,
                (cudaEvent_t event, cudaStream_t s, unsigned flags),
                return CU(cuEventRecordWithFlags, event, STREAM(s), flags);)

/* ---- capture and graphs ---- */

FUNCTION(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), TRY(driver_ready());
         return CU(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *) mode);)
STREAM_FUNCTION(cudaStreamBeginCapture, _ptsz, (cudaStream_t s, cudaStreamCaptureMode mode),
                return CU(cuStreamBeginCapture, STREAM(s), (CUstreamCaptureMode) mode);)
STREAM_FUNCTION(cudaStreamEndCapture, _ptsz, (cudaStream_t s, cudaGraph_t *graph),
                return CU(cuStreamEndCapture, STREAM(s), graph);)
STREAM_FUNCTION(cudaStreamIsCapturing, _ptsz, (cudaStream_t s, cudaStreamCaptureStatus *status),
                return CU(cuStreamIsCapturing, STREAM(s), (CUstreamCaptureStatus *) status);)
DEVICE_FUNCTION(cudaGraphInstantiate,
                (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
                return CU(cuGraphInstantiateWithFlags, exec, graph, flags);)
DEVICE_FUNCTION(cudaGraphInstantiateWithFlags,
                (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
                return CU(cuGraphInstantiateWithFlags, exec, graph, flags);)
STREAM_FUNCTION(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t s),
                return CU(cuGraphUpload, exec, STREAM(s));)
STREAM_FUNCTION(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t s),
                return CU(cuGraphLaunch, exec, STREAM(s));)
DEVICE_FUNCTION(cudaGraphExecDestroy, (cudaGraphExec_t exec), return CU(cuGraphExecDestroy, exec);)
DEVICE_FUNCTION(cudaGraphDestroy, (cudaGraph_t graph), return CU(cuGraphDestroy, graph);)
