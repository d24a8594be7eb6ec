/* SPDX-License-Identifier: BSD-3-Clause */
/* cuGetProcAddress, and the names of errors. */
#include "context.h"

#include <cstring>
#include <dlfcn.h>

namespace fake
{

static const struct {
    CUresult code;
    const char *name, *words;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_ALREADY_MAPPED, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult error_text(CUresult code, const char **out, bool words)
{
    NEED(nullptr != out, CUDA_ERROR_INVALID_VALUE);
    *out = nullptr;
    for (const auto &e : errors) {
        if (code == e.code) {
            *out = words ? e.words : e.name;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Every version of every function: see names.sh. */
static const struct function {
    const char *name;
    int since;
    const char *stream, *symbol;
} functions[] = {
#define NAME(name, since, stream, symbol) {#name, since, #stream, #symbol},
#include "names.inc"
#undef NAME
};

/*
 * The newest version of a function that both the caller (version) and this driver know. On the
 * default stream of the thread, where the function has such a form and per_thread asks for it.
 */
static const function *look_up(const char *name, int version, bool per_thread, bool *newer)
{
    const function *best = nullptr;

    *newer = false;
    for (const function &f : functions) {
        const bool own_form = '\0' != f.stream[0];
        if (0 != strcmp(f.name, name) || f.since > opt().version || (own_form && !per_thread)) {
            continue;
        }
        if (f.since > version) {
            *newer = true;
        } else if (nullptr == best || ('\0' != best->stream[0]) < own_form ||
                   (('\0' != best->stream[0]) == own_form && best->since < f.since)) {
            best = &f;
        }
    }
    return best;
}

static void *address_of(const char *symbol)
{
    static void *self = [] {
        Dl_info info = {};
        return 0 != dladdr((void *) error_text, &info)
                   ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                   : nullptr;
    }();

    return dlsym(self, symbol);
}

} /* namespace fake */

using namespace fake;

FAKE_API cuGetErrorName(CUresult code, const char **name)
{
    return error_text(code, name, false);
}
FAKE_API cuGetErrorString(CUresult code, const char **words)
{
    return error_text(code, words, true);
}

FAKE_API cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *result)
{
    bool newer;

    NEED(nullptr != name && nullptr != function, CUDA_ERROR_INVALID_VALUE);
    NEED(flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE);
    const struct function *f = look_up(
        name, version, 0 != (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM), &newer);
    *function = nullptr == f ? nullptr : address_of(f->symbol);
    if (nullptr != result) {
        *result = nullptr != *function ? CU_GET_PROC_ADDRESS_SUCCESS
                  : newer              ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return nullptr != *function || '\0' == *name ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
