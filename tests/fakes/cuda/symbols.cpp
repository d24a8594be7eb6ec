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
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
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

/*
 * Functions whose arguments changed: the version from which each name holds, newest first. Others
 * are the same in all versions, under the name with _v2 if there is one.
 */
static const struct {
    const char *name;
    int since;
    const char *symbol;
} versions[] = {
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 11030, "cuGetProcAddress"},
};

static void *look_up(const char *name, int version)
{
    static void *self = [] {
        Dl_info info = {};
        return 0 != dladdr((void *) error_text, &info)
                   ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                   : nullptr;
    }();
    void *found;

    for (const auto &v : versions) {
        if (0 == strcmp(v.name, name) && version >= v.since) {
            return dlsym(self, v.symbol);
        }
    }
    found = dlsym(self, (std::string(name) + "_v2").c_str());
    return nullptr != found ? found : dlsym(self, name);
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

FAKE_API cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult *result)
{
    NEED(nullptr != name && nullptr != function, CUDA_ERROR_INVALID_VALUE);
    *function = 0 == strncmp(name, "cu", 2) ? look_up(name, version) : nullptr;
    if (nullptr != result) {
        *result = nullptr != *function ? CU_GET_PROC_ADDRESS_SUCCESS
                                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return nullptr != *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
