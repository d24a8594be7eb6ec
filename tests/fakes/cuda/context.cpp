/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: the primary ones of the devices and those that are created; the stack of current ones
 * of each thread.
 */
#include "capture.h"
#include "context.h"

#include "memory.h"
#include "stream.h"

#include <cstdlib>

namespace fake
{

enum { NOT_YET, READY, OVER };
static std::atomic<int> state {NOT_YET};

static CUctx_st primaries[MAX_DEVICES];
static std::atomic<unsigned long long> next_id {1};

static std::mutex &known_mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
static std::set<CUcontext> &created()
{
    static auto *all = new std::set<CUcontext>;
    return *all;
}

/* Plain data: it can still be looked at when the thread's destructors have run. */
constexpr int DEPTH = 64;
static thread_local struct {
    CUcontext at[DEPTH];
    int n;
} current;

thread_local bool in_callback;

CUresult driver_status()
{
    const int s = state;
    return in_callback    ? CUDA_ERROR_NOT_PERMITTED
           : READY == s   ? CUDA_SUCCESS
           : NOT_YET == s ? CUDA_ERROR_NOT_INITIALIZED
                          : CUDA_ERROR_DEINITIALIZED;
}

bool context_known(CUcontext context)
{
    std::lock_guard<std::mutex> lock(known_mutex());

    for (CUctx_st &p : primaries) {
        if (&p == context) {
            return true;
        }
    }
    return 0 != created().count(context);
}

CUresult context_current(CUcontext *context)
{
    NEED_DRIVER();
    NEED(0 != current.n, CUDA_ERROR_INVALID_CONTEXT);
    *context = current.at[current.n - 1];
    NEED(context_known(*context), CUDA_ERROR_INVALID_CONTEXT);
    NEED((*context)->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

static void come_alive(CUcontext c, int device, bool primary, unsigned flags)
{
    c->device = device;
    c->primary = primary;
    c->flags = flags;
    c->id = next_id++;
    c->peers.clear();
    c->legacy = stream_new(c, CU_STREAM_DEFAULT, 0);
    c->alive = true;
    note("context device %d %s", device_machine(device), primary ? "primary" : "created");
}

/* Its work is waited for; its streams and memory go. */
static void die_down(CUcontext c)
{
    streams_sync(c);
    c->alive = false;
    streams_end(c);
    memory_drop(c);
}

static CUresult push(CUcontext c)
{
    NEED(current.n < DEPTH, CUDA_ERROR_INVALID_VALUE);
    current.at[current.n++] = c;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, unsigned flags, CUdevice device)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(nullptr != context, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    *context = new CUctx_st {};
    come_alive(*context, device, false, flags);
    {
        std::lock_guard<std::mutex> lock(known_mutex());
        created().insert(*context);
    }
    return push(*context);
}

} /* namespace fake */

using namespace fake;

FAKE_API cuInit(unsigned flags)
{
    int expected = NOT_YET;

    NEED(0 == flags, CUDA_ERROR_INVALID_VALUE);
    NEED(OVER != state, CUDA_ERROR_DEINITIALIZED);
    NEED(0 != device_count(), CUDA_ERROR_NO_DEVICE);
    memory_open();
    if (state.compare_exchange_strong(expected, READY)) {
        atexit([] { state = OVER; });
    }
    return CUDA_SUCCESS;
}

/* ---- primary contexts ---- */

FAKE_API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    static std::mutex *one = new std::mutex;

    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(nullptr != context, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    std::lock_guard<std::mutex> lock(*one);
    *context = &primaries[device];
    if (0 == (*context)->retained++) {
        come_alive(*context, device, true, (*context)->flags);
    }
    note("retain device %d", device_machine(device));
    return CUDA_SUCCESS;
}

FAKE_API cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    CUcontext c = &primaries[device];
    NEED(c->retained > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (0 == --c->retained) {
        die_down(c);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    if (primaries[device].alive) {
        primaries[device].retained = 0;
        die_down(&primaries[device]);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    NEED(nullptr != flags && nullptr != active, CUDA_ERROR_INVALID_VALUE);
    *flags = primaries[device].flags;
    *active = primaries[device].alive;
    return CUDA_SUCCESS;
}

/* ---- created ones; three forms of the call ---- */

FAKE_API cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    return create(context, flags, device);
}
FAKE_API cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *, int, unsigned flags,
                        CUdevice device)
{
    return create(context, flags, device);
}
FAKE_API cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *, unsigned flags, CUdevice device)
{
    return create(context, flags, device);
}

FAKE_API cuCtxDestroy_v2(CUcontext context)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(nullptr != context && context_known(context) && context->alive && !context->primary,
         CUDA_ERROR_INVALID_CONTEXT);
    die_down(context);
    if (0 != current.n && context == current.at[current.n - 1]) {
        current.n--;
    }
    return CUDA_SUCCESS; /* the object stays: other threads may have it as their current one */
}

