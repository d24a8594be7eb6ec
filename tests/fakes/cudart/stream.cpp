/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams and events. The handles are the driver's. */
#include "cudart.h"

using namespace cudart;

/* ---- streams ---- */

DEVICE_FUNCTION(cudaStreamCreate, (cudaStream_t * s), return CU(cuStreamCreate, s, 0);)
DEVICE_FUNCTION(cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned flags),
                return CU(cuStreamCreate, s, flags);)
DEVICE_FUNCTION(cudaStreamDestroy, (cudaStream_t s), return CU(cuStreamDestroy, s);)
STREAM_FUNCTION(cudaStreamSynchronize, _ptsz, (cudaStream_t s),
                return CU(cuStreamSynchronize, STREAM(s));)

/* ---- events ---- */

DEVICE_FUNCTION(cudaEventCreate, (cudaEvent_t * event), return CU(cuEventCreate, event, 0);)
DEVICE_FUNCTION(cudaEventDestroy, (cudaEvent_t event), return CU(cuEventDestroy, event);)
DEVICE_FUNCTION(cudaEventSynchronize, (cudaEvent_t event), return CU(cuEventSynchronize, event);)
DEVICE_FUNCTION(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end),
                return CU(cuEventElapsedTime, ms, start, end);)
STREAM_FUNCTION(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t s),
                return CU(cuEventRecord, event, STREAM(s));)
