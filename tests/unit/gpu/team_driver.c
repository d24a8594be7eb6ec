/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions between component and driver (team_driver.h). */
#include "cuda/driver.h"
#include "team_driver.h"

#include "team_ranks.h"

_Thread_local int td_rank;

static struct gr_cuda real;
static uint32_t block_threads;
static _Atomic int held;

/* Set while no other thread calls the driver; all but rank is for that rank's own thread. */
static struct {
    int rank;
    unsigned after, times;
    CUresult error;
} faults[TD_FUNCTIONS];
static _Atomic unsigned calls[TD_FUNCTIONS][TR_RANKS];

void td_fail(enum td_function function, int rank, unsigned after, unsigned times, CUresult error)
{
    faults[function].rank = rank;
    faults[function].after = after;
    faults[function].times = times;
    faults[function].error = error;
}

unsigned td_left(enum td_function function)
{
    return faults[function].times;
}

unsigned td_calls(enum td_function function, int rank)
{
    return calls[function][rank];
}

int td_held(void)
{
    return held;
}

void td_reset(void)
{
    held = 0;
}

/* Count a call; whether it is one that fails. */
static int fails(enum td_function function)
{
    calls[function][td_rank]++;
    if (td_rank != faults[function].rank || 0 == faults[function].times) {
        return 0;
    }
    if (faults[function].after > 0) {
        faults[function].after--;
        return 0;
    }
    faults[function].times--;
    return 1;
}

/* ---- functions that fail ---- */

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                       void **extra)
{
    if (fails(TD_LAUNCH)) {
        return faults[TD_LAUNCH].error;
    }
    /* lines are for so many as they say */
    bx = 0 == block_threads || GR_GPU_THREADS != bx ? bx : block_threads;
    return real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

static CUresult query(CUstream stream)
{
    return fails(TD_QUERY) ? faults[TD_QUERY].error : real.cuStreamQuery(stream);
}

static CUresult copy(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return fails(TD_COPY) ? faults[TD_COPY].error : real.cuMemcpyAsync(dst, src, bytes, stream);
}

static CUresult zero(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    return fails(TD_ZERO) ? faults[TD_ZERO].error : real.cuMemsetD8Async(at, value, bytes, stream);
}

static CUresult record(CUevent event, CUstream stream)
{
    return fails(TD_RECORD) ? faults[TD_RECORD].error : real.cuEventRecord(event, stream);
}

static CUresult flush(CUflushGPUDirectRDMAWritesTarget target,
                      CUflushGPUDirectRDMAWritesScope scope)
{
    return fails(TD_FLUSH) ? faults[TD_FLUSH].error
                           : real.cuFlushGPUDirectRDMAWrites(target, scope);
}

/* ---- what is held ---- */

static CUresult taken(CUresult result)
{
    held += CUDA_SUCCESS == result;
    return result;
}

static CUresult given(CUresult result)
{
    held -= CUDA_SUCCESS == result;
    return result;
}

static CUresult pin(void *base, size_t bytes, unsigned flags)
{
    return fails(TD_PIN) ? faults[TD_PIN].error : taken(real.cuMemHostRegister(base, bytes, flags));
}

static CUresult unpin(void *base)
{
    return given(real.cuMemHostUnregister(base));
}

static CUresult alloc(CUdeviceptr *at, size_t bytes)
{
    return taken(real.cuMemAlloc(at, bytes));
}

static CUresult free_device(CUdeviceptr at)
{
    return given(real.cuMemFree(at));
}

static CUresult alloc_host(void **at, size_t bytes, unsigned flags)
{
    return taken(real.cuMemHostAlloc(at, bytes, flags));
}

static CUresult free_host(void *at)
{
    return given(real.cuMemFreeHost(at));
}

static CUresult create_stream(CUstream *stream, unsigned flags, int priority)
{
    return taken(real.cuStreamCreateWithPriority(stream, flags, priority));
}

static CUresult destroy_stream(CUstream stream)
{
    return given(real.cuStreamDestroy(stream));
}

static CUresult create_event(CUevent *event, unsigned flags)
{
    return taken(real.cuEventCreate(event, flags));
}

static CUresult destroy_event(CUevent event)
{
    return given(real.cuEventDestroy(event));
}

void td_install(struct gr_gpus *gpus, uint32_t threads)
{
    struct gr_cuda *cuda = &gpus->cuda;

    real = *cuda;
    block_threads = threads;
    cuda->cuLaunchKernel = launch;
    cuda->cuStreamQuery = query;
    cuda->cuMemcpyAsync = copy;
    cuda->cuMemsetD8Async = zero;
    cuda->cuEventRecord = record;
    cuda->cuFlushGPUDirectRDMAWrites = flush;
    cuda->cuMemHostRegister = pin;
    cuda->cuMemHostUnregister = unpin;
    cuda->cuMemAlloc = alloc;
    cuda->cuMemFree = free_device;
    cuda->cuMemHostAlloc = alloc_host;
    cuda->cuMemFreeHost = free_host;
    cuda->cuStreamCreateWithPriority = create_stream;
    cuda->cuStreamDestroy = destroy_stream;
    cuda->cuEventCreate = create_event;
    cuda->cuEventDestroy = destroy_event;
}