/* ---- the current one ---- */

FAKE_API cuCtxGetCurrent(CUcontext *context)
{
    NEED_DRIVER();
    NEED(nullptr != context, CUDA_ERROR_INVALID_VALUE);
    *context = 0 == current.n ? nullptr : current.at[current.n - 1];
    return CUDA_SUCCESS;
}

FAKE_API cuCtxSetCurrent(CUcontext context)
{
    NEED_DRIVER();
    NEED(nullptr == context || context_known(context), CUDA_ERROR_INVALID_CONTEXT);
    current.n -= 0 != current.n;
    return nullptr == context ? CUDA_SUCCESS : push(context);
}

FAKE_API cuCtxPushCurrent_v2(CUcontext context)
{
    NEED_DRIVER();
    NEED(nullptr != context && context_known(context), CUDA_ERROR_INVALID_CONTEXT);
    return push(context);
}

FAKE_API cuCtxPopCurrent_v2(CUcontext *context)
{
    NEED_DRIVER();
    NEED(0 != current.n, CUDA_ERROR_INVALID_CONTEXT);
    current.n--;
    if (nullptr != context) {
        *context = current.at[current.n];
    }
    return CUDA_SUCCESS;
}

FAKE_API cuCtxGetDevice(CUdevice *device)
{
    NEED_CONTEXT(c);
    NEED(nullptr != device, CUDA_ERROR_INVALID_VALUE);
    *device = c->device;
    return CUDA_SUCCESS;
}

/* Of a context, or the current one (NULL). */
FAKE_API cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    NEED_CONTEXT(c);
    c = nullptr == context ? c : context;
    NEED(context_known(c) && c->alive, CUDA_ERROR_INVALID_CONTEXT);
    NEED(nullptr != device, CUDA_ERROR_INVALID_VALUE);
    *device = c->device;
    return CUDA_SUCCESS;
}

FAKE_API cuCtxGetFlags(unsigned *flags)
{
    NEED_CONTEXT(c);
    *flags = c->flags;
    return CUDA_SUCCESS;
}

FAKE_API cuCtxSetFlags(unsigned flags)
{
    NEED_CONTEXT(c);
    NEED(0 == (flags & ~(unsigned) CU_CTX_FLAGS_MASK), CUDA_ERROR_INVALID_VALUE);
    c->flags = flags;
    return CUDA_SUCCESS;
}

FAKE_API cuCtxGetId(CUcontext context, unsigned long long *id)
{
    NEED_CONTEXT(c);
    c = nullptr == context ? c : context;
    NEED(context_known(c), CUDA_ERROR_INVALID_CONTEXT);
    *id = c->id;
    return CUDA_SUCCESS;
}

FAKE_API cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    NEED_CONTEXT(c);
    (void) c;
    if (nullptr != least) {
        *least = 0;
    }
    if (nullptr != greatest) {
        *greatest = -5;
    }
    return CUDA_SUCCESS;
}

FAKE_API cuCtxSynchronize()
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(wait_context(c));
    streams_sync(c);
    return CUDA_SUCCESS;
}

/* Of a context, or the current one (NULL). */
FAKE_API cuCtxSynchronize_v2(CUcontext context)
{
    NEED_CONTEXT(c);
    c = nullptr == context ? c : context;
    NEED(context_known(c) && c->alive, CUDA_ERROR_INVALID_CONTEXT);
    NEED_CAPTURE(wait_context(c));
    streams_sync(c);
    return CUDA_SUCCESS;
}

FAKE_API cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    NEED(0 == flags, CUDA_ERROR_INVALID_VALUE);
    NEED(nullptr != peer && context_known(peer) && peer->alive && peer->device != c->device,
         CUDA_ERROR_INVALID_CONTEXT);
    NEED(device_reaches(device_machine(c->device), device_machine(peer->device)),
         CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    std::lock_guard<std::mutex> lock(c->mutex);
    NEED(c->peers.insert(peer->device).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    memory_changed();
    return CUDA_SUCCESS;
}

FAKE_API cuCtxDisablePeerAccess(CUcontext peer)
{
    NEED_CONTEXT(c);
    NEED(nullptr != peer && context_known(peer), CUDA_ERROR_INVALID_CONTEXT);
    std::lock_guard<std::mutex> lock(c->mutex);
    NEED(0 != c->peers.erase(peer->device), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    memory_changed();
    return CUDA_SUCCESS;
}
